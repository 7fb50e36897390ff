import { cancelSubcommand } from './cancel.ts';
import { listSubcommand } from './list.ts';
import { localTimeSubcommand } from './local-time.ts';
import { paceSubcommand } from './pace.ts';
import { sendNowSubcommand } from './send-now.ts';
import { showSubcommand } from './show.ts';
import type { Subcommand } from './subcommand.ts';

/** `dueline campaigns <name> …`, in the order of the help: one file each. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  list: listSubcommand,
  show: showSubcommand,
  cancel: cancelSubcommand,
  'send-now': sendNowSubcommand,
  'local-time': localTimeSubcommand,
  pace: paceSubcommand,
};
