const NO_FILE = 'there is no such file or folder';
const SAYS: Readonly<Record<string, string>> = {
  ...{ ENOENT: NO_FILE, ENOTDIR: NO_FILE, ENAMETOOLONG: 'a file cannot have so long a name' },
  ...{ EACCES: 'it may not be read', EPERM: 'it may not be read' },
  ...{ EISDIR: 'it is a folder', ELOOP: 'its links lead round in a circle' },
};
const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Why a file that somebody named cannot be read; undefined: it is not the file. Pure. */
export const fileProblem = (error: unknown): string | undefined => SAYS[codeOf(error)];

/** Whether there is no such file, and can be none: what was named may be something else. Pure. */
export const isNoFile = (error: unknown): boolean => NOT_THERE.has(codeOf(error));
