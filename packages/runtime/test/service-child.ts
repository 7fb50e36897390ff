/** A small service for service.test.ts: argv[2] names the scenario. */
import { spawn } from 'node:child_process';
import { z } from 'zod';
import { baseConfig, configOrExit, createLog, type OnStop, parseConfig, runService } from '../src/index.ts';

const log = createLog({ service: 'child', level: 'info', instance: 'one' });
const hang = (): Promise<never> => new Promise(() => {});
const keepAlive = (onStop: OnStop): void => {
  const timer = setInterval(() => {}, 1_000);
  onStop('keep alive', () => clearInterval(timer));
};
const ready = (): void => log.info('ready');

const scenarios: Record<string, (onStop: OnStop) => Promise<void>> = {
  async ordered(onStop) {
    keepAlive(onStop);
    onStop('database', async () => log.info('database closed'));
    onStop('broker', () => {
      throw new Error('the broker was gone already');
    });
    onStop('consumer', async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      log.info('consumer drained');
    });
    ready();
  },
  async stuck(onStop) {
    onStop('database', () => log.info('database closed'));
    onStop('consumer', hang);
    keepAlive(onStop);
    ready();
  },
  async 'bad config'(onStop) {
    keepAlive(onStop);
    onStop('database', () => log.info('database closed'));
    parseConfig(baseConfig.extend({ DATABASE_URL: z.url(), API_TOKEN: z.string() }), { HTTP_PORT: 'many' });
  },
  async 'failing start'(onStop) {
    keepAlive(onStop);
    onStop('database', () => log.info('database closed'));
    throw new Error('the broker does not answer');
  },
  async 'slow start'(onStop) {
    keepAlive(onStop);
    ready();
    await new Promise((resolve) => setTimeout(resolve, 200));
    onStop('broker', () => log.info('broker closed'));
    log.info('went on starting');
  },
  async throws(onStop) {
    keepAlive(onStop);
    onStop('database', () => log.info('database closed'));
    setTimeout(() => {
      throw new Error('a bug');
    }, 10);
  },
  async rejects(onStop) {
    keepAlive(onStop);
    onStop('database', () => log.info('database closed'));
    setTimeout(() => void Promise.reject(new Error('a bug')), 10);
  },
  async idle() {
    ready();
  },
};

const [scenario = '', timeoutMs = '5000', parentPid] = process.argv.slice(2);
if (scenario.startsWith('parent of ')) {
  const child = scenario.slice('parent of '.length);
  spawn(process.execPath, [import.meta.filename, child, timeoutMs, String(process.pid)], { stdio: 'inherit' });
} else if (scenario === 'bad config at the top') {
  configOrExit((env) => parseConfig(baseConfig, env), { HTTP_PORT: 'many' });
} else {
  const options = parentPid === undefined ? {} : { parentPid: Number(parentPid) };
  await runService({ log, shutdownTimeoutMs: Number(timeoutMs), ...options }, async (onStop) => {
    await scenarios[scenario]?.(onStop);
  });
}
