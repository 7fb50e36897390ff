const SECRET_KEY = String.raw`[\w.-]*(?:token|secret|passw(?:or)?d|authorization|cookie|api_?key|private_?key)`;

const RULES: readonly (readonly [RegExp, string])[] = [
  // JSON members, as written and as they look inside a JSON string (a body quoted in an error text).
  [new RegExp(String.raw`"(${SECRET_KEY})":\s*"(?:[^"\\]|\\.)*"`, 'gi'), '"$1":"[redacted]"'],
  [new RegExp(String.raw`\\"(${SECRET_KEY})\\":\s*\\"(?:[^"\\]|\\\\.)*\\"`, 'gi'), String.raw`\"$1\":\"[redacted]\"`],
  [/\b([a-z][a-z0-9+.-]*:\/\/[^\s:@/"\\]*):[^\s"\\]+@/gi, '$1:[redacted]@'],
  [/([?&][\w.-]*(?:token|secret|password|signature|api_?key)=)[^&\s"\\]+/gi, '$1[redacted]'],
  [/\b(bearer|basic)\s+[a-z0-9._~+/=-]{6,}/gi, '$1 [redacted]'],
];

/**
 * `text` (plain, or one line of JSON) without the values of members named like a secret, the passwords in URLs, secrets
 * in query strings and bearer tokens. Works on the finished line, so that it holds for bindings and nested objects too.
 */
export function redactText(text: string): string {
  return RULES.reduce((line, [pattern, replacement]) => line.replace(pattern, replacement), text);
}
