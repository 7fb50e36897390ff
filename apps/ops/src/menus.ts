import { createRichMenu, deleteRichMenu, getUserRichMenu, listRichMenus } from '@dueline/rich-menus';
import { UsageError } from './actions/command-line.ts';
import { oneLine, tableOf } from './actions/table.ts';
import { ID, PERSON } from './id.ts';
import { type PersonDeps, runForPerson, type Words, type Work } from './person-command.ts';

const MENUS_HELP = `usage: dueline menus list
       dueline menus register <richmenu-…> --name <name>
       dueline menus delete <id>
       dueline menus of <user id>
all:   [--account <id>] [--json]

The rich menus that rules switch to. A menu is made at LINE; registered under the id that LINE gave it, it gets the id by which rules name it.
Deleted it is for rules no more; whoever sees it goes on seeing it. of: which menu a person shall see, and what became of asking LINE for it.

exit code: 0 done, 1 not done, 2 not understood.`;

const OPTIONS = ['name'] as const;
/** Runs `dueline menus …` and returns its exit code: 0 done, 1 not done, 2 not understood. */
export const runMenus = (deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> =>
  runForPerson(deps, args, { name: 'menus', help: MENUS_HELP, options: OPTIONS, workOf });

function workOf({ values, positionals }: Words<(typeof OPTIONS)[number]>): Work {
  const [command, subject, ...rest] = positionals;
  if (rest.length > 0) throw new UsageError(`${command} takes one thing at a time`);
  if (values.name !== undefined && command !== 'register') throw new UsageError('--name belongs to register');
  if (command === 'list' && subject === undefined) return listWork;
  if (command === 'list') throw new UsageError('list takes nothing');
  if (command !== 'register' && command !== 'delete' && command !== 'of')
    throw new UsageError(`there is no command ${command ?? ''}`.trimEnd());
  if (subject === undefined) throw new UsageError(`${command} needs ${NEEDS[command]}`);
  if (command === 'of' && !PERSON.test(subject)) throw new UsageError(`${subject} is no user id: U and 32 hex digits`);
  if (command === 'of') return ofWork(subject);
  if (command === 'register') {
    if (values.name === undefined) throw new UsageError('register needs --name <name>');
    return registerWork({ lineRichMenuId: subject, name: values.name });
  }
  if (!ID.test(subject)) throw new UsageError(`${subject} is not the id of a menu`);
  return deleteWork(subject);
}

const NEEDS = { register: 'the id that LINE gave the menu', delete: 'the id of a menu', of: 'the id of a person' };

const listWork: Work = async (db, account) => {
  const menus = await listRichMenus(db, account);
  const rows = menus.map(({ id, lineRichMenuId, name }) => [id, lineRichMenuId, oneLine(name, 60)]);
  const lines = rows.length === 0 ? ['the account has no menu'] : tableOf(['id', 'at LINE', 'name'], rows);
  return { json: { menus }, lines, isWhole: true };
};

const registerWork =
  (draft: { lineRichMenuId: string; name: string }): Work =>
  async (db, account) => {
    const id = await createRichMenu(db, account, draft);
    return { json: { id }, lines: [`menu ${id}: registered; rules name it by this id`], isWhole: true };
  };

const deleteWork =
  (id: string): Work =>
  async (db, account) => {
    const isDeleted = await deleteRichMenu(db, account, { id });
    const says = isDeleted ? 'deleted; what names it fails from now on' : 'the account has no menu of this id';
    return { json: { id, deleted: isDeleted }, lines: [`menu ${id}: ${says}`], isWhole: isDeleted };
  };

const ofWork =
  (userId: string): Work =>
  async (db, account) => {
    const wish = await getUserRichMenu(db, account, { userId });
    const who = oneLine(userId, 40);
    if (wish === undefined)
      return { json: { wish: null }, lines: [`${who}: no menu was ever switched`], isWhole: true };
    const { richMenuId, actionSeq, deliveryId, status } = wish;
    const what = richMenuId === null ? 'no menu of their own' : `menu ${richMenuId}`;
    return {
      json: { wish },
      lines: [`${who}: ${what} (wish ${actionSeq}); delivery ${deliveryId} is ${status}`],
      isWhole: true,
    };
  };
