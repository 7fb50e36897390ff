import type { AccountName } from '@dueline/accounts';
import type { CampaignDetail, CampaignPage, CampaignResult, CampaignView } from '@dueline/campaigns';
import { oneLine, tableOf, timeIn } from '../actions/table.ts';

const number = (count: number): string => count.toLocaleString('en');

/** The status in a word or two: of what somebody cancelled while it was being sent, what is still waited for. */
export function statusOf({
  status,
  cancelRequestedAt,
  inFlight,
  waiting,
  reasonCode,
  deletedDate,
}: CampaignView): string {
  if (deletedDate !== null) return `deleted (${status})`;
  if (status !== 'cancel' && cancelRequestedAt !== null)
    return `stopping: ${number(inFlight)} in flight, ${number(waiting)} in doubt`;
  if (status === 'paused' && inFlight > 0) return `paused, ${number(inFlight)} in flight`;
  return reasonCode === null ? status : `${status}: ${reasonCode}`;
}

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
    ...[campaign.id, statusOf(campaign), timeIn(account.timezone, campaign.startDate), toWhom(campaign)],
    ...[peopleOf(campaign), oneLine(campaign.name, 40)],
  ]);
  const more = next === null ? [] : ['', `more: repeat it with --after ${next}`];
  return [zoneLine(account), '', ...tableOf(['id', 'status', 'starts', 'to', 'people', 'name'], rows), ...more];
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
    ['status', statusOf(campaign)],
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
