import type { AccountName } from '@dueline/accounts';
import type { ByEnd, CampaignStanding, RequestCount } from '@dueline/campaigns';
import type { ClickCount } from '@dueline/link-tracking';
import { columnsOf, oneLine, timeIn } from '../actions/table.ts';
import { barOf, countText, durationText, shareText } from './figures.ts';
import {
  type CampaignResults,
  type ClickThrough,
  clickThroughOf,
  ENDS,
  pausedPeriods,
  sendingSeconds,
  totalOf,
} from './results-figures.ts';

/** What the command prints for a machine. */
export function resultsJson(results: CampaignResults): unknown {
  const { campaign, report, clicks } = results;
  const { id, name, status, reasonCode, castType, audienceId, startDate, notAfter, frozenAt, sentAt, plannedCount } =
    campaign;
  const accepted = report.people?.accepted;
  return {
    ...{ id, name, status, standing: report.standing, reasonCode, castType, audienceId, plannedCount },
    ...{ people: report.people, requests: report.requests, ends: report.ends },
    clicks: { ...clicks, clickThrough: clickThroughOf(clicks, accepted) },
    times: {
      startDate,
      notAfter,
      frozenAt,
      firstAttemptAt: report.firstAttemptAt,
      lastAcceptedAt: report.lastAcceptedAt,
      sentAt,
    },
    sendingSeconds: sendingSeconds(results),
    paused: pausedPeriods(results.deeds),
    deeds: results.deeds,
  };
}

/** The same for a person. */
export function resultsLines(account: AccountName, results: CampaignResults): string[] {
  const { campaign, report } = results;
  const says = SAYS[report.standing];
  return [
    `${oneLine(campaign.name, 60)}  (campaign ${campaign.id} of account ${account.lineOaId} ${oneLine(account.name, 40)})`,
    `${report.standing.replaceAll('_', ' ')}${says === '' ? '' : `: ${says}`}${whyOf(results)}`,
    ...section('whom it reached', endLines(results)),
    ...section('clicks', clickLines(results)),
    ...section(`times of ${account.timezone} (and UTC)`, timeLines(account, results)),
    ...section(
      'what it says',
      campaign.messages.map(({ text }) => oneLine(text, 100)),
    ),
    ...section('what people did', deedLines(account, results)),
  ];
}

