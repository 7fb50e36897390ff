import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PermanentError } from '@dueline/kernel';
import type { RuleSource } from '@dueline/trigger-rules';
import { fileProblem } from '../file-problem.ts';

/** Larger files are none of rules: somebody named the wrong one. */
const MAX_BYTES = 1_048_576;

/**
 * The documents in these files, and in the `.json` files below these folders, in the order of their names: one rule to a file, or a list
 * of rules.
 *
 * @throws PermanentError that names every file that cannot be read.
 */
export async function readRuleFiles(paths: readonly string[]): Promise<RuleSource[]> {
  const problems: string[] = [];
  const sources: RuleSource[] = [];
  for (const path of paths) {
    try {
      for (const file of await filesIn(path)) sources.push(...(await readDocuments(file)));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      problems.push(`${path}: ${problemOf(error)}`);
    }
  }
  if (problems.length > 0) throw new PermanentError(problems.join('\n'));
  if (sources.length === 0) throw new PermanentError(`${paths.join(', ')}: there is no rule in it`);
  return sources;
}

const problemOf = (error: Error): string => fileProblem(error) ?? error.message;

async function filesIn(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const found = await readdir(path, { recursive: true });
  return found
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => join(path, name));
}

async function readDocuments(file: string): Promise<RuleSource[]> {
  if ((await stat(file)).size > MAX_BYTES) throw new PermanentError(`${file} is larger than a megabyte`);
  const document = parse(file, await readFile(file, 'utf8'));
  if (!Array.isArray(document)) return [{ where: file, document }];
  return document.map((one: unknown, n) => ({ where: `${file}#${n}`, document: one }));
}

function parse(file: string, text: string): unknown {
  try {
    return JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (error) {
    throw new PermanentError(`${file} is no JSON: ${error instanceof Error ? error.message : ''}`);
  }
}
