import type { Fields } from '../fields.ts';

interface MenuImage {
  readonly bytes: Buffer;
  readonly contentType: string;
}

interface RichMenu {
  readonly richMenuId: string;
  readonly fields: Fields;
  image?: MenuImage;
}

/** The rich menus of one channel, their images and aliases, and which user sees which. */
export interface RichMenus {
  /** By id, in order of creation. */
  readonly all: Map<string, RichMenu>;
  /** Menu by alias. */
  readonly aliases: Map<string, string>;
  has(richMenuId: string): boolean;
  hasImage(richMenuId: string): boolean;
  /** Menu of a user, by ordinal; one that was deleted is none. */
  linkedTo(user: number): string | undefined;
  link(user: number, richMenuId: string): void;
  unlink(user: number): void;
  /** Everyone with a menu. */
  links(): [user: number, richMenuId: string][];
}

const SEEDED_IMAGE: MenuImage = { bytes: Buffer.from('seeded'), contentType: 'image/png' };
const SEEDED_MENU: Fields = {
  size: { width: 2500, height: 1686 },
  selected: false,
  name: 'Seeded menu',
  chatBarText: 'Menu',
  areas: [],
};

/** @param seeded Menus that exist from the start, with an image. */
export function createRichMenus(seeded: readonly string[]): RichMenus {
  const all = new Map<string, RichMenu>();
  for (const richMenuId of seeded) all.set(richMenuId, { richMenuId, fields: SEEDED_MENU, image: SEEDED_IMAGE });
  const linked = new Map<number, string>();
  const menus: RichMenus = {
    all,
    aliases: new Map(),
    has: (richMenuId) => all.has(richMenuId),
    hasImage: (richMenuId) => all.get(richMenuId)?.image !== undefined,
    linkedTo(user) {
      const richMenuId = linked.get(user);
      return richMenuId !== undefined && all.has(richMenuId) ? richMenuId : undefined;
    },
    link: (user, richMenuId) => void linked.set(user, richMenuId),
    unlink: (user) => void linked.delete(user),
    links: () => [...linked].filter(([, richMenuId]) => all.has(richMenuId)),
  };
  return menus;
}
