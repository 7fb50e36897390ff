import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { provideServices } from '../src/index.ts';
import { runsFolder } from '../src/record.ts';

// An engine is not at hand where the tests run: a program in its place notes what it was asked.
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dueline-compose-'));
  const program = join(folder, 'docker');
  writeFileSync(program, `#!/bin/sh\necho "$DUELINE_POSTGRES_PORT $*" >>'${folder}/calls'\n`);
  chmodSync(program, 0o755);
});

afterEach(() => rmSync(folder, { recursive: true }));

test('where an engine answers, the services are containers of a project of their own, and stop removes them', async () => {
  const env = { PATH: [folder, '/usr/bin', '/bin'].join(delimiter) };

  const services = await provideServices({ stateFolder: folder, env, log: () => undefined });
  expect(readdirSync(runsFolder(folder))).toHaveLength(1);
  await services.stop();

  const calls = readFileSync(join(folder, 'calls'), 'utf8').split('\n');
  const up = calls.find((call) => call.includes(' up ')) ?? '';
  const project = /-p (dueline-[0-9a-f]+) /.exec(up)?.[1];
  expect(services.source).toBe('compose');
  expect(up.split(' ')[0]).toBe(new URL(services.urls.databaseUrl).port);
  expect(up).toMatch(/docker-compose\.yml up --detach --wait$/);
  expect(calls.some((call) => call.includes(`-p ${project} `) && call.includes(' down --volumes '))).toBe(true);
  expect(readdirSync(runsFolder(folder))).toEqual([]);
});
