import { numberedLines, ownFiles } from './files.ts';
import type { Finding } from './tool.ts';

/** Small rules of ours that no linter here has. */
const RULES: readonly { readonly pattern: RegExp; readonly problem: string }[] = [
  { pattern: /^export \*/, problem: 'name what is exported: `export *` hides what a package promises' },
  { pattern: /\bprocess\s*\[\s*['"`]env/, problem: 'process.env is read in config.ts and main.ts only' },
  {
    pattern: /(?:oxlint|eslint|biome)-(?:disable|ignore)[\w-]*\s*(?:$|\*\/)/,
    problem: 'say which rule is off, and why',
  },
];

/** Checks every source for RULES, this file apart. */
export function checkHouseRules(root: string): Finding {
  const found = ownFiles(root, '**/*.ts')
    .filter((path) => path !== 'tools/verify/house-rules.ts')
    .flatMap((path) =>
      numberedLines(root, path).flatMap(({ number, text }) =>
        RULES.filter(({ pattern }) => pattern.test(text)).map(({ problem }) => `${path}:${number} ${problem}`),
      ),
    );
  return { ok: found.length === 0, output: found.join('\n') };
}
