import type { Fields } from './validation.ts';

interface Image {
  readonly bytes: Buffer;
  readonly contentType: string;
}

/** The rich menus of one channel, their images, and which user sees which. */
export interface RichMenus {
  has(richMenuId: string): boolean;
  hasImage(richMenuId: string): boolean;
  /** Menu of a user, by ordinal. */
  linkedTo(user: number): string | undefined;
  link(user: number, richMenuId: string): void;
  unlink(user: number): void;
}

interface Menu {
  readonly fields: Fields;
  image?: Image;
}

const SEEDED_IMAGE: Image = { bytes: Buffer.alloc(0), contentType: 'image/png' };
const SEEDED_MENU: Fields = {
  size: { width: 2500, height: 1686 },
  selected: false,
  name: 'Seeded menu',
  chatBarText: 'Menu',
  areas: [],
};

/** @param seeded Menus that exist from the start, with an image. */
export function createRichMenus(seeded: readonly string[]): RichMenus {
  const menus = new Map<string, Menu>(seeded.map((id) => [id, { fields: SEEDED_MENU, image: SEEDED_IMAGE }]));
  const linked = new Map<number, string>();
  return {
    has: (richMenuId) => menus.has(richMenuId),
    hasImage: (richMenuId) => menus.get(richMenuId)?.image !== undefined,
    linkedTo: (user) => linked.get(user),
    link: (user, richMenuId) => void linked.set(user, richMenuId),
    unlink: (user) => void linked.delete(user),
  };
}
