import type { AcceptRow, ReceiptRow, RequestRow, ViolationRow } from '../ledger.ts';

type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;

/** A request of the ledger, with what faults did to it. */
export type CheckedRequest = RequestRow & {
  /** The fault that was played on it. */
  readonly faultId?: string | null;
  /** Whether the client went away before it had the whole answer. */
  readonly clientAborted?: boolean | null;
};

/** `dropped`: answered as accepted, and carried out for nobody. */
export type CheckedAccept = AcceptRow & { readonly dropped?: boolean | null };
export type CheckedViolation = Omit<ViolationRow, 'code'> & { readonly code: string };

/** A whole ledger, oldest row first; the simulator's own, or one that was read from files. */
export interface LedgerSource {
  requests(): Rows<CheckedRequest>;
  accepts(): Rows<CheckedAccept>;
  receipts(): Rows<ReceiptRow>;
  violations(): Rows<CheckedViolation>;
}
