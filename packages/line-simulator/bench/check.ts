// Time and memory of a check: so many recipients, each pushed to under a key of its own, or in multicasts of 500.
// node packages/line-simulator/bench/check.ts [recipients] [push or multicast]
import { type AcceptRow, checkHistory, type ExportRecord, nthUserId, type RequestRow } from '../src/index.ts';

const recipients = Number(process.argv[2] ?? 1_000_000);
const size = process.argv[3] === 'multicast' ? 500 : 1;
const sends = Math.ceil(recipients / size);
const path = size === 1 ? '/v2/bot/message/push' : '/v2/bot/message/multicast';
const channelId = '2000000001';
const at = '2026-12-01T00:00:00.000Z';

const uuid = (kind: number, n: number) => `0000000${kind}-0000-8000-8000-${n.toString(16).padStart(12, '0')}`;
const lidOf = (n: number) => (size === 1 ? `a:${n}:1` : 'c:1:1');
const secondsFrom = (send: number) => new Date(Date.parse(at) + Math.floor(send / 100) * 1_000).toISOString();

function* requests(): Generator<RequestRow> {
  for (let n = 0; n < sends; n += 1) {
    yield {
      seq: n + 1,
      at: secondsFrom(n),
      channelId,
      method: 'POST',
      path,
      retryKey: uuid(1, n),
      keyAttempt: 1,
      bodySha256: null,
      toCount: size,
      status: 200,
      step: 'accept',
      phaseReached: 'afterAccept',
      faultId: null,
      clientAborted: false,
      requestId: uuid(2, n),
    };
  }
}

function* accepts(): Generator<AcceptRow> {
  for (let n = 0; n < sends; n += 1) {
    yield {
      seq: n + 1,
      requestSeq: n + 1,
      channelId,
      path,
      retryKey: uuid(1, n),
      requestId: uuid(2, n),
      at: secondsFrom(n),
      lids: [lidOf(n)],
      delivered: Math.min(size, recipients - n * size),
      suppressed: [],
      dropped: false,
    };
  }
}

function* receipts() {
  for (let n = 0; n < recipients; n += 1) {
    const send = Math.floor(n / size);
    const row = { channelId, at: secondsFrom(send), requestId: uuid(2, send), retryKey: uuid(1, send) };
    yield { seq: n + 1, acceptSeq: send + 1, user: nthUserId('a', n), lid: lidOf(n), ...row };
  }
}

function* records(): Generator<ExportRecord> {
  for (let n = 0; n < recipients; n += 1) {
    const one = { channelId, lid: lidOf(n), user: nthUserId('a', n) };
    yield { kind: 'planned', ...one };
    yield { kind: 'state', ...one, state: 'accepted', at, retryKey: uuid(1, Math.floor(n / size)) };
  }
  for (let n = 0; n < sends; n += 1) {
    const startedAt = secondsFrom(n);
    const ids = { retryKey: uuid(1, n), requestId: uuid(2, n), acceptedRequestId: uuid(2, n) };
    const times = { startedAt, finishedAt: startedAt };
    yield { kind: 'attempt', channelId, lid: lidOf(n), ...ids, ...times, outcome: 'ACCEPTED' };
  }
}

let peak = 0;
const startedAt = performance.now();
const measured = <Row>(rows: () => Generator<Row>) =>
  function* () {
    let count = 0;
    for (const row of rows()) {
      if (count++ % 50_000 === 0) peak = Math.max(peak, process.memoryUsage.rss());
      yield row;
    }
  };
const report = await checkHistory({
  ledger: {
    requests: measured(requests),
    accepts: measured(accepts),
    receipts: measured(receipts),
    violations: () => [],
  },
  records: measured(records)(),
  faultsEndedAt: at,
  endedAt: '2026-12-02T00:00:00.000Z',
});
peak = Math.max(peak, process.memoryUsage.rss());
const seconds = (performance.now() - startedAt) / 1_000;
const { user, system } = process.cpuUsage();
process.stdout.write(
  `${recipients} recipients, ${sends} sends: ${seconds.toFixed(1)} s (CPU ${((user + system) / 1e6).toFixed(1)} s), RSS ${Math.round(peak / 1e6)} MB, ` +
    `${report.ok ? 'all hold' : JSON.stringify(report.findings[0])}\n`,
);
