import { type Fields, isFields } from '../fields.ts';

/** The claims of a JWT that names RS256 and a key; undefined if it is none. */
export function assertionClaims(jwt: string): Fields | undefined {
  const [head = '', payload = '', signature = ''] = jwt.split('.');
  const header = partOf(head);
  if (header?.alg !== 'RS256' || typeof header.kid !== 'string' || signature === '') return undefined;
  return partOf(payload);
}

function partOf(part: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
