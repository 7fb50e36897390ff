import { type ControlOutcome, cancelCampaign, pauseCampaign, resumeCampaign } from '@dueline/campaigns';
import type { Ticket } from '@dueline/contracts';
import { type Db, inTransaction, type Tx } from '@dueline/db';
import { cancelCampaignDeliveries, retryCampaignDeliveries } from '@dueline/deliveries';
import type { Act, Cast } from './cast.ts';
import type { StagedCampaign } from './stage.ts';

/** In the middle: so much of all requests has ended. */
const MIDDLE = 0.3;
const HOUR_SECONDS = 3_600;

/** A person cancels the first campaign while it is being sent. */
export const cancelInTheMiddle: Act = async (cast, signal) => {
  const campaign = await inTheMiddle(cast, signal);
  const asked = performance.now();
  await change(cast.database.db, campaign, (tx, ticket) =>
    cancelCampaign(tx, campaign.tenant, { campaign: ticket, stopDeliveries: cancelCampaignDeliveries }),
  );
  return [{ verb: 'cancel', campaign, atMs: nowOf(cast), waitedMs: performance.now() - asked }];
};

/** A person pauses the first campaign while it is being sent; every app stops and, after `meanwhile`, starts again; an hour passes; it goes on. */
export const pauseForAnHour =
  (meanwhile: () => Promise<void> = () => Promise.resolve()): Act =>
  async (cast, signal) => {
    const campaign = await inTheMiddle(cast, signal);
    const { db } = cast.database;
    const asked = performance.now();
    await change(db, campaign, (tx, ticket) => pauseCampaign(tx, campaign.tenant, { campaign: ticket }));
    const atMs = nowOf(cast);
    const waitedMs = performance.now() - asked;
    await cast.fleet.restart(meanwhile);
    if (!(await cast.clock.ahead(HOUR_SECONDS, PATIENCE_MS))) throw new Error('the hour could not pass');
    const untilMs = nowOf(cast);
    await change(db, campaign, (tx, ticket) =>
      resumeCampaign(tx, campaign.tenant, { campaign: ticket, retryDeliveries: retryCampaignDeliveries }),
    );
    return [{ verb: 'pause', campaign, atMs, untilMs, waitedMs }];
  };

const PATIENCE_MS = 60_000;

async function inTheMiddle({ stage, untilShare }: Cast, signal: AbortSignal): Promise<StagedCampaign> {
  await untilShare(MIDDLE, signal);
  const [campaign] = stage.campaigns;
  if (campaign === undefined) throw new Error('no campaign was scheduled');
  return campaign;
}

const nowOf = ({ clock }: Cast): number => Date.parse(clock.now());

/** As a person does: looks, changes what was seen, and looks again when it has changed meanwhile. */
async function change(
  db: Db,
  { ticket: { id } }: StagedCampaign,
  make: (tx: Tx, ticket: Ticket) => Promise<ControlOutcome>,
): Promise<void> {
  for (;;) {
    const { rows } = await db.$client.query<{ fence: string }>('select fence from campaign where id = $1', [id]);
    const outcome = await inTransaction(db, (tx) => make(tx, { id, fence: rows[0]?.fence ?? '0' }));
    if (outcome.result === 'changed') return;
    if (outcome.refusal !== 'changed') throw new Error(`campaign ${id} was left as it is: ${outcome.refusal}`);
  }
}
