import { sleep } from '@dueline/kernel';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { createRule } from '@dueline/trigger-rules';
import { usersOf } from './plan.ts';
import type { Cast } from './seed.ts';
import type { Stack } from './stack/stack.ts';
import { ACCOUNTS } from './story.ts';

const DAYS = 3;
const PEOPLE = 20;
const POLL_MS = 20;
const PATIENCE_MS = 60_000;

export interface CycleScene {
  readonly stack: Pick<Stack, 'database' | 'travel' | 'line'>;
  readonly cast: Cast;
  readonly tell: (text: string) => void;
  readonly tellTime: (now: string) => void;
}

/**
 * Plays a daily cycle over three mornings of the time machine: each of its people gets one message on each of them.
 *
 * @returns The last receipt of LINE that it has seen.
 * @throws Error when somebody got another number of messages.
 */
export async function playDailyCycle({ stack, cast, tell, tellTime }: CycleScene): Promise<number> {
  const { ruleId, people } = await createDailyRule({ stack, cast });
  tell(`every morning at nine, ${people.length} people of ${ACCOUNTS[0]?.name} get a greeting`);
  let seq = (await stack.line.receiptsSince(0)).at(-1)?.seq ?? 0;
  const greeted = new Map<string, number>();
  for (let day = 1; day <= DAYS; day += 1) {
    tellTime((await stack.travel(await secondsToTheNext(stack, ruleId))).now);
    await until(async () => (await completed(stack, ruleId)) === day);
    await until(async () => {
      const receipts = await stack.line.receiptsSince(seq);
      seq = receipts.at(-1)?.seq ?? seq;
      for (const { user, lid } of receipts) if (lid === null) greeted.set(user, (greeted.get(user) ?? 0) + 1);
      return [...greeted.values()].reduce((sum, count) => sum + count, 0) >= day * people.length;
    });
  }
  const wrong = people.filter((user) => greeted.get(user) !== DAYS);
  if (wrong.length > 0 || greeted.size !== people.length)
    throw new Error(
      `the daily cycle did not greet ${wrong.length} of ${people.length} people once on each of ${DAYS} days`,
    );
  tell(`${DAYS} mornings, ${DAYS} cycles, ${DAYS} greetings for each of ${people.length} people`);
  return seq;
}

async function createDailyRule({
  stack,
  cast,
}: Pick<CycleScene, 'stack' | 'cast'>): Promise<{ ruleId: string; people: string[] }> {
  const { db } = stack.database;
  const [account] = ACCOUNTS;
  const tenant = account && cast.tenants.get(account.channelId);
  if (account === undefined || tenant === undefined) throw new Error('the account of the daily cycle was not seeded');
  const people = usersOf(account, { first: 900, count: PEOPLE });
  const audienceId = await createAudience(db, tenant, { name: 'early birds' });
  await addAudienceMembers(db, tenant, { audienceId, userIds: people });
  const ruleId = await createRule(db, tenant, {
    ...{ name: 'Every morning: a greeting', sourceType: 'scheduled_time', frequency: 'every_time' },
    ...{ sourceConfig: { cron: '0 9 * * *', audienceId }, actionType: 'send_message' },
    // without a mark: the same greeting comes again, which marked messages never do
    actionConfig: { messages: [{ type: 'text', text: 'Good morning! The coffee is hot ☀️' }] },
  } as Parameters<typeof createRule>[2]);
  return { ruleId, people };
}

const NEXT =
  'select ceil(extract(epoch from next_run_at - app_now()))::int as seconds from cycle_schedule where trigger_rule_id = $1 and next_run_at is not null';

/** A second behind the next morning's nine o'clock. */
async function secondsToTheNext({ database }: CycleScene['stack'], ruleId: string): Promise<number> {
  let seconds: number | undefined;
  await until(async () => {
    seconds = (await database.db.$client.query<{ seconds: number }>(NEXT, [ruleId])).rows[0]?.seconds;
    return seconds !== undefined;
  });
  return Math.max(1, (seconds ?? 0) + 1);
}

async function completed({ database }: CycleScene['stack'], ruleId: string): Promise<number> {
  const done = `select from scheduled_trigger_execution where trigger_rule_id = $1 and status = 'completed'`;
  return (await database.db.$client.query(done, [ruleId])).rowCount ?? 0;
}

/** Waits until it is so; what is not so in time shows in the end. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(POLL_MS))
    if (await isSo()) return;
}
