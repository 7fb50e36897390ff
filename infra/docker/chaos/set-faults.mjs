// Sets the faults of a file at a simulated LINE: node set-faults.mjs <url of its faults> <file>
import { readFile } from 'node:fs/promises';

const [url = '', file = ''] = process.argv.slice(2);
const response = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: await readFile(file),
});
process.stdout.write(`${response.status} ${await response.text()}\n`);
process.exitCode = response.ok ? 0 : 1;
