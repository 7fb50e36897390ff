import type { ActionRequest, Tenant } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { holdAudiences } from '@dueline/recipients';
import { holdRichMenus } from '@dueline/rich-menus';

/** The audiences and rich menus that actions name and that there are, by id, and whose they are: they are of several accounts. */
export interface Targets {
  readonly audiences: ReadonlyMap<string, Owned>;
  readonly richMenus: ReadonlyMap<string, Owned>;
}

type Owned = Pick<Tenant, 'lineOaId'>;

/** What there is of what these actions name; it is held. Reads nothing when none names anything. */
export async function targetsOf(
  tx: Tx,
  actions: readonly (Tenant & { readonly request: ActionRequest | undefined })[],
): Promise<Targets> {
  const named = (idOf: (request: ActionRequest) => string | undefined) =>
    actions.flatMap(({ organizationId, lineOaId, request }) => {
      const id = request && idOf(request);
      return id === undefined ? [] : [{ organizationId, lineOaId, id }];
    });
  const audiences = named(audienceOf).map(({ id, ...of }) => ({ ...of, audienceId: id }));
  const richMenus = named(richMenuOf).map(({ id, ...of }) => ({ ...of, richMenuId: id }));
  return {
    audiences: await holdAudiences(tx, audiences),
    richMenus: await holdRichMenus(tx, richMenus),
  };
}

/** Why an action of an account cannot be done: what it names is not there any more. */
export function missingTarget(
  { lineOaId, request }: Owned & { readonly request: ActionRequest },
  targets: Targets,
): 'audience_deleted' | 'rich_menu_deleted' | undefined {
  const [audience, richMenu] = [audienceOf(request), richMenuOf(request)];
  if (audience !== undefined && targets.audiences.get(audience)?.lineOaId !== lineOaId) return 'audience_deleted';
  return richMenu === undefined || targets.richMenus.get(richMenu)?.lineOaId === lineOaId
    ? undefined
    : 'rich_menu_deleted';
}

export const audienceOf = ({ actionConfig }: ActionRequest): string | undefined =>
  'audienceId' in actionConfig ? actionConfig.audienceId : undefined;

const richMenuOf = ({ actionConfig }: ActionRequest): string | undefined =>
  'richMenuId' in actionConfig ? actionConfig.richMenuId : undefined;
