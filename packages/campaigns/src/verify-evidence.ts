import { createHash } from 'node:crypto';
import { z } from 'zod';
import { addPeople, type EvidenceTotals, NO_PEOPLE } from './evidence-lines.ts';

/** What an evidence file says of a request, as far as it can be checked. */
const requestLine = z.looseObject({
  line: z.literal('request'),
  chunkNo: z.int().min(0),
  splitPath: z.string().regex(/^[01]*$/),
  epoch: z.int().min(1),
  endpoint: z.enum(['multicast', 'broadcast']),
  retryKey: z.string(),
  people: z.int().min(1).nullable(),
  status: z.string(),
  reasonCode: z.string().nullable(),
  bodyIsIntact: z.boolean(),
  acceptedAt: z.string().nullable(),
  lineRequestId: z.string().nullable(),
  lineAcceptedRequestId: z.string().nullable(),
});
const campaignLine = z.looseObject({
  line: z.literal('campaign'),
  version: z.literal(1),
  campaignId: z.string(),
  channelId: z.string(),
  plannedCount: z.int().nullable(),
});
const endLine = z.looseObject({
  line: z.literal('end'),
  requests: z.int(),
  people: z.record(z.string(), z.int()).nullable(),
  sha256: z.string(),
});
const anyLine = z.discriminatedUnion('line', [campaignLine, requestLine, endLine]);

/** A request of an evidence file, and of which channel and campaign it is. */
export type EvidenceRequest = z.output<typeof requestLine> & Pick<Head, 'campaignId' | 'channelId'>;
type Head = z.output<typeof campaignLine>;
type End = z.output<typeof endLine>;

/** What a check of an evidence file found. */
export interface EvidenceVerdict {
  readonly campaignId: string | null;
  readonly totals: EvidenceTotals;
  /** What does not hold, the first hundred; none: every sentence of the file agrees with the others. */
  readonly problems: readonly string[];
}

const MAX_PROBLEMS = 100;

/**
 * Checks an evidence file line by line, in little memory: the hash over its lines, the totals, that every request stands once and in order,
 * that the parts of what was split are exactly as many people as the whole, that as many people were asked for as were frozen, that bodies
 * are those that were decided, and that LINE has given an id for what it accepted.
 *
 * @param options.keyOf The retry key that a request must have.
 */
export async function verifyEvidence(
  lines: AsyncIterable<string> | Iterable<string>,
  { keyOf }: { keyOf: (request: EvidenceRequest) => string },
): Promise<EvidenceVerdict> {
  const check = createCheck(keyOf);
  for await (const text of lines) check.line(text);
  return check.verdict();
}

function createCheck(keyOf: (request: EvidenceRequest) => string) {
  const problems: string[] = [];
  const tell: Tell = (problem) => {
    if (problems.length < MAX_PROBLEMS) problems.push(problem);
  };
  const hash = createHash('sha256');
  const parts = createPartCheck(tell);
  let lineNo = 0;
  let head: Head | undefined;
  let end: End | undefined;
  let totals: EvidenceTotals = { requests: 0, people: NO_PEOPLE };
  const readRequest = (line: z.output<typeof requestLine>) => {
    totals = addPeople(totals, line);
    parts.add(line);
    if (head !== undefined) checkRequest({ ...line, ...named(head) }, keyOf, tell);
  };
  const read = (text: string) => {
    const line = parseLine(text);
    if (line?.line !== 'end') hash.update(`${text}\n`);
    if (line === undefined) tell(`line ${lineNo}: it is not a line of such a file`);
    else if (end !== undefined) tell(`line ${lineNo}: behind the end`);
    else if ((lineNo === 1) !== (line.line === 'campaign')) tell(`line ${lineNo}: the campaign is the first line`);
    else if (line.line === 'end') end = line;
    else if (line.line === 'campaign') head = line;
    else readRequest(line);
  };
  return {
    line: (text: string) => {
      lineNo += 1;
      read(text);
    },
    verdict: (): EvidenceVerdict => {
      parts.finish(head?.plannedCount ?? null);
      checkEnd(end, { totals, sha256: hash.digest('hex') }, tell);
      return { campaignId: head?.campaignId ?? null, totals, problems };
    },
  };
}

