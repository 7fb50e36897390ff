import { cancelSubcommand } from './cancel.ts';
import { listSubcommand } from './list.ts';
import { resultsSubcommand } from './results.ts';
import { sendNowSubcommand } from './send-now.ts';
import { showSubcommand } from './show.ts';
import type { Subcommand } from './subcommand.ts';

/** `dueline campaigns <name> …`, in the order of the help: one file each. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  list: listSubcommand,
  show: showSubcommand,
  results: resultsSubcommand,
  cancel: cancelSubcommand,
  'send-now': sendNowSubcommand,
};
