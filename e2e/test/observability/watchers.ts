import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '@dueline/kernel';
import { freePort } from '@dueline/local-services';
import { ruleFile } from '@dueline/observability';
import type { Target } from './scrape.ts';

const READY_MS = 60_000;

/** A program that serves HTTP until it is stopped. */
export interface Watcher {
  readonly url: string;
  stop(): Promise<void>;
}

/** A Prometheus of its own that scrapes the targets every two seconds and has the alerts. */
export async function startPrometheus(program: string, targets: readonly Target[]): Promise<Watcher> {
  const folder = mkdtempSync(join(tmpdir(), 'dueline-prometheus-'));
  writeFileSync(join(folder, 'alerts.yml'), ruleFile());
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(configuration(targets))); // JSON is YAML
  const port = await freePort();
  const args = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const watcher = await startWatcher(program, { args, port, ready: '/-/ready', folder });
  return {
    ...watcher,
    stop: async () => {
      await watcher.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A postgres_exporter that looks at this database. */
export async function startPostgresExporter(program: string, databaseUrl: string): Promise<Watcher> {
  const folder = mkdtempSync(join(tmpdir(), 'dueline-exporter-'));
  const port = await freePort();
  const source = new URL(databaseUrl);
  source.searchParams.set('sslmode', 'disable');
  const env = { DATA_SOURCE_NAME: source.href };
  const watcher = await startWatcher(program, {
    ...{ args: [`--web.listen-address=127.0.0.1:${port}`], port, ready: '/metrics', folder, env },
  });
  return {
    ...watcher,
    stop: async () => {
      await watcher.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const configuration = (targets: readonly Target[]): object => ({
  global: { scrape_interval: '2s', evaluation_interval: '2s' },
  rule_files: ['alerts.yml'],
  scrape_configs: targets.map(({ job, url }) => {
    const { host, pathname, searchParams } = new URL(url);
    const params = Object.fromEntries([...searchParams.keys()].map((key) => [key, searchParams.getAll(key)]));
    return { job_name: job, metrics_path: pathname, params, static_configs: [{ targets: [host] }] };
  }),
});

interface Start {
  readonly args: readonly string[];
  readonly port: number;
  readonly ready: string;
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
}

async function startWatcher(program: string, { args, port, ready, folder, env = {} }: Start): Promise<Watcher> {
  const log = join(folder, 'log.txt');
  writeFileSync(log, '');
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => writeFileSync(log, text, { flag: 'a' }));
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    child.kill('SIGKILL'); // it holds nothing that anybody wants
    await gone;
  };
  for (const deadline = performance.now() + READY_MS; performance.now() < deadline; await sleep(50)) {
    if (child.exitCode !== null) break;
    const answer = await fetch(url + ready).catch(() => undefined);
    if (answer?.ok) return { url, stop };
  }
  await stop();
  throw new Error(`${program} is not ready:\n${readFileSync(log, 'utf8').slice(-2_000)}`);
}