const section = (head: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', head, ...lines.map((line) => `  ${line}`.trimEnd())];

const SAYS: Readonly<Record<CampaignStanding, string>> = {
  draft: 'its author has not scheduled it',
  scheduled: 'it has not begun',
  sending: 'it is on its way',
  paused: 'nothing more goes out until somebody resumes it',
  paused_quota: 'the month of its account has no room for it',
  paused_auth: 'LINE does not take the credentials of its account',
  stopped: 'its account was stopped',
  sent: 'LINE took it for everybody whom it takes messages for',
  sent_partly: 'it is over, and not everybody was reached',
  sent_with_unknown: 'it is over, and of some people nobody can learn whether LINE took it',
  failed_content: 'LINE does not take what it says',
  failed_late: 'it had not begun by its last instant',
  failed: '',
  stopping: 'it was cancelled, and waits for what is on its way or in doubt',
  cancelled: 'before anything had gone out',
  cancelled_partial: 'after something had gone out, or may have',
  needs_attention: 'a person has to decide',
};

/** A reason that the standing has not said yet. */
const whyOf = ({ campaign: { reasonCode }, report: { standing } }: CampaignResults): string =>
  reasonCode === null || standing.startsWith('failed_') ? '' : ` (${reasonCode})`;

/** One line for each end, with its part of the whole, and below it the reasons for which it came to that. */
function endLines({ campaign, report }: CampaignResults): string[] {
  const counts = report.people ?? report.requests;
  const total = totalOf(counts);
  const whom =
    campaign.castType === 'broadcast'
      ? 'all friends, whose number LINE alone knows'
      : `audience ${campaign.audienceId ?? '-'}`;
  if (campaign.frozenAt === null) return [`nobody yet: to ${whom}`];
  if (total === 0) return [`nobody: to ${whom}, where nobody was who could get it`];
  const unit = report.people === null ? 'requests' : 'people';
  const rows = ENDS.filter((end) => counts[end] > 0 || end === 'accepted').map((end) => [
    ...[
      end,
      barOf(counts[end] / total),
      countText(counts[end]),
      shareText(counts[end], total),
      reasonsOf(report.ends, end, unit),
    ],
  ]);
  return [
    `to ${whom}: ${countText(total)} ${unit === 'people' ? 'people' : plural(total, 'request')}`,
    ...columnsOf(rows, [2, 3]),
  ];
}

const plural = (count: number, noun: string): string => (count === 1 ? noun : `${noun}s`);

const MEANS: Readonly<Record<keyof ByEnd, string>> = {
  accepted: 'LINE took it for them',
  open: 'not decided yet',
  unknown: 'nobody can learn any more whether LINE took it',
  refused: 'LINE refused the request',
  expired: 'not sent by its last instant',
  cancelled: 'cancelled before it was sent',
  invalid: 'LINE takes no messages for them',
};

function reasonsOf(ends: readonly RequestCount[], end: keyof ByEnd, unit: 'people' | 'requests'): string {
  const because = ends.filter(
    (count) => count.end === end && count.reasonCode !== null && !SELF_EVIDENT.has(count.reasonCode),
  );
  if (because.length === 0) return MEANS[end];
  const [only, ...more] = because;
  const told =
    more.length === 0
      ? only?.reasonCode
      : because.map((one) => `${one.reasonCode} ${countText(one[unit] ?? 0)}`).join(', ');
  return `${MEANS[end]} (${told})`;
}

/** Reasons that say what the end says. */
const SELF_EVIDENT: ReadonlySet<string> = new Set(['invalid_recipient', 'too_late', 'ambiguous', 'refused']);

function clickLines({ report, clicks }: CampaignResults): string[] {
  if (clicks.links.length === 0)
    return report.requests.accepted > 0 ? ['it carries no link whose clicks are counted'] : [];
  const accepted = report.people?.accepted;
  const row = (name: string, url: string, count: ClickCount) => [
    ...[
      oneLine(name, 40),
      countText(count.clicks),
      countText(count.people),
      throughText(clickThroughOf(count, accepted)),
      oneLine(url, 60),
    ],
  ];
  const rows = clicks.links.map((link) => row(link.name, link.url, link));
  const all = clicks.links.length > 1 ? [row('all links', 'each person once', clicks)] : [];
  const unknown =
    clicks.byUnknown === 0
      ? []
      : [
          `${countText(clicks.byUnknown)} ${plural(clicks.byUnknown, 'click')} of nobody known: how many people that are is not known either`,
        ];
  return [...columnsOf([['link', 'clicks', 'people', 'of accepted', ''], ...rows, ...all], [1, 2, 3]), ...unknown];
}

function throughText(share: ClickThrough | null): string {
  if (share === null) return '-';
  const [least, most] = [shareText(share.least, 1), shareText(share.most, 1)];
  return least === most ? most : `${least} – ${most}`;
}

function timeLines(account: AccountName, results: CampaignResults): string[] {
  const { campaign, report, deeds } = results;
  const time = (instant: string) => timeIn(account.timezone, instant);
  const seconds = sendingSeconds(results);
  const moments: [string, string | null][] = [
    ['starts', campaign.startDate],
    ['not after', campaign.notAfter],
    ['recipients frozen', campaign.frozenAt],
    ['first request', report.firstAttemptAt],
    ['last accepted', report.lastAcceptedAt],
    ['cancelled', campaign.cancelRequestedAt],
    ['found to be over', campaign.sentAt],
  ];
  const rows = moments.flatMap(([what, at]) => (at === null ? [] : [[what, time(at)]]));
  const paused = pausedPeriods(deeds).map(({ from, to }) => [
    'paused',
    `${time(from)} until ${to === null ? 'now' : time(to)}`,
  ]);
  return columnsOf([...rows, ...paused, ...(seconds === null ? [] : [['took', tookText(seconds, report.people)]])], []);
}

function tookText(seconds: number, people: ByEnd | null): string {
  const pace =
    people === null || seconds < 1 ? '' : `, ${countText(Math.round(people.accepted / seconds))} people a second`;
  return `${durationText(seconds)} from the freeze to the last accepted${pace}`;
}

const deedLines = (account: AccountName, { deeds }: CampaignResults): string[] =>
  columnsOf(
    deeds.map(({ at, by, operation, reason }) => [
      ...[
        timeIn(account.timezone, at),
        oneLine(by, 30),
        operation.replace('campaign_', '').replaceAll('_', ' '),
        oneLine(reason ?? '', 60),
      ],
    ]),
    [],
  );
