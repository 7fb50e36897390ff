import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';
import { beginOf } from './create-webhooks.ts';
import type { WebhookEndpoint } from './retry-key.ts';
import { type Start, type StartedDelivery, startRows } from './start.ts';

/** A call of a receiver on the web that this process owns. */
export interface StartedWebhook extends StartedDelivery {
  readonly endpoint: WebhookEndpoint;
  readonly url: string;
  /** The exact bytes that the receiver gets. */
  readonly payload: string;
}

/**
 * planned -> sending for webhooks, as startDeliveries does for messages.
 *
 * @throws TransientError when the database was not ready.
 */
export async function startWebhookDeliveries(
  db: Db,
  tenant: Tenant,
  { tickets, start }: { tickets: readonly Ticket[]; start: Start },
): Promise<StartedWebhook[]> {
  const isChosen = sql`delivery.endpoint = 'webhook'`;
  return (await startRows(db, tenant, { tickets, start, isChosen })).map(asWebhook);
}

function asWebhook(delivery: StartedDelivery): StartedWebhook {
  const { endpoint } = delivery;
  if (endpoint !== 'webhook') throw new Error(`delivery ${delivery.id} is no webhook`);
  const url = urlOf(delivery.body);
  const payload = delivery.body.slice(beginOf(url).length, -1);
  // What an earlier attempt left open, a refusal closes: the receiver that knows its id says so by taking it.
  return { ...delivery, endpoint, verdict: 'clean', url, payload };
}

function urlOf(body: string): string {
  try {
    const { url } = JSON.parse(body) as { url?: unknown };
    return typeof url === 'string' ? url : '';
  } catch {
    return ''; // not what was stored: it is not sent either
  }
}
