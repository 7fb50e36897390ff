#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { runCheckCommand } from './checker/command.ts';
import { channelList } from './config.ts';
import { createSimulator } from './simulator.ts';

const PARENT_POLL_MS = 500;

if (process.argv[2] === 'check') {
  process.exit(await runCheckCommand(process.argv.slice(3), (text) => process.stdout.write(text)));
}

const { values } = parseArgs({
  options: {
    config: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' },
    'api-port': { type: 'string', default: '0' },
    'control-port': { type: 'string', default: '0' },
  },
});
const parent = process.ppid;
const { channels } =
  values.config === undefined ? { channels: [] } : channelList.parse(JSON.parse(await readFile(values.config, 'utf8')));
const simulator = await createSimulator({
  channels,
  host: values.host,
  apiPort: Number(values['api-port']),
  controlPort: Number(values['control-port']),
});
const port = (url: string) => Number(new URL(url).port);
process.stdout.write(`${JSON.stringify({ api: port(simulator.apiUrl), control: port(simulator.controlUrl) })}\n`);

const stop = async () => {
  clearInterval(watch);
  await simulator.close();
};
// Whoever started us may be killed without a chance to end us.
const watch = setInterval(() => process.ppid !== parent && void stop(), PARENT_POLL_MS);
process.once('SIGTERM', () => void stop());
process.once('SIGINT', () => void stop());
