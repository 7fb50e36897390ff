import type { AttemptResult, StartedMenu } from '@dueline/deliveries';
import { errorText } from '@dueline/kernel';
import type { LineClient, MenuOutcome, ShownMenu } from '@dueline/line-client';
import { z } from 'zod';
import { resultOf } from './attempt-result.ts';
import type { Guard, MenuAttempt } from './send-guard.ts';

/** From so many switches to one menu that are started together, LINE is asked once for all of them. */
const BULK_FROM = 20;
/** How many of those that one request was for are looked at before the others are believed. */
const SAMPLE = 5;

export type MenuLine = Pick<
  LineClient,
  'linkRichMenu' | 'unlinkRichMenu' | 'getRichMenu' | 'linkRichMenus' | 'unlinkRichMenus'
>;

export interface AskMenusDeps {
  readonly line: MenuLine;
  /** The account's token. @throws PermanentError when it has none. */
  readonly channelAccessToken: (lineOaId: string) => Promise<string>;
  readonly guard?: Pick<Guard, 'judgeMenu'> | undefined;
}

/** A started switch of one person's menu, and how LINE is asked about it. Never rejects. */
export interface MenuCall {
  readonly menu: StartedMenu;
  readonly ask: () => Promise<AttemptResult>;
}

const storedSwitch = z
  .strictObject({ to: z.string(), richMenuId: z.string().nullable() })
  .transform(({ to, richMenuId }) => ({ userId: to, richMenuId }));

type NotDone = Exclude<MenuOutcome, { kind: 'done' }>;

/**
 * How LINE is asked about each of these, which are of one account: one by one; in bulk where many begin that want the same; and what LINE took
 * without a proof that it was done, by looking first. Nothing is asked before the first `ask`.
 *
 * A single answer of 200 is the end of it. LINE answers a bulk with 202, does it seconds later, and has been seen not to do it: such a
 * switch stays `ambiguous` (202), and its next attempt looks at what LINE shows, to a sample of those the request was for. Whoever is found
 * without their menu is asked for alone; if one of the sample is, everybody is looked at.
 */
export function menuCalls(deps: AskMenusDeps, menus: readonly StartedMenu[]): MenuCall[] {
  const calls: MenuCall[] = [];
  for (const [way, alike] of Map.groupBy(menus, wayOf)) {
    if (way === 'not_at_all') calls.push(...alike.map((menu) => ({ menu, ask: async () => CHANGED })));
    else if (way === 'look')
      for (const group of Map.groupBy(alike, ({ toVerify }) => toVerify).values())
        calls.push(...lookCalls(deps, group));
    else if (way === 'anew')
      for (const group of Map.groupBy(alike, (menu) => switchOf(menu).richMenuId).values())
        calls.push(...(group.length < BULK_FROM ? singleCalls(deps, group) : bulkCalls(deps, group)));
    else calls.push(...singleCalls(deps, alike));
  }
  return calls;
}

const CHANGED: AttemptResult = {
  outcome: 'refused',
  detail: 'the stored body is not the one that was decided; it was not sent',
};

function wayOf({ intact, toVerify, attemptNo, overtakable }: StartedMenu): 'not_at_all' | 'look' | 'anew' | 'alone' {
  if (!intact) return 'not_at_all';
  if (toVerify !== null) return 'look';
  // What was tried before, and what an older request may overtake, is asked for alone: that answer is the sooner proof.
  return attemptNo === 1 && !overtakable ? 'anew' : 'alone';
}

const singleCalls = (deps: AskMenusDeps, menus: readonly StartedMenu[]): MenuCall[] =>
  menus.map((menu) => ({ menu, ask: () => askOne(deps, menu) }));

function bulkCalls(deps: AskMenusDeps, menus: readonly StartedMenu[]): MenuCall[] {
  const answer = once(() => askMany(deps, menus));
  return menus.map((menu) => ({
    menu,
    ask: async () => {
      const result = await answer();
      // One that LINE does not take refuses all: each by itself tells which.
      return result.outcome === 'refused' ? askOne(deps, menu) : result;
    },
  }));
}

