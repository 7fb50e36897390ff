import { isUserId } from '../channel/user-ids.ts';
import { type Fields, isFields } from '../fields.ts';

/** One entry of `details` in LINE's error body. */
export interface Problem {
  readonly message: string;
  readonly property: string;
}

const MESSAGE_TYPES = [
  'text',
  'textV2',
  'sticker',
  'image',
  'video',
  'audio',
  'location',
  'imagemap',
  'template',
  'flex',
  'coupon',
];
const MAX_TEXT_UNITS = 5_000;
const MAX_URI = 1_000;
const MAX_QUICK_REPLIES = 13;
const UNIT_NAME = /^[a-zA-Z0-9_]{1,30}$/;

/** LINE's text for a value that cannot be read into its property; it has no position for values out of a list. */
export function invalidProperty(property: string): string {
  return `The property, ${property}, in the request body is invalid (line: -, column: -)`;
}

/** What is wrong with the messages of a send: texts fully, of other types the name, the quick replies and the links. */
export function messageProblems(messages: unknown): Problem[] {
  if (messages === undefined || messages === null) return [{ message: 'May not be empty', property: 'messages' }];
  if (!Array.isArray(messages)) return [{ message: invalidProperty('messages'), property: 'messages' }];
  if (messages.length < 1 || messages.length > 5) {
    return [{ message: 'Size must be between 1 and 5', property: 'messages' }];
  }
  return messages.flatMap((message: unknown, index) => problemsOf(message, `messages[${index}]`));
}

/** What is wrong with the options that push and multicast take beside the messages. */
export function optionProblems(body: Fields): Problem[] {
  const problems: Problem[] = [];
  const silent = body.notificationDisabled;
  if (silent !== undefined && typeof silent !== 'boolean') {
    problems.push({ message: invalidProperty('notificationDisabled'), property: 'notificationDisabled' });
  }
  const units = body.customAggregationUnits;
  if (units === undefined) return problems;
  const property = 'customAggregationUnits';
  if (!Array.isArray(units)) return [...problems, { message: invalidProperty(property), property }];
  if (units.length > 1) return [...problems, { message: 'Size must be between 0 and 1', property }];
  units.forEach((unit: unknown, index) => {
    if (typeof unit === 'string' && UNIT_NAME.test(unit)) return;
    problems.push({ message: invalidProperty(`${property}[${index}]`), property: `${property}[${index}]` });
  });
  return problems;
}

/** What is wrong with the size of a list of users: a multicast's `to`, the `userIds` of a bulk link. */
export function userCountProblems(users: unknown, property: string): Problem[] {
  if (Array.isArray(users) && users.length >= 1 && users.length <= 500) return [];
  if (users === undefined || users === null) return [{ message: 'May not be empty', property }];
  return [{ message: Array.isArray(users) ? 'Size must be between 1 and 500' : invalidProperty(property), property }];
}

/** Index of the first entry that is no user id; -1 if there is none. */
export function firstInvalidUserId(to: readonly unknown[]): number {
  return to.findIndex((userId) => !isUserId(userId));
}

function problemsOf(message: unknown, path: string): Problem[] {
  if (!isFields(message)) return [{ message: invalidProperty(path), property: path }];
  if (typeof message.type !== 'string' || !MESSAGE_TYPES.includes(message.type)) {
    const expected = `Must be one of the following values: [${MESSAGE_TYPES.join(', ')}]`;
    return [{ message: expected, property: `${path}.type` }];
  }
  return [
    ...(message.type === 'text' || message.type === 'textV2' ? textProblems(message.text, `${path}.text`) : []),
    ...quickReplyProblems(message.quickReply, `${path}.quickReply.items`),
    ...uriProblems(message, path),
  ];
}

/** Links that are too long, wherever an action may stand. */
function uriProblems(value: unknown, path: string): Problem[] {
  if (Array.isArray(value)) return value.flatMap((entry: unknown, index) => uriProblems(entry, `${path}[${index}]`));
  if (!isFields(value)) return [];
  const { type, uri } = value;
  const isBad = type === 'uri' && !(typeof uri === 'string' && uri.length >= 1 && uri.length <= MAX_URI);
  return [
    ...(isBad ? [{ message: `Length must be between 1 and ${MAX_URI}`, property: `${path}.uri` }] : []),
    ...Object.entries(value).flatMap(([name, field]) =>
      typeof field === 'object' ? uriProblems(field, `${path}.${name}`) : [],
    ),
  ];
}

function textProblems(text: unknown, property: string): Problem[] {
  if (text === undefined || text === null || text === '') return [{ message: 'May not be empty', property }];
  if (typeof text !== 'string') return [{ message: invalidProperty(property), property }];
  if (text.length <= MAX_TEXT_UNITS) return [];
  return [{ message: `Length must be between 0 and ${MAX_TEXT_UNITS}`, property }];
}

function quickReplyProblems(quickReply: unknown, property: string): Problem[] {
  if (quickReply === undefined || quickReply === null) return [];
  const items = isFields(quickReply) ? quickReply.items : undefined;
  if (!Array.isArray(items)) return [{ message: invalidProperty(property), property }];
  return items.length > MAX_QUICK_REPLIES
    ? [{ message: `Size must be between 0 and ${MAX_QUICK_REPLIES}`, property }]
    : [];
}
