import { Agent } from 'undici';
import { failureText } from './network-failure.ts';
import { shortDetail } from './outcome.ts';

/** What LINE tells of the running month. `value`: its limit, null without one; `used`: about how many were sent. */
export interface MonthlyQuota {
  readonly value: number | null;
  readonly used: number;
}

/** A channel, and what it proves itself with. */
export interface ChannelSecret {
  readonly channelId: string;
  readonly channelSecret: string;
}

/** `failed`: nobody knows, try again; `refused`: LINE does not take these credentials. */
export type TokenIssue =
  | { readonly kind: 'issued'; readonly channelAccessToken: string; readonly expiresInSeconds: number }
  | { readonly kind: 'refused' | 'failed'; readonly detail: string };

/**
 * What LINE says of messages that it is not asked to send. `bad`: it names what is wrong with them; `refused`: it does not, which may as well be
 * an outage in which it refuses everything; `unknown`: it did not say.
 */
export type Validation = 'fine' | 'bad' | 'refused' | 'unknown';

/**
 * Questions about an account, which send nothing and change nothing but tokens. Never throws and never retries.
 */
export interface LineAccountClient {
  /** Undefined when LINE did not tell. */
  monthlyQuota(channelAccessToken: string): Promise<MonthlyQuota | undefined>;
  /** Whether LINE takes a token: `unknown` when it did not say. */
  tokenWorks(channelAccessToken: string): Promise<'yes' | 'no' | 'unknown'>;
  /** Whether LINE would take these messages, whoever gets them. `messages`: a JSON array. */
  validate(
    endpoint: 'push' | 'multicast' | 'broadcast',
    of: { readonly channelAccessToken: string; readonly messages: unknown },
  ): Promise<Validation>;
  /** A token for 15 minutes (v3), of which there may be any number. */
  issueStatelessToken(channel: ChannelSecret): Promise<TokenIssue>;
  /** A token for 30 days (v2); the 31st that lives costs the oldest its life. */
  issueShortLivedToken(channel: ChannelSecret): Promise<TokenIssue>;
  close(): void;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const QUESTION_TIMEOUT_MS = 5_000;
const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
/** LINE names the property that is wrong, and there is no other one in what is validated; or the place where it could not read on. */
const NAMES_CONTENT = /\bmessages\b|could not be parsed/;
/** Answers that say that the credentials are not taken, and not that LINE is unwell. */
const NOT_TAKEN: ReadonlySet<number> = new Set([400, 401, 403]);

/**
 * @param options.baseUrl Only its origin is used.
 * @param options.timeoutMs Longest time for one question, in milliseconds (5,000).
 */
export function createLineAccountClient({
  baseUrl,
  timeoutMs = QUESTION_TIMEOUT_MS,
}: {
  baseUrl: string;
  timeoutMs?: number;
}): LineAccountClient {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: timeoutMs } });
  const ask = askerOf({ agent, baseUrl, timeoutMs });
  const get = (path: string, token: string) => ask(path, { method: 'GET', headers: bearer(token) });

  const issue = async (path: string, { channelId, channelSecret }: ChannelSecret): Promise<TokenIssue> => {
    const form = { grant_type: 'client_credentials', client_id: channelId, client_secret: channelSecret };
    const body = new URLSearchParams(form).toString();
    const answer = await ask(path, { method: 'POST', headers: FORM_TYPE, body });
    return typeof answer === 'string' ? { kind: 'failed', detail: answer } : tokenOf(answer);
  };

  return {
    async monthlyQuota(token) {
      const [quota, usage] = await Promise.all([
        get('/v2/bot/message/quota', token),
        get('/v2/bot/message/quota/consumption', token),
      ]);
      return quotaOf(quota, usage);
    },
    async tokenWorks(token) {
      const answer = await get('/v2/bot/info', token);
      if (typeof answer === 'string') return 'unknown';
      if (answer.status === 401) return 'no';
      return answer.status === 200 ? 'yes' : 'unknown';
    },
    async validate(endpoint, { channelAccessToken, messages }) {
      const answer = await ask(`/v2/bot/message/validate/${endpoint}`, {
        method: 'POST',
        headers: { ...bearer(channelAccessToken), ...JSON_TYPE },
        body: JSON.stringify({ messages }),
      });
      if (typeof answer === 'string') return 'unknown';
      if (answer.status === 400) return NAMES_CONTENT.test(JSON.stringify(answer.body)) ? 'bad' : 'refused';
      return answer.status === 200 ? 'fine' : 'unknown';
    },
    issueStatelessToken: (channel) => issue('/oauth2/v3/token', channel),
    issueShortLivedToken: (channel) => issue('/v2/oauth/accessToken', channel),
    close: () => void agent.destroy(),
  };
}

interface Question {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** LINE's answer, or why there is none in a few words that quote nothing of the question. */
const askerOf =
  ({ agent, baseUrl, timeoutMs }: { agent: Agent; baseUrl: string; timeoutMs: number }) =>
  async (path: string, { method, headers, body }: Question): Promise<Answer | string> => {
    try {
      const { origin, pathname } = new URL(path, baseUrl);
      const request = { origin, path: pathname, method, headers, signal: AbortSignal.timeout(timeoutMs) };
      const response = await agent.request(body === undefined ? request : { ...request, body });
      const known: unknown = await response.body.json();
      if (typeof known !== 'object' || known === null || Array.isArray(known)) return 'an answer that is none of LINE';
      return { status: response.statusCode, body: { ...known } };
    } catch (error) {
      return shortDetail(failureText(error));
    }
  };

function quotaOf(quota: Answer | string, usage: Answer | string): MonthlyQuota | undefined {
  if (typeof quota === 'string' || typeof usage === 'string' || quota.status !== 200 || usage.status !== 200)
    return undefined;
  const { type, value } = quota.body;
  const { totalUsage: used } = usage.body;
  if (typeof used !== 'number') return undefined;
  if (type === 'none') return { value: null, used };
  return type === 'limited' && typeof value === 'number' ? { value, used } : undefined;
}

function tokenOf({ status, body }: Answer): TokenIssue {
  const { access_token: token, expires_in: seconds, error_description: why } = body;
  if (status === 200 && typeof token === 'string' && token !== '' && typeof seconds === 'number' && seconds > 0)
    return { kind: 'issued', channelAccessToken: token, expiresInSeconds: seconds };
  const detail = shortDetail(`${status}${typeof why === 'string' ? ` ${why}` : ''}`);
  return { kind: NOT_TAKEN.has(status) ? 'refused' : 'failed', detail };
}