function lookCalls(deps: AskMenusDeps, menus: readonly StartedMenu[]): MenuCall[] {
  const looks = menus.map((menu) => once(() => look(deps, menu)));
  const sample = once(async () => {
    const seen = await Promise.all(looks.slice(0, SAMPLE).map((lookAt) => lookAt()));
    return seen.every(({ shown }) => shown === 'wanted');
  });
  return menus.map((menu, n) => ({
    menu,
    ask: async () => {
      const acceptedRequestId = menu.toVerify ?? undefined;
      if (n >= SAMPLE && (await sample())) return { outcome: 'already', acceptedRequestId, detail: 'by a sample' };
      const seen = await looks[n]?.();
      if (seen === undefined || seen.shown === 'other') return askOne(deps, menu);
      return { ...seen.result, ...(seen.shown === 'wanted' && { acceptedRequestId }) };
    },
  }));
}

/** What LINE shows to a person now. */
async function look(
  deps: AskMenusDeps,
  menu: StartedMenu,
): Promise<{ shown: 'wanted' | 'other' | 'not_known'; result: AttemptResult }> {
  const { userId, richMenuId } = switchOf(menu);
  const { done, result } = await askLine<ShownMenu>(deps, menu, (channelAccessToken) =>
    deps.line.getRichMenu({ channelAccessToken, userId }),
  );
  if (done === undefined) return { shown: 'not_known', result };
  return {
    shown: done.richMenuId === richMenuId ? 'wanted' : 'other',
    result: { outcome: 'already', httpStatus: 200, lineRequestId: done.requestId },
  };
}

async function askOne(deps: AskMenusDeps, menu: StartedMenu): Promise<AttemptResult> {
  const { userId, richMenuId } = switchOf(menu);
  const { done, result } = await askLine<MenuOutcome>(deps, menu, (channelAccessToken) =>
    richMenuId === null
      ? deps.line.unlinkRichMenu({ channelAccessToken, userId })
      : deps.line.linkRichMenu({ channelAccessToken, userId, richMenuId }),
  );
  if (done === undefined) return result;
  const { requestId: lineRequestId, status: httpStatus } = done;
  if (!menu.overtakable) return { outcome: 'accepted', httpStatus, lineRequestId };
  const detail = 'done, but an older request for this person may still arrive';
  return { outcome: 'ambiguous', httpStatus: 200, lineRequestId, detail };
}

async function askMany(deps: AskMenusDeps, menus: readonly StartedMenu[]): Promise<AttemptResult> {
  const [first] = menus;
  if (first === undefined) throw new Error('nobody to ask for');
  const { richMenuId } = switchOf(first);
  const userIds = [...new Set(menus.map((menu) => switchOf(menu).userId))];
  const { done, result } = await askLine<MenuOutcome>(deps, first, (channelAccessToken) =>
    richMenuId === null
      ? deps.line.unlinkRichMenus({ channelAccessToken, userIds })
      : deps.line.linkRichMenus({ channelAccessToken, userIds, richMenuId }),
  );
  if (done === undefined) return result;
  const detail = `taken for later, with ${userIds.length} others`;
  return { outcome: 'ambiguous', httpStatus: done.status, lineRequestId: done.requestId, detail };
}

type Asked<Answer> =
  | { readonly done: Exclude<Answer, NotDone>; readonly result?: undefined }
  | { readonly done?: undefined; readonly result: AttemptResult };

/** One question to LINE: what it answers when all is well, else what the attempt proved, once it is known what that says of the account. */
async function askLine<Answer extends MenuOutcome | ShownMenu>(
  { channelAccessToken, guard }: AskMenusDeps,
  menu: StartedMenu,
  ask: (token: string) => Promise<Answer>,
): Promise<Asked<Answer>> {
  const judge = async (attempt: MenuAttempt): Promise<AttemptResult> =>
    guard === undefined ? attempt.result : guard.judgeMenu(menu, attempt);
  let token: string;
  try {
    token = await channelAccessToken(menu.lineOaId);
  } catch (error) {
    return { result: await judge({ result: { outcome: 'auth', detail: errorText(error) }, tokenError: error }) };
  }
  const answer = await ask(token);
  const judged = await judge({ result: isNotDone(answer) ? resultOf(answer) : DONE, asked: { answer, token } });
  return isNotDone(answer) ? { result: judged } : { done: answer as Exclude<Answer, NotDone> };
}

const DONE: AttemptResult = { outcome: 'accepted' };

const isNotDone = (answer: MenuOutcome | ShownMenu): answer is NotDone =>
  answer.kind !== 'done' && answer.kind !== 'shown';

/** The person and the menu of a stored switch, which the ledger wrote and whose hash was checked. */
const switchOf = ({ body }: StartedMenu) => storedSwitch.parse(JSON.parse(body));

function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= ask();
    return asked;
  };
}
