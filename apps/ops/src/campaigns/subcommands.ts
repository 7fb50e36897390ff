import { cancelSubcommand } from './cancel.ts';
import { evidenceSubcommand } from './evidence.ts';
import { listSubcommand } from './list.ts';
import { previewSubcommand } from './preview.ts';
import { scheduleSubcommand } from './schedule.ts';
import { showSubcommand } from './show.ts';
import type { Subcommand } from './subcommand.ts';
import { testSubcommand } from './test.ts';
import { whoSubcommand } from './who.ts';

/** `dueline campaigns <name> …`, in the order of the help: one file each. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  list: listSubcommand,
  show: showSubcommand,
  preview: previewSubcommand,
  schedule: scheduleSubcommand,
  test: testSubcommand,
  cancel: cancelSubcommand,
  who: whoSubcommand,
  evidence: evidenceSubcommand,
};
