import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** The version of a package that is installed here, as the package says. */
export function versionOf(packageName: string): string {
  const path = findPackageJSON(packageName, import.meta.url);
  if (path === undefined) throw new Error('a peer is not installed', { cause: packageName });
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
