import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../src/config.ts';

const door = join(repositoryRoot, 'dueline');

test('help needs nothing: not HOME, not Node, not a terminal, and it leaves nothing behind', () => {
  const home = mkdtempSync(join(tmpdir(), 'dueline-home-'));

  const text = execFileSync('/bin/sh', [door, 'help'], { env: { HOME: home, PATH: '/usr/bin:/bin' }, cwd: '/' });

  expect(text.toString()).toContain('./dueline demo');
  expect(text.toString().split('\n').length).toBeLessThan(24);
  expect(readdirSync(home)).toEqual([]);
  rmSync(home, { recursive: true });
});

test('the door opens through a link in a folder whose name has spaces', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dueline door '));
  symlinkSync(door, join(folder, 'my door'));

  const text = execFileSync(join(folder, 'my door'), [], { env: { PATH: '/usr/bin:/bin' }, cwd: folder });

  expect(text.toString()).toContain('./dueline demo');
  rmSync(folder, { recursive: true });
});
