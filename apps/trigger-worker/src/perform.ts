import { loadChannelIds } from '@dueline/accounts';
import { type ActionRequest, PERFORMED_BY, type Tenant } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { depthsOf } from '@dueline/db/changes';
import { type CreatedDelivery, createDeliveries, type DeliveryToCreate } from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';
import {
  type AttributeToSet,
  changeMembership,
  holdAudiences,
  type MembershipChange,
  setAttributes,
} from '@dueline/recipients';

/** An action that was decided for one person, and what it stands for. */
export interface ActionToPerform extends Omit<DeliveryToCreate, 'channelId' | 'request'> {
  readonly request: ActionRequest;
}

/** Whether our own database performs the action, so that it is done with the decision, whether its person follows the account or not. */
export const isPerformedHere = ({ actionType }: Pick<ActionRequest, 'actionType'>): boolean =>
  PERFORMED_BY[actionType] === 'database';

/**
 * Does what decided actions say, in the transaction that decides: what our database performs is done, what LINE is asked to do becomes
 * rows of the ledger. What stands there already is left out of what comes back. The audiences of the actions are held ({@link audiencesOf}).
 */
export async function performActions(tx: Tx, actions: readonly ActionToPerform[]): Promise<CreatedDelivery[]> {
  const here = actions.filter(({ request }) => isPerformedHere(request));
  if (here.length > 0) {
    await changeMembership(tx, here.flatMap(membershipChange));
    await setAttributes(tx, await attributesToSet(tx, here));
  }
  return here.length === actions.length ? [] : askLine(tx, actions);
}

/** Which audiences of these actions there are; they are held. Reads nothing when no action is about an audience. */
export async function audiencesOf(
  tx: Tx,
  actions: readonly (Tenant & { readonly request: ActionRequest | undefined })[],
): Promise<ReadonlySet<string>> {
  const keys = actions.flatMap(({ organizationId, lineOaId, request }) => {
    const audienceId = request && audienceOf(request);
    return audienceId === undefined ? [] : [{ organizationId, lineOaId, audienceId }];
  });
  return keys.length === 0 ? new Set() : holdAudiences(tx, keys);
}

/** Whether an action is about an audience that is not among those there are. */
export function lacksAudience(request: ActionRequest, audiences: ReadonlySet<string>): boolean {
  const audienceId = audienceOf(request);
  return audienceId !== undefined && !audiences.has(audienceId);
}

const audienceOf = ({ actionConfig }: ActionRequest): string | undefined =>
  'audienceId' in actionConfig ? actionConfig.audienceId : undefined;

function membershipChange({ organizationId, lineOaId, userId, request }: ActionToPerform): MembershipChange[] {
  const audienceId = audienceOf(request);
  if (audienceId === undefined) return [];
  return [{ organizationId, lineOaId, userId, audienceId, member: request.actionType === 'add_to_audience' }];
}

async function attributesToSet(tx: Tx, actions: readonly ActionToPerform[]): Promise<AttributeToSet[]> {
  const setting = actions.filter(({ request }) => request.actionType === 'set_attribute');
  if (setting.length === 0) return [];
  const depths = await depthsOf(
    tx,
    setting.flatMap(({ eventId }) => eventId ?? []),
  );
  return setting.flatMap(({ organizationId, lineOaId, userId, eventId, rootId, request }) => {
    if (request.actionType !== 'set_attribute') return [];
    const cause = eventId === null ? null : { eventId, rootId: rootId ?? eventId, depth: depths.get(eventId) ?? 0 };
    return [{ organizationId, lineOaId, userId, ...request.actionConfig, cause }];
  });
}

async function askLine(tx: Tx, actions: readonly ActionToPerform[]): Promise<CreatedDelivery[]> {
  const asking = actions.filter(({ request }) => !isPerformedHere(request));
  const channelIds = await loadChannelIds(
    tx,
    asking.map(({ lineOaId }) => lineOaId),
  );
  return createDeliveries(
    tx,
    asking.map((action) => {
      const channelId = channelIds.get(action.lineOaId);
      if (channelId === undefined) throw new Error('the account of an action does not exist');
      const { request } = action;
      if (request.actionType !== 'send_message') throw new PermanentError(`nothing performs ${request.actionType}`);
      return { ...action, channelId, request };
    }),
  );
}
