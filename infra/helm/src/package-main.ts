import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { packageCharts } from './package.ts';
import { findTools } from './tools.ts';

const root = dirname(dirname(dirname(import.meta.dirname)));
const { values } = parseArgs({ options: { to: { type: 'string' }, version: { type: 'string' } } });
const tools = await findTools(root);
if ('missing' in tools) {
  process.stderr.write(`${tools.missing}\n`);
  process.exitCode = 1;
} else {
  const to = values.to === undefined ? join(root, '.dueline/charts') : resolve(values.to);
  for (const path of (await packageCharts({ root, helm: tools.helm, to, version: values.version })).values()) {
    process.stdout.write(`${path}\n`);
  }
}
