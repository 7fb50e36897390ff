import { randomInt } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import type { Db } from './open.ts';

/** Inserts a row as any service would, past every package; JSON columns take their value, the others what pg takes. */
export async function insertRow(
  db: Db,
  table: string,
  values: Record<string, unknown>,
): Promise<Record<string, string>> {
  const names = Object.keys(values).map((name) => `"${name}"`);
  const marks = names.map((_, at) => `$${at + 1}`);
  const cells = Object.values(values).map((value) =>
    typeof value === 'object' && value !== null && !(value instanceof Date) ? JSON.stringify(value) : value,
  );
  const { rows } = await db.$client.query(
    `insert into ${table} (${names.join(', ')}) values (${marks.join(', ')}) returning *`,
    cells,
  );
  return rows[0];
}

/** An organization with one LINE Official Account. */
export async function insertTenant(db: Db, account: { timezone?: string; status?: string } = {}): Promise<Tenant> {
  const organization = await insertRow(db, 'organization', { name: 'organization' });
  const channelId = String(randomInt(1, 2 ** 47));
  const lineOa = await insertRow(db, 'line_oa', {
    organization_id: organization.id,
    channel_id: channelId,
    name: 'account',
    ...account,
  });
  return { organizationId: String(organization.id), lineOaId: String(lineOa.id) };
}

/** The n-th user id that LINE might give. */
export const lineUserId = (n: number): string => `U${n.toString(16).padStart(32, '0')}`;

/** Users 1 to `count` of an account, without attributes. */
export async function insertUsers(db: Db, { organizationId, lineOaId }: Tenant, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, at) => lineUserId(at + 1));
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [organizationId, lineOaId, ids],
  );
  return ids;
}

/** One column of a query's rows, as text. */
export async function columnOf(db: Db, query: string, parameters: readonly unknown[] = []): Promise<(string | null)[]> {
  const { rows } = await db.$client.query({ text: query, values: [...parameters], rowMode: 'array' });
  return rows.map(([cell]: unknown[]) => (cell === null || cell === undefined ? null : String(cell)));
}

/** The moves `from>to` that the guard trigger of a table allows, as its catalog row has them. */
export async function guardedMoves(db: Db, table: string): Promise<string[]> {
  const moves = await columnOf(
    db,
    `select unnest(string_to_array(trim(trailing '\\000' from encode(tgargs, 'escape')), '\\000'))
       from pg_trigger where tgrelid = $1::regclass and tgfoid = 'guard_row'::regproc`,
    [table],
  );
  return moves
    .filter((move) => move !== null && move !== '')
    .map(String)
    .sort();
}
