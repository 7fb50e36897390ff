import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { CHECKS, type Check } from './verify/checks.ts';

const root = dirname(import.meta.dirname);
const USAGE = 'usage: ./dueline verify [--only <check>]... [--list]';

process.exitCode = await main(process.argv.slice(2));

/** Runs the checks and prints a line for each; what failed is printed in full at the end. Returns the exit code. */
async function main(args: string[]): Promise<0 | 1 | 2> {
  const options = readOptions(args);
  if (options === undefined) return 2;
  if (options.list) {
    for (const { name, about } of CHECKS) console.log(`${name.padEnd(11)} ${about}`);
    return 0;
  }
  const unknown = options.only.filter((name) => !CHECKS.some((check) => check.name === name));
  if (unknown.length > 0) {
    console.error(`no check is called ${unknown.join(', ')}; there are ${CHECKS.map(({ name }) => name).join(', ')}`);
    return 2;
  }
  const chosen = options.only.length === 0 ? CHECKS : CHECKS.filter(({ name }) => options.only.includes(name));
  return (await runAll(chosen)) ? 0 : 1;
}

function readOptions(args: string[]): { only: string[]; list: boolean } | undefined {
  try {
    const { values } = parseArgs({
      args,
      options: { only: { type: 'string', multiple: true }, list: { type: 'boolean' } },
    });
    return { only: values.only ?? [], list: values.list ?? false };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    return undefined;
  }
}

async function runAll(checks: readonly Check[]): Promise<boolean> {
  const started = performance.now();
  const waiting = [...checks];
  const failures: { name: string; output: string }[] = [];
  const work = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const begun = performance.now();
      const { ok, output } = await check.run(root);
      console.log(`${ok ? 'ok    ' : 'FAILED'} ${check.name.padEnd(11)} ${secondsSince(begun)}`);
      if (!ok) failures.push({ name: check.name, output });
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));

  for (const { name, output } of failures) console.log(`\n--- ${name} ---\n${output}`);
  const passed = checks.length - failures.length;
  console.log(
    `${failures.length > 0 ? '\n' : ''}${passed} passed, ${failures.length} failed in ${secondsSince(started)}`,
  );
  return failures.length === 0;
}

function secondsSince(begun: number): string {
  return `${((performance.now() - begun) / 1_000).toFixed(1)} s`;
}
