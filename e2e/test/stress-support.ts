import { run, serviceEnvironment } from './support.ts';

/** Runs `./dueline stress` on the services of this test run and returns its exit code and its line of JSON. */
export async function runStress(seed: number, args: readonly string[]) {
  const { code, stdout, stderr } = await run('./dueline', ['stress', '--seed', String(seed), '--json', ...args], {
    env: serviceEnvironment(),
  });
  const line = stdout.trimEnd().split('\n').at(-1) ?? '';
  if (!line.startsWith('{')) throw new Error(`the stress ended with ${code} and without a result:\n${stderr}`);
  return { code, result: JSON.parse(line) };
}
