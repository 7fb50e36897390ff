import type { Tx } from '@dueline/db';
import type { ArchivedEvent, EventsOf } from '@dueline/db/changes';
import { listensTo, type TriggerRule } from '@dueline/trigger-rules';
import { type Judged, judge } from './judge.ts';
import { loadMeetings } from './meetings.ts';
import { loadMoments, type MomentOfPerson } from './moments.ts';
import { type Playback, startPlayback } from './playback.ts';
import type { Account } from './rule-then.ts';
import { createTally, type RunOfRule, type Sample } from './tally.ts';
import { loadTarget, type Target } from './targets-then.ts';
import { loadTracks, type Track } from './track.ts';

/** One rule that the past is played to, person by person, each in the order of time. */
export interface Run {
  /** Which events it must be given. */
  readonly listensTo: EventsOf;
  /** Reads what the events of a batch need. */
  load(tx: Tx, batch: readonly ArchivedEvent[], range: { playedFrom: string; to: string }): Promise<void>;
  meet(archived: ArchivedEvent): void;
  /** When the rule first fired for the person whose events are over; undefined: it did not. */
  endPerson(): Sample | undefined;
  result(): RunOfRule;
  /** How many events asked about a value that the history had cut. */
  uncertain(): number;
}

/** What was read for a batch. */
interface Loaded {
  readonly judged: ReadonlyMap<string, { readonly judged: Judged; readonly moment: MomentOfPerson }>;
  readonly trackOf: (userId: string) => Track;
}

const NOTHING: Loaded = { judged: new Map(), trackOf: () => ({ lastFired: undefined, open: [], sent: [] }) };

/** Of a rule that events set off. */
export function createRun(account: Account, rule: TriggerRule): Run {
  const tally = createTally();
  let loaded = NOTHING;
  let target: { readonly of: Target | undefined } | undefined;
  let uncertain = 0;
  let current: { readonly userId: string; readonly playback: Playback } | undefined;
  const playbackOf = (userId: string): Playback => {
    if (current?.userId !== userId)
      current = { userId, playback: startPlayback({ account, rule, track: loaded.trackOf(userId) }) };
    return current.playback;
  };
  return {
    listensTo: kindOf(rule),
    load: async (tx, batch, range) => {
      target ??= { of: await loadTarget(tx, account, rule) };
      const read = await loadBatch(tx, account, { rule, target: target.of, batch, range });
      loaded = read.loaded;
      uncertain += read.uncertain;
    },
    meet: ({ event, decidedAt }) => {
      const found = loaded.judged.get(event.eventId);
      if (found === undefined || found.judged.kind === 'deaf') return;
      const { judged, moment } = found;
      const told = (became: Parameters<typeof tally.message>[1]) => tally.message(moment.day, became);
      const verdict = judged.kind === 'ended' ? judged.verdict : playbackOf(event.userId).play(judged, moment, told);
      tally.count(moment.day, verdict, { userId: event.userId, eventId: event.eventId, at: decidedAt });
    },
    endPerson: () => {
      current?.playback.finish();
      current = undefined;
      return tally.endPerson();
    },
    result: tally.result,
    uncertain: () => uncertain,
  };
}

function kindOf({ sourceType, sourceConfig }: TriggerRule): EventsOf {
  switch (sourceType) {
    case 'attribute_changed':
      return { topic: sourceType, key: sourceConfig.attribute };
    case 'form_submitted':
      return { topic: sourceType, key: sourceConfig.formId ?? null };
    case 'campaign_click':
      return { topic: sourceType, key: sourceConfig.trackedLinkId ?? null };
    case 'custom_event':
      return { topic: sourceType, key: sourceConfig.name };
    case 'friend_track_event_inserted':
    case 'booking_event':
      return { topic: sourceType, key: null };
    case 'scheduled_time':
      throw new Error('a rule that is set off by time meets no events');
  }
}

interface Batch {
  readonly rule: TriggerRule;
  readonly target: Target | undefined;
  readonly batch: readonly ArchivedEvent[];
  readonly range: { readonly playedFrom: string; readonly to: string };
}

async function loadBatch(tx: Tx, account: Account, { rule, target, batch, range }: Batch) {
  const met = batch.filter(({ event }) => listensTo(rule, event));
  if (met.length === 0) return { loaded: NOTHING, uncertain: 0 };
  const meetingOf = await loadMeetings(tx, account, { events: met, rules: [rule] });
  const meetings = met.map((archived) => meetingOf(archived, rule));
  const moments = await loadMoments(tx, account, {
    rule,
    met: met.map(({ decidedMicros }, n) => ({ at: decidedMicros, zone: meetings[n]?.known?.user.timezone ?? null })),
  });
  const judged = met.flatMap((archived, n) => {
    const [meeting, moment] = [meetings[n], moments[n]];
    if (meeting === undefined || moment === undefined) return [];
    const of = judge({ kind: 'rule', rule }, archived, { met: meeting, target });
    return [[archived.event.eventId, { judged: of, moment }] as const];
  });
  const entering = met.filter((_, n) => judged[n]?.[1].judged.kind === 'enters').map(({ event }) => event.userId);
  const [before, until] = [range.playedFrom, range.to].map((at) =>
    Number(Temporal.Instant.from(at).epochNanoseconds / 1_000n),
  );
  const trackOf = await loadTracks(tx, account, { rule, userIds: entering, before: before ?? 0, until: until ?? 0 });
  return {
    loaded: { judged: new Map(judged), trackOf },
    uncertain: meetings.filter(({ isUncertain }) => isUncertain).length,
  };
}
