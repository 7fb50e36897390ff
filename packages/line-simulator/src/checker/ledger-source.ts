import type { AcceptRow, ReceiptRow, RequestRow, ViolationRow } from '../ledger/ledger.ts';

type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;

/** A whole ledger, oldest row first; the simulator's own, or one that was read from files. */
export interface LedgerSource {
  requests(): Rows<RequestRow>;
  accepts(): Rows<AcceptRow>;
  receipts(): Rows<ReceiptRow>;
  violations(): Rows<ViolationRow>;
}
