import { cancelSubcommand } from './cancel.ts';
import { copySubcommand } from './copy.ts';
import { createSubcommand } from './create.ts';
import { deleteSubcommand } from './delete.ts';
import { editSubcommand } from './edit.ts';
import { evidenceSubcommand } from './evidence.ts';
import { linkSubcommand } from './link.ts';
import { listSubcommand } from './list.ts';
import { localTimeSubcommand } from './local-time.ts';
import { paceSubcommand } from './pace.ts';
import { pauseSubcommand } from './pause.ts';
import { previewSubcommand } from './preview.ts';
import { rescheduleSubcommand } from './reschedule.ts';
import { resolveSubcommand } from './resolve.ts';
import { resultsSubcommand } from './results.ts';
import { resumeSubcommand } from './resume.ts';
import { retrySubcommand } from './retry.ts';
import { scheduleSubcommand } from './schedule.ts';
import { sendNowSubcommand } from './send-now.ts';
import { showSubcommand } from './show.ts';
import type { Subcommand } from './subcommand.ts';
import { testSubcommand } from './test.ts';
import { unscheduleSubcommand } from './unschedule.ts';
import { whoSubcommand } from './who.ts';

/** `dueline campaigns <name> …`, in the order of the help: one file each. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  create: createSubcommand,
  list: listSubcommand,
  show: showSubcommand,
  link: linkSubcommand,
  preview: previewSubcommand,
  test: testSubcommand,
  schedule: scheduleSubcommand,
  'send-now': sendNowSubcommand,
  edit: editSubcommand,
  reschedule: rescheduleSubcommand,
  unschedule: unscheduleSubcommand,
  'local-time': localTimeSubcommand,
  pace: paceSubcommand,
  pause: pauseSubcommand,
  resume: resumeSubcommand,
  cancel: cancelSubcommand,
  retry: retrySubcommand,
  resolve: resolveSubcommand,
  copy: copySubcommand,
  delete: deleteSubcommand,
  results: resultsSubcommand,
  who: whoSubcommand,
  evidence: evidenceSubcommand,
};
