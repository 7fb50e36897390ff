import { editCampaign } from '@dueline/campaigns';
import { UsageError } from '../actions/command-line.ts';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand, type Typed } from './subcommand.ts';
import { given, TIME_OPTIONS, timesOf } from './times.ts';

export const editSubcommand: Subcommand = {
  takes: '<id>',
  about:
    'another name, text, audience or time, as long as nobody is written down; other words or people need a preview again',
  options: {
    name: ['<name>', 'what people call it'],
    audience: ['<id>', 'to whom'],
    ...{ ...TIME_OPTIONS, ...FENCE_OPTION, ...SIGNED_OPTIONS },
  },
  lists: { text: ['<text>', 'the new message; repeat it for several'] },
  workOf(typed) {
    const wanted = wantedOf(typed);
    if (Object.keys(wanted).length === 0)
      throw new UsageError('edit needs --name, --text, --audience, --at or --not-after');
    return changeWork(typed, {
      operation: 'campaign_edit',
      async make(tx, account, { ticket: campaign, before }) {
        const outcome = await editCampaign(tx, account, { campaign, ...wanted });
        const changed = Object.entries(before).filter(([name]) => name in wanted);
        return { outcome, before: Object.fromEntries(changed), after: wanted };
      },
    });
  },
};

function wantedOf(typed: Typed) {
  const { name, audience: audienceId } = typed.values;
  const messages = typed.lists.text?.map((text) => ({ type: 'text' as const, text }));
  return given({ name, audienceId, messages, ...timesOf(typed) });
}
