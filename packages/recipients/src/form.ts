import { isStorable, type Tenant } from '@dueline/contracts';
import { type Db, inTenant, refuseIf, sql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';

const MAX_NAME_LENGTH = 200;

/** Creates a form and returns its id. @throws PermanentError when the name is empty, too long or cannot be stored. */
export async function createForm(db: Db, tenant: Tenant, { name }: { name: string }): Promise<string> {
  if (name === '' || name.length > MAX_NAME_LENGTH || !isStorable(name)) {
    throw new PermanentError(`the name of a form has 1 to ${MAX_NAME_LENGTH} characters`);
  }
  return inTenant(db, tenant, async (tx) => {
    const { rows } = await tx.execute<{ id: string }>(sql`
      insert into form (organization_id, line_oa_id, name)
      values (${tenant.organizationId}, ${tenant.lineOaId}, ${name}) returning id`);
    if (rows[0] === undefined) throw new Error('insert returned no row');
    return rows[0].id;
  });
}

/** What a person sent with a form. */
export interface FormSubmission {
  readonly formId: string;
  readonly userId: string;
  readonly answers: Readonly<Record<string, unknown>>;
  /** The same submission reported again has the same key and is one fact. */
  readonly idempotencyKey: string;
  /** RFC 3339; now, when left out. */
  readonly occurredAt?: string | undefined;
}

/**
 * Records that a person submitted a form; what waits for it is unlocked by the event that the row becomes. False: it was known.
 *
 * @throws PermanentError when there is no such form, or an answer, the time or the user id is malformed.
 */
export async function submitForm(db: Db, tenant: Tenant, submission: FormSubmission): Promise<boolean> {
  const { formId, userId, answers, idempotencyKey, occurredAt } = submission;
  return refuseIf(REFUSALS, () =>
    inTenant(db, tenant, async (tx) => {
      const { rows } = await tx.execute(sql`select from form where id = ${formId} and deleted_date is null`);
      if (rows.length === 0) throw new PermanentError('no such form in this account');
      const { rowCount } = await tx.execute(sql`
        insert into form_submission (organization_id, line_oa_id, form_id, user_id, answers, idempotency_key, occurred_at)
        values (${tenant.organizationId}, ${tenant.lineOaId}, ${formId}, ${userId}, ${JSON.stringify(answers)}, ${idempotencyKey},
                coalesce(${occurredAt ?? null}::timestamptz, app_now()))
            on conflict (line_oa_id, idempotency_key) do nothing`);
      return rowCount === 1;
    }),
  );
}

const REFUSALS = {
  '22P02': 'no such form in this account',
  '22P05': 'an answer cannot be stored',
  '22021': 'a text cannot be stored',
  '54000': 'the key of a report is too long',
  '22007': 'the time of a submission is not RFC 3339',
  '22008': 'the time of a submission is out of range',
  '23514': 'the user id is not one of LINE',
};
