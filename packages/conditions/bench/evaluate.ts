// How many conditions are evaluated and explained in a second of processor time. node packages/conditions/bench/evaluate.ts [milliseconds each]
import { type Condition, conditionOf, evaluateConditions, type Facts } from '@dueline/conditions';

const EACH_MS = Number(process.argv[2] ?? 1_000);
const ROUNDS = 5;

const facts: Facts = {
  attributes: new Map<string, unknown>([
    ...Array.from({ length: 30 }, (_, n): [string, unknown] => [`other ${n}`, n]),
    ['tier', 'gold'],
    ['points', 1_200],
    ['city', 'กรุงเทพมหานคร'],
    ['tags', ['tea', 'coffee', 'cake']],
    ['birthday', '1990-12-01'],
    ['last_visit', '2026-11-20T10:00:00+07:00'],
  ]),
  event: new Map([['/payload/amount', 900]]),
  audiences: new Map([['12', true]]),
  clock: { now: '2026-12-01T03:00:00Z', accountZone: 'Asia/Tokyo', userZone: 'Asia/Bangkok' },
};

const leaf = (json: Condition): Condition => json;
const CASES: Readonly<Record<string, Condition>> = {
  'one comparison': leaf({ attribute: 'tier', op: 'eq', value: 'gold' }),
  'one comparison without case': leaf({ attribute: 'city', op: 'contains', value: 'เทพ', ignoreCase: true }),
  'one list': leaf({ attribute: 'tags', op: 'has_any', value: ['cake', 'pie'] }),
  'one date in the last days': leaf({ attribute: 'last_visit', op: 'in_last', value: { days: 30 } }),
  'one anniversary': leaf({ attribute: 'birthday', op: 'anniversary' }),
  'one pattern': leaf({ attribute: 'city', op: 'matches', value: '^กรุง.*นคร$' }),
  'five leaves of all kinds': {
    all: [
      { attribute: 'tier', op: 'eq', value: 'gold' },
      { attribute: 'points', op: 'gte', value: 1_000 },
      { audience: '12', op: 'member' },
      {
        any: [
          { event: '/payload/amount', op: 'gt', value: 500 },
          { not: { attribute: 'tags', op: 'has_any', value: ['x'] } },
        ],
      },
    ],
  },
  'two hundred comparisons': {
    any: Array.from({ length: 4 }, () => ({
      all: Array.from({ length: 50 }, (): Condition => ({ attribute: 'tier', op: 'eq', value: 'gold' })),
    })),
  },
};

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Evaluations per second of processor time of this thread, so that others on the machine count less. */
function rate(condition: Condition): number {
  const started = cpuMs();
  let count = 0;
  let elapsed = 0;
  for (; elapsed < EACH_MS; elapsed = cpuMs() - started)
    for (let n = 0; n < 100; n += 1, count += 1) evaluateConditions(condition, facts);
  return (count * 1_000) / elapsed;
}

const round = (value: number) => Math.round(value).toLocaleString('en');
for (const [name, json] of Object.entries(CASES)) {
  const condition = conditionOf(['payload']).parse(json).when;
  rate(condition); // warm
  const rates = Array.from({ length: ROUNDS }, () => rate(condition)).toSorted((a, b) => a - b);
  console.log(
    `| ${name} | ${round(rates[Math.floor(ROUNDS / 2)] ?? 0)} (${round(rates[0] ?? 0)}–${round(rates.at(-1) ?? 0)}) |`,
  );
}
