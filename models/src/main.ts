import { parseArgs } from 'node:util';
import { isAsExpected } from './cases.ts';
import type { Failure } from './check.ts';
import { CASES } from './models.ts';

const { values } = parseArgs({ options: { traces: { type: 'boolean', default: false } } });
process.exitCode = main(values.traces);

/** Runs every model and prints a line for each; a counterexample is printed where one was not expected, or with --traces. */
function main(traces: boolean): 0 | 1 {
  let wrong = 0;
  for (const it of CASES) {
    const begun = performance.now();
    const { states, failure } = it.run();
    const ms = Math.round(performance.now() - begun);
    const isRight = isAsExpected(it, { states, failure });
    if (!isRight) wrong += 1;
    const says = failure === undefined ? 'holds' : `breaks "${failure.property}"`;
    const judged = isRight ? (failure === undefined ? says : `${says}, as it must`) : `WRONG: ${says}`;
    console.log(
      `${it.protocol.padEnd(9)} ${(it.variant ?? 'as designed').padEnd(60)} ${String(states).padStart(7)} states ${String(ms).padStart(6)} ms  ${judged}`,
    );
    if (failure !== undefined && (traces || !isRight)) console.log(describe(failure));
  }
  return wrong === 0 ? 0 : 1;
}

function describe({ trace, state }: Failure): string {
  const steps = trace.map((says, index) => `  ${String(index + 1).padStart(3)}. ${says}`);
  return [...steps, `       then: ${JSON.stringify(state)}`].join('\n');
}
