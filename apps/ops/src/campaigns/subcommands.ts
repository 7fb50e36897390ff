import { cancelSubcommand } from './cancel.ts';
import { copySubcommand } from './copy.ts';
import { deleteSubcommand } from './delete.ts';
import { editSubcommand } from './edit.ts';
import { listSubcommand } from './list.ts';
import { pauseSubcommand } from './pause.ts';
import { rescheduleSubcommand } from './reschedule.ts';
import { resolveSubcommand } from './resolve.ts';
import { resumeSubcommand } from './resume.ts';
import { retrySubcommand } from './retry.ts';
import { showSubcommand } from './show.ts';
import type { Subcommand } from './subcommand.ts';
import { unscheduleSubcommand } from './unschedule.ts';

/** `dueline campaigns <name> …`, in the order of the help: one file each. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  list: listSubcommand,
  show: showSubcommand,
  edit: editSubcommand,
  reschedule: rescheduleSubcommand,
  unschedule: unscheduleSubcommand,
  pause: pauseSubcommand,
  resume: resumeSubcommand,
  cancel: cancelSubcommand,
  retry: retrySubcommand,
  resolve: resolveSubcommand,
  copy: copySubcommand,
  delete: deleteSubcommand,
};
