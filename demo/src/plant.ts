import { sleep } from '@dueline/kernel';
import { usersOf } from './plan.ts';
import { tokenOf } from './seed.ts';
import type { Stack } from './stack/stack.ts';
import { ACCOUNTS, EXPECTATIONS } from './story.ts';

/** Faults that the demo can do to itself, to show that its check would notice. */
export const PLANTS = ['duplicate', 'loss', 'early'] as const;
export type Plant = (typeof PLANTS)[number];

const [account] = ACCOUNTS;
const [expectation] = EXPECTATIONS;

function victim() {
  if (account === undefined || expectation === undefined) throw new Error('the story is empty');
  const [userId] = usersOf(account, expectation.users);
  if (userId === undefined) throw new Error('the story has no users');
  return { account, userId, lid: expectation.lid };
}

/** A planned message is sent once more, past the product, under another retry key. */
async function plantDuplicate({ line }: Pick<Stack, 'line'>): Promise<void> {
  const { account, userId, lid } = victim();
  const arrived = async () =>
    (await line.receiptsSince(0)).some((receipt) => receipt.user === userId && receipt.lid === lid);
  while (!(await arrived())) await sleep(50);
  await line.pushAround(tokenOf(account), {
    to: userId,
    messages: [{ type: 'text', text: `once more [[lid:${lid}]]` }],
  });
}

/** LINE delivers nothing to a planned recipient. */
async function plantLoss({ line }: Pick<Stack, 'line'>): Promise<void> {
  const { account, userId } = victim();
  await line.block(account.channelId, [userId]);
}

/** A waiting action is made due at once, behind the product's back; it is told, so that it does not find the row by itself a second later. */
async function plantEarly({ database }: Pick<Stack, 'database'>): Promise<void> {
  for (let moved = 0; moved === 0; await sleep(10)) {
    const { rowCount } = await database.db.$client.query(
      `with moved as (
         update scheduled_action set execute_at = app_now(), fence = fence + 1
          where id = (select id from scheduled_action
                       where status = 'pending' and source_config is null and execute_at > app_now() + interval '1.5 seconds' limit 1)
            and status = 'pending'
         returning id)
       select wake_scheduled_action_due() from moved`,
    );
    moved = rowCount ?? 0;
  }
}

/** The fault, and whether it is planted before the story begins or beside it. */
export const PLANTING: Readonly<Record<Plant, { when: 'before' | 'during'; plant: (stack: Stack) => Promise<void> }>> =
  {
    duplicate: { when: 'during', plant: plantDuplicate },
    loss: { when: 'before', plant: plantLoss },
    early: { when: 'during', plant: plantEarly },
  };
