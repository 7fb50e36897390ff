import { column, sql, type Tx } from '@dueline/db';
import type { TriggerRule } from '@dueline/trigger-rules';
import type { Moment } from './limits-then.ts';
import type { Account } from './rule-then.ts';

/** A moment at which a rule meets a person, as the clocks of the account and of the person show it. */
export interface MomentOfPerson extends Moment {
  /** Until when it is quiet then, in microseconds; null: it is not. */
  readonly quietUntil: number | null;
  /** When what begins to wait then is due, at the latest; null: it does not wait, or hangs on a date. */
  readonly dueAt: number | null;
  /** Until when it is quiet at that time. */
  readonly dueQuietUntil: number | null;
}

type Row = { [Name in 'quiet' | 'due' | 'due_quiet']: string | null } & { at: string; day: string; week: string };

/** How clocks show these moments, in order: by the functions that the decisions themselves ask. */
export async function loadMoments(
  tx: Tx,
  { lineOaId, organizationId }: Account,
  { rule, met }: { rule: TriggerRule; met: readonly { at: number; zone: string | null }[] },
): Promise<MomentOfPerson[]> {
  if (met.length === 0) return [];
  const { delay } = rule.actionConfig;
  const spec = delay === undefined || delay.mode === 'relativeToDate' ? null : JSON.stringify(delay);
  const micros = (instant: ReturnType<typeof sql>) => sql`(extract(epoch from ${instant}) * 1000000)::bigint`;
  const quiet = (instant: ReturnType<typeof sql>) =>
    sql`quiet_until(${instant}, zones.quiet, account.quiet_from, account.quiet_to)`;
  const { rows } = await tx.execute<Row>(sql`
    select met.at, to_char(moment.at at time zone account.timezone, 'YYYY-MM-DD') as day,
           to_char(date_trunc('week', moment.at at time zone account.timezone), 'YYYY-MM-DD') as week,
           ${micros(quiet(sql`moment.at`))} as quiet, ${micros(sql`due.at`)} as due, ${micros(quiet(sql`due.at`))} as due_quiet
      from unnest(${column(
        met.map(({ at }) => at),
        'bigint',
      )}, ${column(
        met.map(({ zone }) => zone),
        'text',
      )})
             with ordinality as met (at, zone, n)
      join line_oa as account on account.id = ${lineOaId} and account.organization_id = ${organizationId}
     cross join lateral (select timestamptz 'epoch' + met.at * interval '1 microsecond' as at) as moment
     cross join lateral (select coalesce(usable_zone(met.zone), account.timezone) as person) as of
     cross join lateral (select case account.quiet_zone when 'account' then account.timezone else of.person end as quiet) as zones
     cross join lateral (select delay_due(${spec}::jsonb, moment.at, of.person) as at) as due
     order by met.n`);
  const number = (value: string | null) => (value === null ? null : Number(value));
  return rows.map(({ at, day, week, quiet, due, due_quiet }) => ({
    ...{ at: Number(at), day, week },
    ...{ quietUntil: number(quiet), dueAt: number(due), dueQuietUntil: number(due_quiet) },
  }));
}
