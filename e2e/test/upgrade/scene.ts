import { sleep } from '@dueline/kernel';
import { CLEAN, type History, judgeHistory, type Planned } from '@dueline/stress';
import { changeSome, type Load, startLoad } from './load.ts';
import type { Release } from './release.ts';
import { type Stage, startStage } from './stage.ts';
import * as story from './story.ts';
import { until } from './until.ts';

/** Time in which a duplicate would show. */
const QUIET_MS = 1_500;

/** A kept release that goes on, with all that anybody is to get from then on. */
export interface Scene {
  readonly stage: Stage;
  readonly cast: story.Cast;
  /** What is to be received once, in the end. */
  readonly planned: Planned[];
  /** Adds to what is planned, and returns what it was given. */
  plan(messages: readonly Planned[]): readonly Planned[];
  /** Somebody changes every now and then, until told to stop. */
  load(): Load;
  /** Some people change and others do something; resolves when all that is due at once has arrived, through whoever runs now. */
  passes(): Promise<void>;
  untilReceived(messages: readonly Planned[]): Promise<void>;
  judge(): Promise<History>;
  /** Waits until every row is at its end (or patience is over). @returns What is wrong, and what it must be: three messages nobody knows of. */
  outcome(): Promise<{ readonly found: History; readonly expected: History }>;
}

/** Restores the release and declares its queues; none of its processes runs yet. */
export async function startScene(release: Release): Promise<Scene> {
  const stage = await startStage(release);
  const { db } = stage.database;
  const cast = await story.readCast(db, release.used);
  await stage.oldOps('topology');
  const planned = Object.entries(release.open).flatMap(([lid, users]) => story.plannedFor(users, [lid]));
  const plan: Scene['plan'] = (messages) => {
    planned.push(...messages);
    return messages;
  };
  const untilReceived: Scene['untilReceived'] = (messages) =>
    until(`LINE has ${messages.length} messages`, async () => {
      const received = new Set((await stage.line.receiptsSince(0)).map(({ user, lid }) => `${user} ${lid}`));
      return messages.every(({ user, lid }) => received.has(`${user} ${lid}`));
    });
  const judge: Scene['judge'] = async () =>
    judgeHistory(stage, { planned, receipts: await stage.line.receiptsSince(0) });
  return {
    ...{ stage, cast, planned, plan, untilReceived, judge },
    load: () => startLoad(db, cast, planned),
    passes: async () => {
      const messages = plan(await changeSome(db, cast, 5, 2));
      await untilReceived(messages.filter(({ lid }) => !story.LATER_LIDS.includes(lid)));
    },
    outcome: async () => {
      const { rows } = await db.$client.query<{ what: string }>(
        `select 'delivery ' || id || ' is unknown' as what from delivery where status = 'unknown'`,
      );
      const { length } = Object.values(release.unknown).flat();
      await until('every row is at its end', async () => (await judge()).stuck.length <= length).catch(() => undefined);
      await sleep(QUIET_MS);
      return { found: await judge(), expected: { ...CLEAN, stuck: rows.map(({ what }) => what).slice(0, length) } };
    },
  };
}
