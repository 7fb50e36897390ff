import { run, serviceEnvironment } from './support.ts';

/** Runs the demo once; its exit code, its verdict, and where its apps wrote their logs. */
export async function demo(...args: string[]) {
  const { code, stdout, stderr } = await run('./dueline', ['demo', '--once', '--json', ...args], {
    env: serviceEnvironment(),
  });
  const lines = stdout.trimEnd().split('\n');
  return {
    code,
    verdict: JSON.parse(lines.at(-1) ?? ''),
    logFolder: /\.dueline\/logs\/[0-9a-f]+/.exec(stderr)?.[0] ?? '',
  };
}
