import { createHash } from 'node:crypto';
import { type AttentionToOpen, openAttention } from '@dueline/attention';
import { inTransaction, type Tx } from '@dueline/db';
import type { CreatedDelivery } from '@dueline/deliveries';
import { type LineUser, pageOfUsers } from '@dueline/recipients';
import {
  type Candidate,
  type Cause,
  claimEnrolmentPage,
  conditionsStillHold,
  type EnrolmentPage,
  endEnrolment,
  finishEnrolmentPage,
  getLiveRule,
  giveBackEnrolmentPage,
  holdEnrolmentPage,
  type LogEntry,
  needsFriend,
  readRecheck,
  recordDecisions,
  sourceToRecheck,
  type TriggerRule,
} from '@dueline/trigger-rules';
import { attentionItems } from './attention-items.ts';
import { carryOut } from './carry-out.ts';
import { chooseFirings } from './choose-firings.ts';
import type { DecideDeps } from './deps.ts';
import { loadPeopleFacts } from './people-facts.ts';
import { isNotReady } from './split.ts';

/** People that one page looks at. */
const PAGE_SIZE = 500;
/** Pages in a minute, at least, so that a pace is kept evenly. */
const PAGES_PER_MINUTE = 12;
/** A page is decided in seconds: what its process died with is not left alone for as long as a claim. */
const MAX_LEASE_SECONDS = 60;
const NO_EVENT = new Map<string, never>();
/** What their history says they were looked at for. */
const TOPIC = 'enrolment';

interface DecidedPage {
  readonly entries: readonly LogEntry[];
  readonly deliveries: readonly CreatedDelivery[];
}
const NOTHING: DecidedPage = { entries: [], deliveries: [] };

/**
 * Takes a page of people who may match a rule already, and counts them or lets them enter. The page is claimed; one transaction decides it and
 * moves on. Killed anywhere it is taken again where it stood, and nobody enters twice.
 *
 * @returns Whether a page was due: then there may be more.
 */
export async function enrolPeople(deps: DecideDeps): Promise<boolean> {
  const page = await claimEnrolmentPage(deps.db, { leaseSeconds: Math.min(deps.leaseSeconds, MAX_LEASE_SECONDS) });
  if (page === undefined) return false;
  if (page.status === 'failed') {
    deps.log.error({ enrolment: page.id }, 'people could not enter a rule; the enrolment is given up');
    await inTransaction(deps.db, (tx) => openAttention(tx, [givenUp(page)]));
    return true;
  }
  try {
    const decided = await deps.gate.together(() => inTransaction(deps.db, (tx) => decidePage(deps, tx, page)));
    for (const entry of decided.entries) deps.onDecided('event', entry.decision);
    await deps.handOver(decided.deliveries);
  } catch (error) {
    if (isNotReady(error)) throw error; // its lease ends, and it is taken again
    deps.log.error({ err: error, enrolment: page.id }, 'a page of people could not enter a rule; it is tried again');
    await giveBackEnrolmentPage(deps.db, page);
  }
  return true;
}

const givenUp = ({ organizationId, lineOaId, triggerRuleId }: EnrolmentPage): AttentionToOpen => ({
  ...{
    organizationId,
    lineOaId,
    kind: 'rule_failed',
    refId: triggerRuleId,
    userId: null,
    reasonCode: 'decision_failed',
  },
});

async function decidePage({ reach }: DecideDeps, tx: Tx, page: EnrolmentPage): Promise<DecidedPage> {
  if (!(await holdEnrolmentPage(tx, page))) return NOTHING;
  const rule = await getLiveRule(tx, page, { ruleId: page.triggerRuleId, version: page.ruleVersion });
  if (rule === undefined) {
    await endEnrolment(tx, page, 'rule_changed');
    return NOTHING;
  }
  const users = await pageOfUsers(tx, page, { after: page.afterUserId, limit: PAGE_SIZE });
  const all = await matching(tx, page, { rule, users });
  const candidates = all.slice(0, mostOf(page));
  const last = candidates.length < all.length ? candidates.at(-1)?.userId : users.at(-1)?.userId;
  const examined = users.filter(({ userId }) => last !== undefined && userId <= last).length;
  const decided = page.status === 'entering' ? await enter(tx, candidates) : NOTHING;
  const entered = decided.entries.filter(({ decision }) => decision === 'fired' || decision === 'scheduled').length;
  const isOver = examined === users.length && users.length < PAGE_SIZE;
  const counted = { examined, entered, matched: candidates.length };
  await finishEnrolmentPage(tx, page, { ...counted, afterUserId: isOver ? null : (last ?? page.afterUserId) });
  if (decided.entries.length > 0) reach?.('enrol.deciding');
  return decided;
}

async function enter(tx: Tx, candidates: readonly Candidate[]): Promise<DecidedPage> {
  const { kept, ended } = await chooseFirings(tx, candidates);
  const { deliveries, recorded, entries } = await carryOut(tx, kept);
  await recordDecisions(tx, [...ended, ...entries]);
  const all = [...ended, ...entries, ...recorded];
  await openAttention(tx, attentionItems(all));
  return { entries: all, deliveries };
}

/** People of one page who may enter, so that the pace is kept. */
const mostOf = ({ status, perMinute }: EnrolmentPage): number =>
  status === 'counting' ? PAGE_SIZE : Math.max(1, Math.floor(perMinute / PAGES_PER_MINUTE));

/** Who of a page matches, in order: who has the value that the rule listens to, and for whom its conditions hold now. */
async function matching(
  tx: Tx,
  page: EnrolmentPage,
  { rule, users }: { rule: TriggerRule; users: readonly LineUser[] },
): Promise<Candidate[]> {
  const recheck = readRecheck(sourceToRecheck(rule.sourceConfig, { event: NO_EVENT }));
  if (rule.sourceType !== 'attribute_changed' || recheck === undefined) return [];
  const { attribute, to } = rule.sourceConfig;
  const { needs } = recheck;
  const mayMatch = users.filter(
    (user) =>
      (user.isFollowing || !needsFriend(rule)) &&
      (to !== undefined || (user.attributes.get(attribute) ?? null) !== null),
  );
  const { organizationId } = page;
  const people = await loadPeopleFacts(
    tx,
    mayMatch.map(({ lineOaId, userId }) => ({ organizationId, lineOaId, userId, needs })),
  );
  return mayMatch.flatMap((user) => {
    const facts = { ...people({ organizationId, ...user }, needs), event: NO_EVENT };
    if (!conditionsStillHold(recheck, facts).holds) return [];
    return { event: causeOf(page, user.userId), rule, userId: user.userId, user, facts };
  });
}

/** What sets off the rule for a person, under an id that is the same whenever this person is met by this enrolment. */
function causeOf({ id, organizationId, lineOaId }: EnrolmentPage, userId: string): Cause {
  const hex = createHash('sha256').update(`enrolment:${id}:${userId}`).digest('hex');
  const eventId = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  const base = { organizationId, lineOaId, userId, eventId, rootId: eventId, topic: TOPIC };
  return { ...base, causeId: null, depth: 0, bulk: true, traceparent: null };
}
