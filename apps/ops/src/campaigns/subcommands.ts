import { cancelSubcommand } from './cancel.ts';
import { linkSubcommand } from './link.ts';
import { listSubcommand } from './list.ts';
import { resultsSubcommand } from './results.ts';
import { showSubcommand } from './show.ts';
import type { Subcommand } from './subcommand.ts';

/** `dueline campaigns <name> …`, in the order of the help: one file each. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  list: listSubcommand,
  show: showSubcommand,
  results: resultsSubcommand,
  link: linkSubcommand,
  cancel: cancelSubcommand,
};
