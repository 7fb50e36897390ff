import type { AttemptResult } from '@dueline/deliveries';
import type { LineOutcome } from '@dueline/line-client';

/** What the ledger keeps of an answer of LINE, or of its absence. */
export function resultOf(answer: LineOutcome): AttemptResult {
  switch (answer.kind) {
    case 'accepted':
      return { outcome: 'accepted', httpStatus: 200, lineRequestId: answer.requestId };
    case 'already':
      return {
        outcome: 'already',
        httpStatus: 409,
        lineRequestId: answer.requestId,
        acceptedRequestId: answer.acceptedRequestId,
      };
    case 'refused':
    case 'auth':
      return {
        outcome: answer.kind,
        httpStatus: answer.status,
        lineRequestId: answer.requestId,
        detail: answer.detail,
      };
    case 'throttled':
      return { outcome: 'throttled', httpStatus: answer.status, detail: `${answer.reason}: ${answer.detail}` };
    case 'not_reached':
      return { outcome: 'not_reached', detail: answer.detail };
    case 'ambiguous':
      return { outcome: 'ambiguous', httpStatus: answer.status, detail: answer.detail };
  }
}
