import type { LeafResult } from '@dueline/conditions';
import { needsFriend } from '@dueline/trigger-rules';
import { roomAt } from '../limits-then.ts';
import { capsSay, frequencySays, latenessStep, modeStep, quietSays, type Step, toText } from '../step.ts';
import type { CycleThen } from './find-cycle.ts';
import type { KnownCycle } from './known-cycle.ts';

/** Each question of the conditions and what it found, whether or not they hold. Pure. */
export const leavesOfCycle = ({ due }: KnownCycle): readonly LeafResult[] => due?.asked.conditions?.leaves ?? [];

/** Everything that is asked of a person in a cycle, also behind the first no. Pure. */
export const stepsOfCycle = (cycle: CycleThen, known: KnownCycle): Step[] => [
  {
    asks: 'source',
    passes: cycle.status !== 'skipped' && cycle.status !== 'cancelled',
    says: `the cycle of ${cycle.scheduledAt.slice(0, 16)}Z${cycle.id === null ? '' : ` (${cycle.id})`}: ${[cycle.status, cycle.reasonCode, cycle.message].filter((part) => part !== null).join(', ')}`,
  },
  ...personSteps(known),
  ...dueSteps(known),
];

/** What is asked when the cycle is read. */
function personSteps({ of, person, isMeant, entry, track, mayFire }: KnownCycle): Step[] {
  const { audienceId, onDate } = of.rule.sourceConfig;
  const user = person?.user;
  const value = onDate && user?.attributes.get(onDate.attribute);
  const isOnDay = entry.kind !== 'not_met' || entry.because !== 'not_on_day';
  const hangsOnDate = of.delay?.mode === 'relativeToDate';
  return [
    {
      asks: 'person',
      passes: user?.isFollowing ?? false,
      says:
        user === undefined ? 'unknown then' : user.isFollowing ? 'followed the account' : 'did not follow the account',
    },
    ...(audienceId === undefined
      ? []
      : [
          {
            asks: 'audience' as const,
            passes: isMeant,
            says: `${isMeant ? 'is' : 'is not'} in audience ${audienceId} now`,
          },
        ]),
    ...(onDate === undefined
      ? []
      : [
          {
            asks: 'date' as const,
            passes: user?.isFollowing === true ? isOnDay : null,
            says: `${onDate.attribute} is ${value === undefined ? 'not there' : JSON.stringify(value)}: ${daysSay(onDate)}`,
          },
        ]),
    ...(hangsOnDate
      ? [
          {
            asks: 'date' as const,
            passes:
              entry.kind === 'not_met' ? null : entry.kind !== 'ended' && entry.verdict.reasonCode !== 'date_past',
            says:
              entry.kind === 'ended' ? 'no date that its action could hang on' : 'the date that its action hangs on',
          },
        ]
      : []),
    { asks: 'frequency', passes: entry.kind === 'enters' ? mayFire : null, says: frequencySays(of.rule, track) },
  ];
}

function daysSay({ daysBefore, yearly }: { daysBefore: number; yearly: boolean }): string {
  const days =
    daysBefore === 0 ? 'on its day' : `${Math.abs(daysBefore)} days ${daysBefore > 0 ? 'before' : 'after'} it`;
  return yearly ? `each year ${days}` : days;
}

/** What is asked when the action is due. */
function dueSteps({ of, due }: KnownCycle): Step[] {
  const { rule, account, request } = of;
  const asked = due?.asked;
  const leaves = asked?.conditions?.leaves ?? [];
  const wrong = asked?.problem ?? asked?.gone;
  const sends = request.actionType === 'send_message';
  const room = due && sends && rule.isCapped ? roomAt(account.caps, due.sent, due.countedAt) : undefined;
  return [
    ...(due === undefined || !needsFriend(request)
      ? []
      : [
          {
            asks: 'person' as const,
            passes: due.asked.isFriend,
            says: `when its action is due, at ${toText(due.quietUntil ?? due.time.at)}`,
          },
        ]),
    {
      asks: 'conditions',
      passes: of.recheck === null ? true : (asked?.conditions?.holds ?? null),
      says:
        of.recheck === null ? 'it has none' : `${leaves.filter(({ holds }) => holds).length} of ${leaves.length} hold`,
    },
    {
      asks: 'can_be_done',
      passes: asked === undefined ? null : wrong === undefined,
      says: wrong ?? 'what it names is there, its words can be sent',
    },
    {
      asks: 'quiet_hours',
      passes: asked === undefined ? null : !asked.isQuiet,
      says:
        due?.quietUntil === undefined
          ? quietSays(account, due?.time.quietUntil ?? null)
          : `it waited for their end, at ${toText(due.quietUntil)}`,
    },
    {
      asks: 'caps',
      passes: room === undefined ? (asked === undefined ? null : true) : room > 0,
      says: capsSay(account, { rule, room }),
    },
    latenessStep(of.delay),
    modeStep(rule),
  ];
}
