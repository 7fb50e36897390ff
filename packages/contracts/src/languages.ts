import { z } from 'zod';

/** Most languages of one message beside its default. */
export const MAX_VARIANTS = 50;

/** A BCP 47 tag such as `th`, `zh-Hant` or `pt-BR`; by its shape, not by a registry. */
export const languageTag = z
  .string()
  .max(35)
  .regex(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/, 'a language is a BCP 47 tag such as th or zh-Hant');

/** Which of the texts of a message somebody of this language reads: `zh-Hant-TW`, else `zh-Hant`, else `zh`, else the default. Case does not count. */
export function variantFor(
  { text, variants }: { readonly text: string; readonly variants?: Readonly<Record<string, string>> | undefined },
  language: string | null,
): string {
  if (variants === undefined || language === null) return text;
  const texts = new Map(Object.entries(variants).map(([tag, variant]) => [tag.toLowerCase(), variant]));
  const subtags = language.toLowerCase().split('-');
  for (; subtags.length > 0; subtags.pop()) {
    const variant = texts.get(subtags.join('-'));
    if (variant !== undefined) return variant;
  }
  return text;
}
