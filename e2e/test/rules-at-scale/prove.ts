import type { AppName, Stack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { compare, type Differences, expectDecisions, MEDDLED } from './compare.ts';
import { changePeople, type Wave } from './people.ts';
import type { Stage } from './stage.ts';
import { unhurried } from './unhurried.ts';

const POLL_MS = 100;

/** Who dies when so many of the events are decided; each time all replicas of the app at once. */
export type Deaths = readonly (readonly [AppName, share: number])[];

/** What came of it. */
export interface Proof {
  readonly differences: Differences;
  /** The same after somebody took away a decision and a message, and doubled another of each: a control of the comparison. */
  readonly meddled: Differences;
  readonly events: number;
  readonly kills: number;
  /** From the statement until its last event was decided. */
  readonly seconds: number;
}

/** Some people change and change back, which spends what limits rules; then everybody changes while processes die. */
const BEFORE: readonly Wave[] = [
  { shift: 17, oneIn: 10 },
  { shift: 0, oneIn: 10 },
];
const EVERYBODY: Wave = { shift: 17, oneIn: 1 };

export async function proveDecisions(
  stage: Stage,
  { deaths, patienceMs }: { deaths: Deaths; patienceMs: number },
): Promise<Proof> {
  const { db } = stage;
  for (const wave of BEFORE) {
    await changePeople(db, wave);
    await untilDecided(stage.stack, { left: 0, patienceMs });
    await expectDecisions(db, stage.rules);
  }
  const startedAt = performance.now();
  const touched = await changePeople(db, EVERYBODY);
  let kills = 0;
  for (const [name, share] of deaths) {
    const left = await untilDecided(stage.stack, { left: touched * (1 - share), patienceMs });
    if (left === 0) throw new Error(`all was decided before ${name} could be killed`);
    await stage.kill(name);
    kills += 1;
  }
  await untilDecided(stage.stack, { left: 0, patienceMs });
  const seconds = (performance.now() - startedAt) / 1_000;
  await expectDecisions(db, stage.rules);
  await unhurried(db, (client) => client.query('analyze trigger_log, delivery, event_archive, audience_member'));
  const differences = await compare(db);
  const meddled = await compare(db, MEDDLED);
  return { differences, meddled, events: differences.events.expected, kills, seconds };
}

/** Waits until no more than `left` events are undecided. @returns How many there are. */
async function untilDecided(
  { database, logFolder }: Stack,
  { left, patienceMs }: { left: number; patienceMs: number },
): Promise<number> {
  for (const deadline = performance.now() + patienceMs; performance.now() < deadline; await sleep(POLL_MS)) {
    const { rows } = await database.db.$client.query<{ open: number }>(
      'select count(*)::int as open from event_outbox',
    );
    const open = rows[0]?.open ?? 0;
    if (open <= left) return open;
  }
  throw new Error(`events are undecided after ${patienceMs} ms; the logs are in ${logFolder}`);
}
