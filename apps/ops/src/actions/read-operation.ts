import type { ActionFilter, ActionOperation } from '@dueline/scheduled-actions';
import { type CommandLine, UsageError } from './command-line.ts';

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** Seconds of a duration like 90s, 2h or 1h30m. @throws UsageError when it is none. */
export function secondsOf(duration: string, option = 'for'): number {
  if (!/^(\d{1,9}[smhdw])+$/.test(duration))
    throw new UsageError(`--${option} ${duration}: a duration is like 90s, 15m, 2h, 3d or 1h30m`);
  return [...duration.matchAll(/(\d+)([smhdw])/g)].reduce(
    (sum, [, count = '0', unit = 's']) => sum + Number(count) * (SECONDS[unit] ?? 0),
    0,
  );
}

/** Leaves out what was not given, so that absent and undefined are the same. */
const given = <T extends object>(values: T): { [key in keyof T]?: NonNullable<T[key]> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;

/** The operation of a command; what is wrong in it is told by whoever carries it out. @throws UsageError when it is incomplete. */
export function operationOf({ command, values, texts, acceptDuplicates }: CommandLine): ActionOperation {
  const messages = texts.length === 0 ? undefined : texts.map((text) => ({ type: 'text' as const, text }));
  const anew = given({ at: values.at, messages, acceptDuplicates: acceptDuplicates || undefined });
  switch (command) {
    case 'edit':
      if (values.at === undefined && messages === undefined)
        throw new UsageError('edit needs --at <time>, --text <text>, or both');
      return { kind: 'edit', ...given({ at: values.at, messages }) };
    case 'postpone':
      if ((values.for === undefined) === (values.to === undefined))
        throw new UsageError('postpone needs either --for <duration> or --to <time>');
      return values.for === undefined
        ? { kind: 'postpone', ...given({ to: values.to }) }
        : { kind: 'postpone', seconds: secondsOf(values.for) };
    case 'fire':
      return { kind: 'fire_now' };
    case 'cancel':
      return { kind: 'cancel' };
    case 'uncancel':
      return { kind: 'uncancel', ...anew };
    case 'revive':
      return { kind: 'revive', ...anew };
    case 'list':
    case 'show':
      throw new UsageError(`${command} changes nothing`);
  }
}

/** The filter of a command. Words that no filter knows are refused by whoever reads it. */
export function filterOf({ values }: CommandLine): ActionFilter {
  const filter = given({
    ruleId: values.rule,
    userId: values.user,
    statuses: values.status?.split(','),
    dueFrom: values['due-from'],
    dueBefore: values['due-before'],
    actionType: values.type,
    workflowId: values.workflow,
    lane: values.lane === undefined ? undefined : Number(values.lane),
    text: values.contains,
  });
  return filter as ActionFilter;
}
