import { type AccountName, recordDeed } from '@dueline/accounts';
import { closeAttention } from '@dueline/attention';
import { CAMPAIGN_REFUSALS, type CampaignDetail, type ControlOutcome } from '@dueline/campaigns';
import type { Ticket } from '@dueline/contracts';
import { type Db, inTenant, type Tx } from '@dueline/db';
import type { Answer, Work } from '../person-command.ts';
import { closeItem } from './close-item.ts';
import { standingText } from './render.ts';
import { campaignOf, idOf, signedOf, type Typed, ticketOf } from './subcommand.ts';

/** What a change did beside the move. */
interface Done {
  readonly outcome: ControlOutcome;
  /** What the audit trail keeps of it, beside the statuses. */
  readonly after?: Readonly<Record<string, unknown>>;
  readonly before?: Readonly<Record<string, unknown>>;
  /** Ids of deliveries of which nobody knows, and nobody needs to any more. */
  readonly settledDoubts?: readonly string[];
}

interface Change {
  /** A word for the audit trail. */
  readonly operation: `campaign_${string}`;
  /** What becomes of the item of `dueline attention` that speaks of the campaign; when not given it stays as long as the campaign needs a person. */
  readonly closesItem?: 'resolved' | 'dismissed';
  readonly make: (tx: Tx, account: AccountName, it: { ticket: Ticket; before: CampaignDetail }) => Promise<Done>;
}

/** Changes the one campaign that was named, under the fence that was seen, and writes down who did it, in one transaction. */
export function changeWork(typed: Typed, change: Change): Work {
  const id = idOf(typed);
  return async (db, account) => {
    const before = await campaignOf(db, account, id);
    const ticket = ticketOf(typed, before);
    const outcome = await inTenant(db, account, (tx) => makeSigned(tx, account, { typed, change, ticket, before }));
    return answerOf(db, account, { outcome, id });
  };
}

async function makeSigned(
  tx: Tx,
  account: AccountName,
  { typed, change, ticket, before }: { typed: Typed; change: Change; ticket: Ticket; before: CampaignDetail },
): Promise<ControlOutcome> {
  const done = await change.make(tx, account, { ticket, before });
  const { outcome } = done;
  if (outcome.result === 'refused') return outcome;
  const signed = signedOf(typed);
  const { id } = ticket;
  await recordDeed(tx, account, {
    operation: change.operation,
    before: { id, status: outcome.before, ...done.before },
    after: { status: outcome.status, ...done.after },
    ...signed,
  });
  const needsNobody = outcome.before === 'needs_attention' && outcome.status !== 'needs_attention';
  const closesItem = change.closesItem ?? (needsNobody ? 'resolved' : undefined);
  if (closesItem !== undefined)
    await closeItem(tx, account, { id, status: closesItem, operation: change.operation, signed });
  if (done.settledDoubts !== undefined && done.settledDoubts.length > 0) {
    const closing = { closedBy: signed.by, resolution: signed.reason ?? change.operation };
    const status = closesItem ?? 'resolved';
    await closeAttention(tx, account, { kind: 'delivery_unknown', refIds: done.settledDoubts, status, ...closing });
  }
  return outcome;
}

/** Why a campaign was left as it is. */
export function refusedAnswer(id: string, outcome: Extract<ControlOutcome, { result: 'refused' }>): Answer {
  const { refusal, status } = outcome;
  const is = refusal === 'wrong_status' && status !== null ? `it is ${status}: ` : '';
  return {
    json: { id, ...outcome },
    lines: [`campaign ${id}: ${refusal}: ${is}${CAMPAIGN_REFUSALS[refusal]}`],
    isWhole: false,
  };
}

/** What became of it, and how it stands now. */
async function answerOf(
  db: Db,
  account: AccountName,
  { outcome, id }: { outcome: ControlOutcome; id: string },
): Promise<Answer> {
  if (outcome.result === 'refused') return refusedAnswer(id, outcome);
  const now = await campaignOf(db, account, id);
  const { standing, inFlight, waiting, cancelRequestedAt } = now;
  return {
    json: { id, ...outcome, standing, inFlight, waiting, cancelRequestedAt },
    lines: [
      `campaign ${id}: ${standingText(now)}${now.standing === 'draft' && now.deletedDate === null ? ': preview and schedule it again' : ''}`,
    ],
    isWhole: true,
  };
}
