import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from '@dueline/demo';
import type { ChannelConfig } from '@dueline/line-simulator';
import type { Sample } from './read-messages.ts';

/** Who gets a message, by its mark. */
type People = Readonly<Record<string, readonly string[]>>;

/** What is kept of a release: how far its story had come when the database was dumped, and what was still to come. */
export interface Release {
  readonly version: string;
  readonly commit: string;
  readonly migrations: readonly { readonly name: string; readonly sha256: string }[];
  /** The clock at the dump, RFC 3339. */
  readonly dumpedAt: string;
  readonly channels: readonly ChannelConfig[];
  /** How many people of the account of the rules were in something. */
  readonly used: number;
  /** Messages that the database has before it; LINE has none of them. */
  readonly open: People;
  /** Messages of which the product does not know whether LINE has them; LINE has none of them. */
  readonly unknown: People;
  /** People who are to click by 09:50, else to get a last call. */
  readonly waiting: readonly string[];
}

export const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url));

/** The newest release that is kept. */
const FOLDER = join(
  FIXTURES,
  readdirSync(FIXTURES)
    .filter((name) => name.startsWith('release-'))
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
    .at(-1) ?? '',
);

const readJson = <Content>(name: string): Content => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Content;

export const readRelease = (): Release => readJson('release.json');
export const readSamples = (): readonly Sample[] => readJson('messages.json');
export const readDump = (): Buffer => readFileSync(join(FOLDER, 'database.sql.gz'));

/** Whether this clone has the commit: a shallow one has not. */
export const hasCommit = (commit: string): boolean =>
  spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).status === 0;
