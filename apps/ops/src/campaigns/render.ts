import type { AccountName } from '@dueline/accounts';
import type { CampaignDetail, CampaignPage, CampaignResult, CampaignView } from '@dueline/campaigns';
import { oneLine, tableOf, timeIn } from '../actions/table.ts';

const number = (count: number): string => count.toLocaleString('en');

/** How it stands: the one word, and what more there is to say of it. */
export function standingText({ standing, status, inFlight, waiting, reasonCode, deletedDate }: CampaignView): string {
  const word = standing.replaceAll('_', ' ');
  if (deletedDate !== null) return `deleted (${word})`;
  if (standing === 'stopping') return `stopping: ${number(inFlight)} in flight, ${number(waiting)} in doubt`;
  const more = [
    ...(status === 'paused' && inFlight > 0 ? [`${number(inFlight)} in flight`] : []),
    ...(reasonCode !== null && HAS_REASON.has(status) ? [reasonCode] : []),
  ];
  return more.length === 0 ? word : `${word}: ${more.join(', ')}`;
}

const HAS_REASON: ReadonlySet<string> = new Set(['paused', 'failed', 'needs_attention']);

const toWhom = ({ castType, audienceId }: CampaignView): string =>
  castType === 'broadcast' ? 'all friends' : `audience ${audienceId ?? '-'}`;

/** People whom it reaches: counted when its recipients were frozen, before that as many as its author confirmed. */
const peopleOf = ({ plannedCount, confirmedCount, frozenAt }: CampaignView): string => {
  if (plannedCount !== null) return number(plannedCount);
  return frozenAt === null && confirmedCount !== null ? `up to ${number(confirmedCount)}` : '-';
};

const zoneLine = ({ lineOaId, name, timezone }: AccountName): string =>
  `account ${lineOaId} ${oneLine(name, 40)}, times of ${timezone} (and UTC)`;

/** A page of campaigns, and how to see the next. */
export function pageLines(account: AccountName, { campaigns, next }: CampaignPage): string[] {
  if (campaigns.length === 0)
    return [`no campaign of account ${account.lineOaId} ${oneLine(account.name, 40)} is like that`];
  const rows = campaigns.map((campaign) => [
    ...[campaign.id, standingText(campaign), timeIn(account.timezone, campaign.startDate), toWhom(campaign)],
    ...[peopleOf(campaign), oneLine(campaign.name, 40)],
  ]);
  const more = next === null ? [] : ['', `more: repeat it with --after ${next}`];
  return [zoneLine(account), '', ...tableOf(['id', 'stands', 'starts', 'to', 'people', 'name'], rows), ...more];
}

const countsOf = (counts: Readonly<Record<string, number>>): string | null =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${number(count)}`)
    .join(', ') || null;

/** One campaign whole. */
export function detailLines(
  account: AccountName,
  campaign: CampaignDetail,
  result: CampaignResult | undefined,
): string[] {
  const time = (instant: string | null) => (instant === null ? null : timeIn(account.timezone, instant));
  const facts: [string, string | null][] = [
    ['name', oneLine(campaign.name, 100)],
    ['stands', standingText(campaign)],
    ['to', toWhom(campaign)],
    ['people', peopleOf(campaign)],
    ['starts', time(campaign.startDate)],
    ['not after', time(campaign.notAfter)],
    ['frozen', time(campaign.frozenAt)],
    ['cancelled', time(campaign.cancelRequestedAt)],
    ['sent', time(campaign.sentAt)],
    ...campaign.messages.map(({ text }): [string, string] => ['content', oneLine(text, 100)]),
    ['requests', countsOf(campaign.requests)],
    ['result', result === undefined ? null : countsOf({ ...result })],
    ['made', time(campaign.createdDate)],
    ['fence', campaign.fence],
  ];
  return [
    `campaign ${campaign.id} of ${zoneLine(account)}`,
    '',
    ...facts.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(12)}${value}`])),
  ];
}
