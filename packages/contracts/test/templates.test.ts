import {
  isStorable,
  MAX_TEXT_LENGTH,
  type MessageTemplate,
  type Recipient,
  RULE_ACTION_CONFIGS,
  renderMessages,
  textMessage,
} from '@dueline/contracts';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const text = (words: string, variants?: Record<string, string>): MessageTemplate =>
  variants === undefined ? { type: 'text', text: words } : { type: 'text', text: words, variants };

const person = ({
  attributes = {},
  ...parts
}: Partial<Omit<Recipient, 'attributes'>> & { attributes?: object } = {}) => ({
  displayName: null,
  language: null,
  ...parts,
  attributes: new Map<string, unknown>(Object.entries(attributes)),
});

/** What one text says to somebody; why it cannot be sent, in brackets. */
function said(template: MessageTemplate, recipient: Recipient = person()): string {
  const rendered = renderMessages([template], recipient);
  return 'problem' in rendered ? `[${rendered.problem}]` : (rendered.messages[0]?.text ?? '');
}

/** Why a rule cannot say this; undefined: it can. */
const refusal = (messages: unknown): string | undefined =>
  RULE_ACTION_CONFIGS.send_message.safeParse({ messages }).error?.issues[0]?.message;

const NAMED = 'Hello {{ attribute.name | "friend" }}!';
test.for<[what: string, template: string, recipient: Recipient, expected: string]>([
  ['a text', NAMED, person({ attributes: { name: 'Mari' } }), 'Hello Mari!'],
  ['nothing', NAMED, person(), 'Hello friend!'],
  ['null', NAMED, person({ attributes: { name: null } }), 'Hello friend!'],
  ['an empty text', NAMED, person({ attributes: { name: '' } }), 'Hello friend!'],
  ['a list', NAMED, person({ attributes: { name: ['Mari'] } }), 'Hello friend!'],
  ['an object', NAMED, person({ attributes: { name: { first: 'Mari' } } }), 'Hello friend!'],
  ['zero', NAMED, person({ attributes: { name: 0 } }), 'Hello 0!'],
  ['a number', NAMED, person({ attributes: { name: 1234.5 } }), 'Hello 1234.5!'],
  ['a large number', NAMED, person({ attributes: { name: 1e21 } }), 'Hello 1e+21!'],
  ['false', NAMED, person({ attributes: { name: false } }), 'Hello false!'],
  ['Thai and emoji', NAMED, person({ attributes: { name: 'สมชาย 👩‍👩‍👧𠮷' } }), 'Hello สมชาย 👩‍👩‍👧𠮷!'],
  ['a NUL', NAMED, person({ attributes: { name: 'a\u0000b' } }), 'Hello a\uFFFDb!'],
  ['half a surrogate pair', NAMED, person({ attributes: { name: 'a\ud83d' } }), 'Hello a\uFFFD!'],
  [
    'a placeholder',
    NAMED,
    person({ attributes: { name: '{{ display_name | "x" }}' } }),
    'Hello {{ display_name | "x" }}!',
  ],
  ['an attribute of every object', '{{ attribute.constructor | "none" }}', person(), 'none'],
  ['an attribute in Japanese', '{{attribute.お名前|"様"}}', person({ attributes: { お名前: '花子' } }), '花子'],
  ['any name', '{{ attribute["a.b | \\"}}"] | "-" }}', person({ attributes: { 'a.b | "}}': 'here' } }), 'here'],
  ['the display name', '{{display_name|"you"}}', person({ displayName: 'Mari' }), 'Mari'],
  ['no display name', '{{ display_name | "you" }}', person(), 'you'],
  ['an escaped fallback', '{{ display_name | "\\"you\\"\\n\\u3042" }}', person(), '"you"\nあ'],
  ['an empty fallback', 'Hi{{ display_name | "" }}', person(), 'Hi'],
  ['two of them', '{{ attribute.a | "1" }}{{ attribute.b | "2" }}', person({ attributes: { b: 'B' } }), '1B'],
  ['braces', 'write {{ "{{" }}name}} and } { }}', person(), 'write {{name}} and } { }}'],
])('a placeholder stands for %s', ([, template, recipient, expected]) => {
  expect(refusal([text(template)])).toBeUndefined();
  expect(said(text(template), recipient)).toBe(expected);
});

test.for<[template: string, problem: string]>([
  ['Hello {{ attribute.name', 'at 7: a placeholder is opened by {{ and never closed by }}'],
  ['Hello {{', 'at 7: a placeholder is opened by {{ and never closed by }}'],
  ['{{ attribute.name | "x"', 'at 1: a placeholder is opened by {{ and never closed by }}'],
  ['{{ attribute.name }}', 'a fallback is missing'],
  ['{{ display_name }}', 'a fallback is missing'],
  ['{{ display_name | }}', 'at 19: a text in double quotes was expected'],
  ["{{ display_name | 'x' }}", 'at 19: a text in double quotes was expected'],
  ['{{ display_name | "\\x" }}', 'at 19: not a string of JSON'],
  ['{{ display_name | "a\nb" }}', 'at 19: not a string of JSON'],
  ['{{ display_name | "\\u0000" }}', 'must not contain NUL or lone surrogates'],
  ['{{ display_name | "x" | "y" }}', 'at 23: unexpected "|"'],
  ['{{ display_name "x" }}', 'at 17: unexpected "\\""'],
  ['{{ user.name | "x" }}', 'at 4: unknown "user"'],
  ['{{ Attribute.name | "x" }}', 'at 4: unknown "Attribute"'],
  ['{{ | "x" }}', 'at 4: a placeholder starts with'],
  ['{{}}', 'at 3: a placeholder starts with'],
  ['{{ attribute | "x" }}', 'which attribute?'],
  ['{{ attribute. | "x" }}', 'no name of an attribute'],
  ['{{ attribute[""] | "x" }}', 'no name of an attribute'],
  ['{{ attribute["a" | "x" }}', 'attribute["<name>"] ends with ]'],
  ['{{ attribute.a.b | "x" }}', 'at 15: an attribute with a dot in its name is attribute["<name>"]'],
  ['{{{ attribute.a | "x" }}}', 'at 3: a placeholder starts with'],
])('what %s breaks is said when it is written, with its place', ([template, problem]) => {
  expect(refusal([text(template)])).toContain(problem);
  expect(refusal([text('x', { th: template })])).toContain(problem);
  expect(said(text(template))).toBe('[message 1: it is no template]');
});

