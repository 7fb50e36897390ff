import { text } from 'node:stream/consumers';
import { failuresOf } from './ship/ratios.ts';

const reports = (await text(process.stdin)).split('\n').filter((line) => line.startsWith('{'));
const failures = reports.flatMap((line) => failuresOf(JSON.parse(line)));
for (const failure of failures) console.error(failure);
console.log(`${reports.length} reports, ${failures.length} failures`);
// Nothing to judge is a failure too: a bench that died must not pass.
process.exitCode = failures.length > 0 || reports.length === 0 ? 1 : 0;
