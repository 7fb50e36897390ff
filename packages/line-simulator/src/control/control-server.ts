import { Readable } from 'node:stream';
import { errorText, PermanentError } from '@dueline/kernel';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { ZodError } from 'zod';
import type { Stage } from '../api/exchange.ts';
import { checkHistory } from '../checker/check-history.ts';
import { checkOptions } from '../checker/export-format.ts';
import { readExport } from '../checker/jsonl.ts';
import type { MovableClock } from '../clock.ts';
import { type ChannelSettings, channelList, clockCommand, ledgerQuery, resetCommand } from '../config.ts';
import { addFaultRoutes } from '../faults/control.ts';
import type { Faults } from '../faults/engine.ts';
import type { Scenario } from '../faults/scenario.ts';
import type { Ledger, LedgerFilter } from '../ledger/ledger.ts';
import type { Metrics } from '../metrics.ts';
import { addUserRoutes } from './control-users.ts';

const MAX_BODY_BYTES = 256 * 1_024 * 1_024;
const LINES_PER_CHUNK = 500;

export interface ControlDeps {
  /** The stage of now; a reset replaces it. */
  stage(): Stage;
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly clock: MovableClock;
  readonly faults: Faults;
  readonly scenario: Scenario;
  reset(settings: readonly ChannelSettings[] | undefined): void;
}

/** The listener behind the scenes: sets the stage and reads what happened. No authentication; loopback only. */
export function createControlServer(deps: ControlDeps): FastifyInstance {
  const { stage, ledger, metrics, clock, reset } = deps;
  const app = fastify({ bodyLimit: MAX_BODY_BYTES, forceCloseConnections: true });
  app.setErrorHandler((error, _request, reply) => {
    const refused = error instanceof ZodError || error instanceof PermanentError;
    return reply.code(refused ? 400 : 500).send({ message: errorText(error) });
  });

  // What is due happens before anything is changed or read.
  app.addHook('onRequest', (_request, _reply, done) => {
    stage().agenda.runDue(clock.now());
    done();
  });
  app.post('/__sim/channels', (request) => {
    const { channels: settings } = channelList.parse(request.body);
    stage().channels.put(settings);
    return { channels: settings.length };
  });
  app.post('/__sim/reset', (request) => {
    reset(resetCommand.parse(request.body ?? {}).channels);
    return {};
  });
  app.post('/__sim/clock', (request) => {
    clock.move(clockCommand.parse(request.body));
    stage().agenda.runDue(clock.now());
    return { now: new Date(clock.now()).toISOString() };
  });
  addUserRoutes(app, { stage, clock });

  const rows = (path: string, read: (filter: LedgerFilter) => Iterable<object>) =>
    app.get(path, (request, reply) => sendLines(reply, read(ledgerQuery.parse(request.query))));
  rows('/__sim/ledger/requests', ledger.requests);
  rows('/__sim/ledger/accepts', ledger.accepts);
  rows('/__sim/ledger/receipts', ledger.receipts);
  rows('/__sim/ledger/violations', ledger.violations);
  app.get('/__sim/ledger/summary', (request) => ({ lids: ledger.summary(ledgerQuery.parse(request.query)) }));
  // As a stream, and of any size: an export has a line for each recipient.
  app.addContentTypeParser('application/jsonl', (_request, payload, done) => done(null, payload));
  app.post('/__sim/ledger/check', (request) => {
    if (!(request.body instanceof Readable)) throw new PermanentError('the body is to be application/jsonl');
    return checkHistory({ ledger, records: readExport(request.body), ...checkOptions.parse(request.query) });
  });
  app.get('/__sim/metrics', () => metrics.snapshot());
  addFaultRoutes(app, deps);
  return app;
}

function sendLines(reply: FastifyReply, rows: Iterable<object>): FastifyReply {
  return reply.header('content-type', 'application/jsonl').send(Readable.from(chunksOfLines(rows)));
}

/** Many lines at a time: one write per row would spend most of its time in the stream. */
function* chunksOfLines(rows: Iterable<object>): Generator<string> {
  let lines: string[] = [];
  for (const row of rows) {
    lines.push(`${JSON.stringify(row)}\n`);
    if (lines.length < LINES_PER_CHUNK) continue;
    yield lines.join('');
    lines = [];
  }
  if (lines.length > 0) yield lines.join('');
}
