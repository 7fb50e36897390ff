import { customEventName, type Tenant } from '@dueline/contracts';
import { type Db, inTenant, refuseIf, sql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';

/** Something that a person did elsewhere: bought, left a cart. */
export interface CustomEvent {
  readonly userId: string;
  /** A small letter, then at most 63 small letters, digits, or _ . - */
  readonly name: string;
  /** What conditions may ask about; 64 KiB of JSON at most. */
  readonly payload?: Readonly<Record<string, unknown>> | undefined;
  /** The same event reported again has the same key and is one fact. */
  readonly idempotencyKey: string;
  /** RFC 3339; now, when left out. */
  readonly occurredAt?: string | undefined;
}

const REFUSALS = {
  '22P02': 'the payload of an event cannot be stored',
  '22P05': 'the payload of an event cannot be stored',
  '22021': 'a text cannot be stored',
  '54000': 'the key of a report is too long',
  '22007': 'the time of an event is not RFC 3339',
  '22008': 'the time of an event is out of range',
  '23514': 'the user id is not one of LINE, or the payload is no object or larger than 64 KiB',
};

/**
 * Records what another service tells of a person; rules that listen to its name are decided by the event that the row becomes. False: it
 * was known.
 *
 * @throws PermanentError when the name, the payload, the time or the user id is malformed.
 */
export async function recordCustomEvent(db: Db, tenant: Tenant, event: CustomEvent): Promise<boolean> {
  const name = customEventName.safeParse(event.name);
  if (!name.success) throw new PermanentError(`the name of an event: ${name.error.issues[0]?.message}`);
  return refuseIf(REFUSALS, () =>
    inTenant(db, tenant, async (tx) => {
      const { rowCount } = await tx.execute(sql`
        insert into custom_event (organization_id, line_oa_id, user_id, name, payload, idempotency_key, occurred_at)
        values (${tenant.organizationId}, ${tenant.lineOaId}, ${event.userId}, ${event.name}, ${JSON.stringify(event.payload ?? {})},
                ${event.idempotencyKey}, coalesce(${event.occurredAt ?? null}::timestamptz, app_now()))
            on conflict (line_oa_id, idempotency_key) do nothing`);
      return rowCount === 1;
    }),
  );
}
