import type { Facts } from '@dueline/conditions';
import type { Tx } from '@dueline/db';
import type { LineUser } from '@dueline/recipients';
import type { HeldAction } from '@dueline/scheduled-actions';
import { readRecheck } from '@dueline/trigger-rules';
import { loadPeopleFacts } from './people-facts.ts';

/** What the source of an action that is due is looked at again by. */
export type FactsOfAction = (action: HeldAction, user: LineUser) => Omit<Facts, 'event'>;

const NO_NEEDS = {
  attributes: new Set<string>(),
  audiences: new Set<string>(),
  eventFields: new Set<string>(),
  clock: false,
};

const needsOf = ({ sourceConfig }: HeldAction) => readRecheck(sourceConfig)?.needs ?? NO_NEEDS;

/** Reads what these actions ask about their people once more; nothing where none asks about audiences or dates. */
export async function loadActionFacts(tx: Tx, actions: readonly HeldAction[]): Promise<FactsOfAction> {
  const asking = actions.filter(({ sourceConfig }) => sourceConfig !== null);
  const people = await loadPeopleFacts(
    tx,
    asking.map((action) => {
      const { organizationId, lineOaId, userId } = action;
      return { organizationId, lineOaId, userId, needs: needsOf(action) };
    }),
  );
  return (action, user) => people({ ...user, organizationId: action.organizationId }, needsOf(action));
}
