import { CYCLE_KEY_PREFIX } from '@dueline/contracts';
import { sql } from 'drizzle-orm';

/** The id of the cycle that made the row `action`, by its key. Null: no cycle did, also where a key only looks as if one had. */
export const cycleIdOfAction = sql`
  case when action.dedup_key ~ ${`^${CYCLE_KEY_PREFIX}[0-9]{1,18}:`} then split_part(action.dedup_key, ':', 2)::bigint end`;
