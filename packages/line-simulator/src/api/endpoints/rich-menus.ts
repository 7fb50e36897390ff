import { randomBytes } from 'node:crypto';
import { type Fields, isFields } from '../../fields.ts';
import { type Answer, badBody, channelOf, type Endpoint, type Exchange, failure } from '../exchange.ts';
import type { Problem } from '../validation.ts';

const HOUR_MS = 3_600_000;
const rare = { limit: { count: 100, perMs: HOUR_MS }, isSend: false } as const;
const usual = { limit: { count: 2_000, perMs: 1_000 }, isSend: false } as const;
const OK: Answer = { status: 200, body: {} };
const MENU = '/v2/bot/richmenu/:richMenuId';
const MAX_MENUS = 1_000;
const MAX_AREAS = 20;
const MAX_IMAGE_BYTES = 1_024 * 1_024;

/** The menus themselves and their images. */
export const RICH_MENU_ENDPOINTS: readonly Endpoint[] = [
  {
    ...rare,
    method: 'POST',
    key: 'richmenu/create',
    path: '/v2/bot/richmenu',
    body: 'json',
    validate: validateMenu,
    answer(exchange) {
      const { name, size, selected, chatBarText, areas } = exchange.body ?? {};
      const richMenuId = `richmenu-${randomBytes(16).toString('hex')}`;
      const fields = { size, selected, name, chatBarText, areas };
      channelOf(exchange).richMenus.all.set(richMenuId, { richMenuId, fields });
      return { status: 200, body: { richMenuId } };
    },
  },
  {
    limit: { count: 10, perMs: 1_000 },
    isSend: false,
    method: 'GET',
    key: 'richmenu/list',
    path: '/v2/bot/richmenu/list',
    body: 'none',
    answer(exchange) {
      const menus = [...channelOf(exchange).richMenus.all.values()];
      return { status: 200, body: { richmenus: menus.map(({ richMenuId, fields }) => ({ richMenuId, ...fields })) } };
    },
  },
  {
    ...usual,
    method: 'GET',
    key: 'richmenu/read',
    path: MENU,
    body: 'none',
    validate: mustExist,
    answer(exchange) {
      const { richMenuId = '' } = exchange.params;
      return { status: 200, body: { richMenuId, ...channelOf(exchange).richMenus.all.get(richMenuId)?.fields } };
    },
  },
  {
    ...rare,
    method: 'DELETE',
    key: 'richmenu/delete',
    path: MENU,
    body: 'none',
    validate: mustExist,
    answer(exchange) {
      channelOf(exchange).richMenus.all.delete(exchange.params.richMenuId ?? '');
      return OK;
    },
  },
  {
    ...usual,
    method: 'POST',
    key: 'richmenu/content/set',
    path: `${MENU}/content`,
    body: 'image',
    validate: validateImage,
    answer(exchange) {
      const menu = channelOf(exchange).richMenus.all.get(exchange.params.richMenuId ?? '');
      const { rawBody, contentType } = exchange;
      if (menu !== undefined && Buffer.isBuffer(rawBody)) menu.image = { bytes: rawBody, contentType };
      return OK;
    },
  },
  {
    ...usual,
    method: 'GET',
    key: 'richmenu/content/get',
    path: `${MENU}/content`,
    body: 'none',
    answer(exchange) {
      const image = channelOf(exchange).richMenus.all.get(exchange.params.richMenuId ?? '')?.image;
      if (image === undefined) return failure(404, 'Not found');
      return { status: 200, body: image.bytes, contentType: image.contentType };
    },
  },
];

function mustExist(exchange: Exchange): Answer | undefined {
  return channelOf(exchange).richMenus.has(exchange.params.richMenuId ?? '') ? undefined : failure(404, 'Not found');
}

function validateImage(exchange: Exchange): Answer | undefined {
  const refused = mustExist(exchange);
  if (refused !== undefined) return refused;
  if (channelOf(exchange).richMenus.hasImage(exchange.params.richMenuId ?? '')) {
    return failure(400, 'An image has already been uploaded to the richmenu');
  }
  const { rawBody } = exchange;
  if (!Buffer.isBuffer(rawBody) || rawBody.length === 0) return failure(400, 'The image is empty');
  return rawBody.length > MAX_IMAGE_BYTES ? failure(413, 'The image is too large') : undefined;
}

function validateMenu(exchange: Exchange): Answer | undefined {
  if (channelOf(exchange).richMenus.all.size >= MAX_MENUS) return failure(400, 'There are too many richmenus');
  const { size, selected, name, chatBarText, areas } = exchange.body ?? {};
  const problems = [
    ...sizeProblems(isFields(size) ? size : {}),
    ...lengthProblems(name, 'name', 300),
    ...lengthProblems(chatBarText, 'chatBarText', 14),
  ];
  if (typeof selected !== 'boolean') problems.push({ message: 'May not be empty', property: 'selected' });
  if (!Array.isArray(areas)) problems.push({ message: 'May not be empty', property: 'areas' });
  else if (areas.length > MAX_AREAS) problems.push({ message: 'Size must be between 0 and 20', property: 'areas' });
  return problems.length > 0 ? badBody(problems) : undefined;
}

/** 800 to 2,500 wide, 250 high at least, and no less than 1.45 times as wide as high. */
function sizeProblems({ width, height }: Fields): Problem[] {
  const problems: Problem[] = [];
  if (typeof width !== 'number' || width < 800 || width > 2_500) {
    problems.push({ message: 'Value must be between 800 and 2500', property: 'size.width' });
  }
  if (typeof height !== 'number' || height < 250 || Number(width) / height < 1.45) {
    problems.push({ message: 'The height is invalid', property: 'size.height' });
  }
  return problems;
}

function lengthProblems(value: unknown, property: string, max: number): Problem[] {
  if (typeof value !== 'string' || value === '') return [{ message: 'May not be empty', property }];
  return value.length <= max ? [] : [{ message: `Length must be between 0 and ${max}`, property }];
}
