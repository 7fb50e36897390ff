import type { TestDb } from '@dueline/db/testing';
import { runCampaigns } from '../src/campaigns/run.ts';

/** `dueline campaigns …` on this database, and what it said. */
export const campaignsOf =
  ({ urlOf }: TestDb) =>
  async (...args: string[]) => {
    const written = { out: [] as string[], error: [] as string[] };
    const print = (line: string) => written.out.push(line);
    const printError = (line: string) => written.error.push(line);
    const code = await runCampaigns({ env: { DATABASE_URL: urlOf('ops') }, print, printError, login: 'mika' }, args);
    return { out: written.out.join('\n'), error: written.error.join('\n'), code };
  };
