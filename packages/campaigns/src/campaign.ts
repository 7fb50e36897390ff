import type { CastType, Tenant, TextMessage } from '@dueline/contracts';

/** A claimed campaign, locked by the transaction that starts it. */
export interface Campaign extends Tenant {
  readonly id: string;
  readonly castType: CastType;
  readonly audienceId: string | null;
  readonly messages: readonly TextMessage[];
  /** Instant after which nothing more is sent; null: none. */
  readonly notAfter: string | null;
  readonly confirmedCount: number | null;
  readonly isFrozen: boolean;
}

/** Whom one request reaches: user ids in their order, or null for all friends of the account. */
export interface CampaignChunk {
  readonly chunkNo: number;
  readonly userIds: readonly string[] | null;
}
