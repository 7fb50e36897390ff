import { type Answer, badBody, type Endpoint } from '../exchange.ts';
import { messageProblems } from '../validation.ts';

const OK: Answer = { status: 200, body: {} };

/** Checks of messages that send nothing. */
export const VALIDATE_ENDPOINTS = ['reply', 'push', 'multicast', 'narrowcast', 'broadcast'].map(
  (kind): Endpoint => ({
    key: `validate/${kind}`,
    method: 'POST',
    path: `/v2/bot/message/validate/${kind}`,
    limit: { count: 2_000, perMs: 1_000 },
    isSend: false,
    body: 'json',
    validate(exchange) {
      const problems = messageProblems(exchange.body?.messages);
      return problems.length > 0 ? badBody(problems) : undefined;
    },
    answer: () => OK,
  }),
);