const named = ({ campaignId, channelId }: Head) => ({ campaignId, channelId });

function parseLine(text: string) {
  try {
    return anyLine.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

type Tell = (problem: string) => void;
const nameOf = ({ chunkNo, splitPath }: Pick<EvidenceRequest, 'chunkNo' | 'splitPath'>): string =>
  splitPath === '' ? `request ${chunkNo}` : `request ${chunkNo}, part ${splitPath}`;

function checkRequest(request: EvidenceRequest, keyOf: (request: EvidenceRequest) => string, tell: Tell): void {
  const name = nameOf(request);
  if (request.retryKey !== keyOf(request)) tell(`${name}: its retry key is not the one of this request`);
  if (!request.bodyIsIntact) tell(`${name}: its body is not the one that was decided`);
  if ((request.status === 'accepted') !== (request.acceptedAt !== null))
    tell(`${name}: it is ${request.status}, accepted at ${request.acceptedAt}`);
  if (request.status === 'accepted' && request.lineRequestId === null && request.lineAcceptedRequestId === null)
    tell(`${name}: it is accepted without an id of LINE`);
}

function checkEnd(end: End | undefined, counted: { totals: EvidenceTotals; sha256: string }, tell: Tell): void {
  if (end === undefined) {
    tell('the end is missing');
    return;
  }
  if (end.sha256 !== counted.sha256) tell('the lines are not those that were written: their hash is another');
  const isSame = end.requests === counted.totals.requests && sameCounts(end.people, counted.totals.people);
  if (!isSame) tell('the totals are not the sum of the requests');
}

const sameCounts = (left: Readonly<Record<string, number>> | null, right: EvidenceTotals['people']): boolean =>
  left === null || right === null
    ? left === right
    : Object.entries(right).every(([name, count]) => left[name] === count);

type Counted = Pick<EvidenceRequest, 'chunkNo' | 'splitPath' | 'people' | 'status'>;

/** Requests come chunk by chunk, and a whole before its parts: one chunk is held at a time. */
function createPartCheck(tell: Tell) {
  let chunkNo = -1;
  let chunk = new Map<string, Counted>();
  let people: number | null = 0;
  const close = () => {
    for (const request of chunk.values()) {
      const [left, right] = [chunk.get(`${request.splitPath}0`), chunk.get(`${request.splitPath}1`)];
      const isSplit = request.status === 'split';
      if (isSplit !== (left !== undefined && right !== undefined) || (!isSplit && (left ?? right) !== undefined))
        tell(`${nameOf(request)}: it is ${request.status}, and its parts do not fit`);
      else if (isSplit && (left?.people ?? 0) + (right?.people ?? 0) !== request.people)
        tell(`${nameOf(request)}: its parts are not as many people as it is`);
      if (request.splitPath !== '' && !chunk.has(request.splitPath.slice(0, -1)))
        tell(`${nameOf(request)}: it is a part of nothing`);
    }
  };
  return {
    add(request: Counted): void {
      if (request.chunkNo !== chunkNo) {
        close();
        if (request.chunkNo !== chunkNo + 1) tell(`${nameOf(request)}: it follows on request ${chunkNo}`);
        chunkNo = request.chunkNo;
        chunk = new Map();
      }
      if (chunk.has(request.splitPath)) tell(`${nameOf(request)}: it stands twice`);
      chunk.set(request.splitPath, request);
      if (request.splitPath === '')
        people = people === null || request.people === null ? null : people + request.people;
    },
    finish(planned: number | null): void {
      close();
      if (planned === null ? (people ?? 0) > 0 : people !== planned)
        tell(`${people} people are in the requests, and ${planned} were frozen`);
    },
  };
}
