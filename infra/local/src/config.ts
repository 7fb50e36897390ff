import { dirname, join } from 'node:path';

/** The root of the repository. */
export const repositoryRoot: string = dirname(dirname(dirname(import.meta.dirname)));

/** Where runs keep their data; git ignores it. */
export const stateFolder: string = join(repositoryRoot, '.dueline');

export const environment = (): NodeJS.ProcessEnv => process.env;