const VARIANTS = text('default', { zh: 'zh', 'zh-Hant': 'hant', 'pt-BR': 'br', TH: 'th' });
test.for<[language: string | null, expected: string]>([
  ['zh-Hant-TW', 'hant'],
  ['zh-hant', 'hant'],
  ['zh-Hans', 'zh'],
  ['zh', 'zh'],
  ['pt', 'default'],
  ['pt-BR', 'br'],
  ['th-TH', 'th'],
  ['zho', 'default'],
  ['ja', 'default'],
  ['valueOf', 'default'],
  ['__proto__', 'default'],
  ['', 'default'],
  ['-', 'default'],
  [null, 'default'],
])('somebody who speaks %s reads the nearest of the languages: %s', ([language, expected]) => {
  expect(refusal([VARIANTS])).toBeUndefined();
  expect(said(VARIANTS, person({ language }))).toBe(expected);
});

test.for<[what: string, messages: unknown, problem: string]>([
  ['no languages', [text('x', {})], '1 to 50 languages'],
  ['a language twice', [text('x', { th: 'a', TH: 'b' })], 'th is there twice'],
  ['what is no language', [text('x', { thai_th: 'a' })], 'Invalid key'],
  ['an empty variant', [text('x', { th: '' })], 'Too small'],
  ['26 messages', Array(26).fill(text('x')), 'Too big'],
  ['more fixed text than LINE takes', [text(`${'x'.repeat(MAX_TEXT_LENGTH)}{{ display_name | "" }}y`)], 'Too long'],
])('a rule cannot say %s', ([, messages, problem]) => {
  expect(refusal(messages)).toContain(problem);
});

test('a rule may say 25 messages', () => {
  expect(refusal(Array(25).fill(text('x')))).toBeUndefined();
});

test.for<[what: string, length: number, problem: string | undefined]>([
  ['as much as LINE takes', MAX_TEXT_LENGTH, undefined],
  ['one unit more', MAX_TEXT_LENGTH + 1, 'its text is 5001 long once it is filled in, 5000 is the most'],
  ['nothing', 0, 'its text is empty once it is filled in'],
])('a text that comes out as %s is judged for each person, and never cut', ([, length, problem]) => {
  const messages = [text('first'), text('{{ attribute.all | "" }}')];
  expect(refusal(messages)).toBeUndefined();
  const rendered = renderMessages(messages, person({ attributes: { all: 'x'.repeat(length) } }));
  expect('problem' in rendered ? rendered.problem : undefined).toBe(problem && `message 2: ${problem}`);
});

test('what a campaign says to everybody has no placeholders and no languages', () => {
  for (const message of [text(NAMED), text('{{ "{{" }}'), text('hello', { th: 'sawatdi' })]) {
    expect(textMessage.safeParse(message).error?.issues[0]?.message).toContain('for the messages of rules');
  }
});

const anyUnits = fc.string({ unit: 'binary' });
const pieces = fc.oneof(
  anyUnits,
  fc.constantFrom(
    '{{',
    '}}',
    '|',
    '"',
    ' attribute.a ',
    'attribute["a"]',
    'display_name',
    '"x"',
    '\\',
    NAMED,
    '\ud800',
  ),
);
const anyRecipient = fc
  .record({ displayName: fc.option(anyUnits), language: fc.option(anyUnits), a: fc.anything(), name: fc.anything() })
  .map(({ displayName, language, a, name }) => person({ displayName, language, attributes: { a, name } }));

test('whatever a template holds and whoever its person is: it never throws, gives the same twice, and its text can be stored and sent', () => {
  fc.assert(
    fc.property(
      fc.array(pieces).map((all) => all.join('')),
      anyRecipient,
      (template, recipient) => {
        const messages = [text(template, { th: template })];
        const rendered = renderMessages(messages, recipient);
        expect(renderMessages(messages, recipient)).toEqual(rendered);
        if ('problem' in rendered || refusal(messages) !== undefined) return;
        for (const { text: words } of rendered.messages) {
          expect([isStorable(words), words.length > 0, words.length <= MAX_TEXT_LENGTH]).toEqual([true, true, true]);
        }
      },
    ),
  );
});

test('messages without placeholders and languages are what they were, the very same', () => {
  fc.assert(
    fc.property(fc.array(anyUnits.filter((words) => !words.includes('{{'))), anyRecipient, (texts, recipient) => {
      const messages = texts.map((words) => text(words));
      expect(renderMessages(messages, recipient)).toEqual({ messages });
      expect(Object.values(renderMessages(messages, recipient))[0]).toBe(messages);
    }),
  );
});
