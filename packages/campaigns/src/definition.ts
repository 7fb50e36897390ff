import {
  bigintId,
  CAST_TYPE,
  isStorable,
  lineUserId,
  MAX_MESSAGES_PER_REQUEST,
  NOT_STORABLE,
  textMessage,
} from '@dueline/contracts';
import { column, type SQL, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';

/** What a person names one by one; more people are an audience. */
const MAX_EXCLUDED_AUDIENCES = 20;
const MAX_EXCLUDED_USERS = 1_000;

/** The fields of every campaign. */
export const common = {
  name: z.string().min(1).max(200).refine(isStorable, NOT_STORABLE),
  messages: z.array(textMessage).min(1).max(MAX_MESSAGES_PER_REQUEST),
};

/** Whom a campaign leaves out. */
export const exclude = z.strictObject({
  /** Whoever is in one of them when the campaign starts. */
  audienceIds: z.array(bigintId).max(MAX_EXCLUDED_AUDIENCES).optional(),
  userIds: z.array(lineUserId).max(MAX_EXCLUDED_USERS).optional(),
});

const nobody = z.undefined({
  error: 'a broadcast goes to all friends of the account, whom LINE alone knows: it cannot leave anybody out',
});

export const campaignDraft = z.discriminatedUnion('castType', [
  z.strictObject({ ...common, castType: z.literal(CAST_TYPE.broadcast), exclude: nobody.optional() }),
  z.strictObject({
    ...common,
    castType: z.literal(CAST_TYPE.multicast),
    audienceId: bigintId,
    exclude: exclude.optional(),
  }),
]);

/** A campaign as a person writes it: to all friends of the account, or to an audience but for some. */
export type CampaignDraft = z.input<typeof campaignDraft>;

/** @throws PermanentError whose message names the first wrong field. */
export function parse<Schema extends z.ZodType>(what: string, schema: Schema, value: unknown): z.output<Schema> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new PermanentError(`${what} is invalid at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}`);
}

/** Whom a draft reaches and whom it leaves out, as the columns of `campaign` have it. */
export interface Reached {
  readonly audienceId: string | null;
  readonly excludedAudienceIds: readonly string[];
  readonly excludedUserIds: readonly string[];
}

/** Each id once, in order. */
export const unique = (ids: readonly string[] = []): string[] => [...new Set(ids)].sort();

/** Pure: each id once, in order, so that the same definition has the same hash. */
export function reachedBy(draft: z.output<typeof campaignDraft>): Reached {
  if (draft.castType === CAST_TYPE.broadcast) return { audienceId: null, excludedAudienceIds: [], excludedUserIds: [] };
  const { audienceId, exclude: left = {} } = draft;
  return { audienceId, excludedAudienceIds: unique(left.audienceIds), excludedUserIds: unique(left.userIds) };
}

/** @throws PermanentError that names the first excluded audience that the account does not have, or that is deleted. */
export async function refuseUnknownAudiences(tx: Tx, ids: readonly string[], what = 'campaign'): Promise<void> {
  if (ids.length === 0) return;
  const { rows } = await tx.execute<{ id: string }>(sql`
    select id from audience where id = any(${column(ids, 'bigint')}) and deleted_date is null`);
  const known = new Set(rows.map(({ id }) => id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined)
    throw new PermanentError(`${what} is invalid at /exclude/audienceIds: no such audience: ${unknown}`);
}

/** Columns of a definition that are written; the others stay as the row has them. */
export type DefinitionColumns = Readonly<
  Partial<Record<'audience_id' | 'excluded_audience_ids' | 'excluded_user_ids' | 'messages', SQL | undefined>>
>;

/** Of the row `campaign` as it would be with these columns: changes with whom it is for and what they get, and with nothing else. */
export const definitionSha256With = (columns: DefinitionColumns): SQL => {
  const value = (name: keyof DefinitionColumns) => columns[name] ?? sql`campaign.${sql.identifier(name)}`;
  return sql`encode(sha256(convert_to(jsonb_build_array(campaign.cast_type, ${value('audience_id')}, ${value('excluded_audience_ids')},
    ${value('excluded_user_ids')}, ${value('messages')})::text, 'UTF8')), 'hex')`;
};

/** Of the row `campaign` as it is. */
export const definitionSha256 = definitionSha256With({});
