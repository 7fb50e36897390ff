import { randomUUID } from 'node:crypto';
import type { Tenant, TextMessage } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { type CreatedDelivery, insertDeliveries, requestBody } from './insert.ts';

/** Somebody looks at the phone and waits; what comes hours later surprises. */
const WORTH_MINUTES = 30;

/** The messages of a campaign to people whom its author named. */
export interface TestSend extends Tenant {
  readonly channelId: string;
  readonly campaignId: string;
  readonly userIds: readonly string[];
  readonly messages: readonly TextMessage[];
}

/**
 * none -> planned, due at once and worth sending for half an hour: a push to each of these people, of kind `test`, in the transaction of
 * whoever asks for it; the announcing sweep brings it on its way. Each test is a logical send of its own, `<campaign>:<uuid>`, so that its keys
 * are never those of the campaign nor of another test. It belongs to no campaign: none of its results counts it.
 */
export async function createTestDeliveries(
  tx: Tx,
  { campaignId, userIds, messages, ...account }: TestSend,
): Promise<CreatedDelivery[]> {
  const { rows } = await tx.execute<{ until: string }>(
    sql`select to_json(app_now() + make_interval(mins => ${WORTH_MINUTES})) #>> '{}' as until`,
  );
  const common = {
    ...({
      ...account,
      kind: 'test',
      logicalId: `${campaignId}:${randomUUID()}`,
      epoch: 1,
      endpoint: 'push',
      splitPath: '',
    } as const),
    ...{ triggerRuleId: null, scheduledActionId: null, eventId: null, rootId: null, campaignId: null, chunkNo: null },
    ...{ deliverUntil: rows[0]?.until ?? null, traceparent: undefined },
  };
  const created = await insertDeliveries(
    tx,
    userIds.map((userId, ordinal) => ({ ...common, userId, ordinal, body: requestBody({ to: userId, messages }) })),
  );
  const ids = column(
    created.map(({ id }) => id),
    'bigint',
  );
  await tx.execute(sql`update delivery set published_at = null where id = any(${ids})`); // nobody publishes its tickets
  return created;
}
