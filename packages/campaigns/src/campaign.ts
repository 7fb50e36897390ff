import type { CastType, Tenant, TextMessage } from '@dueline/contracts';

/** A campaign, locked by the transaction that read it. */
export interface Campaign extends Tenant {
  readonly id: string;
  readonly fence: string;
  readonly castType: CastType;
  readonly audienceId: string | null;
  /** Whoever is in one of these audiences at the start is left out, */
  readonly excludedAudienceIds: readonly string[];
  /** and these people. */
  readonly excludedUserIds: readonly string[];
  readonly messages: readonly TextMessage[];
  /** Instant after which nothing more is sent; null: none. */
  readonly notAfter: string | null;
  /** People whom the author was shown; null: a broadcast. */
  readonly confirmedCount: number | null;
  /** Starts although the month has too few messages for it. */
  readonly ignoresQuota: boolean;
  readonly isFrozen: boolean;
}

/** Whom one request reaches: user ids in their order, or null for all friends of the account. */
export interface CampaignChunk {
  readonly chunkNo: number;
  readonly userIds: readonly string[] | null;
}
