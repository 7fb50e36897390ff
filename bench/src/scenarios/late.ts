import { sleep } from '@dueline/kernel';
import { meterProcessors } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import { lateness } from '../measure/statistics.ts';
import type { PeerName } from '../peers/index.ts';
import type { Peer } from '../peers/peer.ts';
import { startPeerWorker } from '../peers/run-worker.ts';
import { LATE_SECONDS, LEAD_SECONDS, lateContestant } from '../product/late.ts';
import { BOTH, INLINE, type Profile, QUEUE } from '../product/profiles.ts';
import type { Stage } from '../product/stage.ts';
import { fill, settle, WAITING } from '../product/work.ts';
import type { Expectation, Scenario } from '../scenario.ts';
import type { Peers } from './peer-drains.ts';
import { withProduct } from './with-product.ts';

const PER_SECOND = 100;
const MANY_PER_SECOND = 1_000;
const WAITING_ROWS = 1_000_000;

const nameOf = (profile: Profile, perSecond: number): string => `${profile.name}, ${perSecond}/s`;

/** Begun, as a job of the others is measured; decided, which takes a transaction longer, of what is installed. */
const onTime = (profile: Profile): Expectation[] => {
  const of = nameOf(profile, PER_SECOND);
  const common = { of, better: 'lower' } as const;
  const asInstalled: Expectation[] = [
    { what: `${of}: begun, p50 ms`, figure: 'start p50 ms', ...common, floor: 5 },
    { what: `${of}: decided, p99 ms`, figure: 'decided p99 ms', ...common, floor: 50 },
  ];
  return [
    ...(profile === BOTH ? asInstalled : []),
    { what: `${of}: begun, p99 ms`, figure: 'start p99 ms', ...common, floor: 50, goal: 20 },
    { what: `${of}: begun before its time`, figure: 'early', ...common, floor: 0 },
  ];
};

export const lateScenario: Scenario = {
  name: 'late',
  brief: 'how late actions are that come due at random instants',
  hasPeers: true,
  what: 'Actions that come due at random instants over 20 seconds, 100 and 1,000 a second, while 1 million others wait; a job of the others the same, with nothing beside it. Late is how long after its time it was begun, and decided.',
  expectations: [BOTH, QUEUE, INLINE].flatMap(onTime),
  run: (stage, options) => {
    const ours = [
      ...[BOTH, QUEUE, INLINE].map((profile) => ({ profile, perSecond: PER_SECOND })),
      ...[BOTH, QUEUE].map((profile) => ({ profile, perSecond: MANY_PER_SECOND })),
    ];
    return withProduct(stage, { ...options, name: 'late' }, async (product, peers) => {
      stage.tell('filling what waits');
      await fill(product, { count: Math.round(WAITING_ROWS * options.scale), when: WAITING });
      await settle(product);
      return [
        ...ours.map(({ profile, perSecond }) =>
          lateContestant(stage, product, {
            ...{ name: nameOf(profile, perSecond), profile },
            count: perSecond * LATE_SECONDS,
          }),
        ),
        ...(peers === undefined ? [] : peersOnTime(stage, peers)),
      ];
    });
  },
};

/** Each of the others, set as its own documentation sets it for being on time. */
const peersOnTime = (stage: Stage, peers: Peers): Contestant[] =>
  [...peers.all].map(([name, peer]) => ({
    name: `${name}, ${PER_SECOND}/s`,
    settings: peer.describe('late'),
    run: () => peerOnTime(stage, peers, { name, peer }),
  }));

const GRACE_MS = 3_000;

async function peerOnTime(
  { servers }: Stage,
  { urls }: Peers,
  { name, peer }: { name: PeerName; peer: Peer },
): Promise<Sample> {
  const count = PER_SECOND * LATE_SECONDS;
  await peer.prepareServer?.();
  await peer.reset();
  const worker = await startPeerWorker({ name, mode: 'late', urls });
  const use = meterProcessors({ ...servers, apps: () => [worker.pid] });
  const firstAt = Date.now() + LEAD_SECONDS * 1_000;
  const dueAt = () => firstAt + Math.floor(Math.random() * LATE_SECONDS * 1_000);
  await peer.addMany(Array.from({ length: count }, (_, n) => ({ n, dueAt: dueAt() })));
  await sleep(firstAt + LATE_SECONDS * 1_000 + GRACE_MS - Date.now());
  const used = use();
  const { distinct, doubled, latenessMs } = await worker.stop();
  const start = lateness([...latenessMs]);
  return {
    figures: { 'start p50 ms': start.p50, 'start p99 ms': start.p99, 'start max ms': start.max, early: start.early },
    ...{ use: used, units: count, lost: count - distinct, doubled },
  };
}
