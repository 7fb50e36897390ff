import { environment, repositoryRoot, stateFolder } from './config.ts';
import { type Check, diagnose } from './doctor.ts';

const unknown = process.argv.slice(2).filter((word) => word !== '--json');
if (unknown.length > 0) {
  console.error(`unknown argument: ${unknown.join(' ')}\nusage: ./dueline doctor [--json]`);
  process.exit(2);
}
const diagnosis = await diagnose({ repositoryRoot, stateFolder, env: environment() });

if (process.argv.includes('--json')) {
  console.log(JSON.stringify(diagnosis));
} else {
  for (const check of diagnosis.checks) console.log(lineOf(check));
  console.log(
    diagnosis.ok
      ? '\nThe demo can run: ./dueline demo'
      : '\nThe demo cannot run here yet: see the rows marked BLOCKED.',
  );
}
process.exitCode = diagnosis.ok ? 0 : 1;

function lineOf({ name, status, detail, fix }: Check): string {
  const mark = { ok: 'ok', missing: 'missing', note: 'note', blocked: 'BLOCKED' }[status];
  const line = `${name.padEnd(16)}${mark.padEnd(9)}${detail}`;
  return fix === undefined ? line : `${line}\n${' '.repeat(25)}-> ${fix}`;
}
