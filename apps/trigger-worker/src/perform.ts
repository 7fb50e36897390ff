import { loadChannelIds } from '@dueline/accounts';
import type { ActionRequest, ActionType, PERFORMED_BY } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { depthsOf } from '@dueline/db/changes';
import {
  type CreatedDelivery,
  createDeliveries,
  createWebhookDeliveries,
  type DeliveryToCreate,
  type WebhookDeliveryToCreate,
} from '@dueline/deliveries';
import { type AttributeToSet, changeMembership, type MembershipChange, setAttributes } from '@dueline/recipients';
import { isPerformedHere } from '@dueline/trigger-rules';
import { isMenuRequest, type MenuToSwitch, switchMenus } from './switch-menus.ts';
import { audienceOf } from './targets.ts';
import type { Words } from './wording.ts';

/** An action that was decided for one person, and what it stands for. */
export interface ActionToPerform extends Omit<DeliveryToCreate, 'channelId' | 'request'> {
  readonly request: ActionRequest;
  readonly words: Words;
}

type PerformedHere = { [T in ActionType]: (typeof PERFORMED_BY)[T] extends 'database' ? T : never }[ActionType];

/** What our database changes for an action that it performs; the compiler names a type of action of which nobody has said it. */
const CHANGES: { readonly [T in PerformedHere]: 'membership' | 'attribute' } = {
  add_to_audience: 'membership',
  remove_from_audience: 'membership',
  set_attribute: 'attribute',
};

const changeOf: ReadonlyMap<string, string> = new Map(Object.entries(CHANGES));
const isChange =
  (change: (typeof CHANGES)[PerformedHere]) =>
  ({ request }: ActionToPerform): boolean =>
    changeOf.get(request.actionType) === change;

/**
 * Does what decided actions say, in the transaction that decides: what our database performs is done, what LINE or a receiver of
 * webhooks is asked to do becomes rows of the ledger. What stands there already is left out of what comes back. What they name is there, and held ({@link targetsOf}).
 */
export async function performActions(tx: Tx, actions: readonly ActionToPerform[]): Promise<CreatedDelivery[]> {
  const here = actions.filter(({ request }) => isPerformedHere(request));
  if (here.length > 0) {
    await changeMembership(tx, here.filter(isChange('membership')).flatMap(membershipChange));
    await setAttributes(tx, await attributesToSet(tx, here.filter(isChange('attribute'))));
  }
  return here.length === actions.length ? [] : askOthers(tx, actions);
}

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

async function askOthers(tx: Tx, actions: readonly ActionToPerform[]): Promise<CreatedDelivery[]> {
  const asking = actions.filter(({ request }) => !isPerformedHere(request));
  const channelIds = await loadChannelIds(
    tx,
    asking.map(({ lineOaId }) => lineOaId),
  );
  const sends: DeliveryToCreate[] = [];
  const menus: MenuToSwitch[] = [];
  const calls: WebhookDeliveryToCreate[] = [];
  for (const action of asking) {
    const channelId = channelIds.get(action.lineOaId);
    if (channelId === undefined) throw new Error('the account of an action does not exist');
    const { request, words, ...of } = action;
    const base = { ...of, channelId };
    if (isMenuRequest(request)) menus.push({ ...base, request });
    else if (request.actionType === 'send_message')
      sends.push({ ...base, request: { ...request, actionConfig: { messages: words.messages } } });
    else if (request.actionType === 'call_webhook')
      calls.push({ ...base, url: request.actionConfig.url, data: words.data ?? {} });
  }
  return [
    ...(await createDeliveries(tx, sends)),
    ...(await switchMenus(tx, menus)),
    ...(await createWebhookDeliveries(tx, calls)),
  ];
}
