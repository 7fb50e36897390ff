import { errorText, PermanentError } from '@dueline/kernel';
import type { Channel } from '../channel/channels.ts';
import type { LedgerStore } from '../ledger/ledger-store.ts';
import type { Links } from '../ledger/links.ts';
import { isLoopback } from './loopback.ts';

const PREVIEW_AGENT = 'facebookexternalhit/1.1;line-poker/1.0';
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const ANDROID =
  'Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Mobile';
const DESKTOP = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0';

/** How a browser names itself when a link is opened in LINE: its own on phones, the usual one on a desktop. */
const BROWSERS = {
  ios: `${IPHONE} Mobile/15E148 Safari Line/15.12.1`,
  android: `${ANDROID} Safari/537.36 Line/15.12.1/IAB`,
  liff: `${IPHONE} Mobile/15E148 Safari Line/15.12.1 LIFF`,
  pc: `${DESKTOP} Safari/537.36`,
} as const;

export type Browser = keyof typeof BROWSERS;

/** What became of one GET. Redirects are not followed; `status` tells them. */
export interface Fetched {
  readonly url: string;
  readonly status: number | 'failed' | 'skipped';
  readonly location: string | null;
  readonly reason: string | null;
}

interface Chat {
  readonly channel: Channel;
  readonly store: LedgerStore;
  readonly user: number;
}

/** Opens the chat: LINE fetches the URLs of the texts that came since it was last open. */
export async function openChat(
  { channel, store, user }: Chat,
  { range, actions }: { range: boolean; actions: boolean },
): Promise<Fetched[]> {
  const links = received({ channel, store, user }, channel.openedUntil.get(user) ?? 0);
  channel.openedUntil.set(user, store.receipts.user.length);
  const urls = links.flatMap(({ inTexts, inActions }) => (actions ? [...inTexts, ...inActions] : inTexts));
  const headers = { 'user-agent': PREVIEW_AGENT, ...(range && { range: 'bytes=0-524287' }) };
  return Promise.all(urls.map((url) => get(url, headers)));
}

/** Taps one link of a send the user received. @throws PermanentError if there is none, or it leads off this machine. */
export async function tapLink(
  chat: Chat,
  { acceptSeq, urlIndex, ua }: { acceptSeq: number; urlIndex: number; ua: Browser },
): Promise<Fetched> {
  const [links] = received(chat, 0, acceptSeq);
  const url = links === undefined ? undefined : [...links.inTexts, ...links.inActions][urlIndex];
  if (url === undefined) throw new PermanentError('the user received no such link', { context: { acceptSeq } });
  if (!isLoopback(url)) throw new PermanentError('the link leads off this machine', { context: { url } });
  return get(url, { 'user-agent': BROWSERS[ua] });
}

/** Links of what the user received from one place of the ledger on, each send once. */
function received({ channel, store, user }: Chat, from: number, only?: number): Links[] {
  const { receipts, accepts, links } = store;
  const seen = new Set<number>();
  const found: Links[] = [];
  for (let index = from; index < receipts.user.length; index += 1) {
    if (receipts.user.get(index) !== user) continue;
    const accept = receipts.accept.get(index);
    if (seen.has(accept) || accepts.channel.get(accept - 1) !== channel.ref) continue;
    seen.add(accept);
    const ofAccept = only === undefined || only === accept ? links.get(accept) : undefined;
    if (ofAccept !== undefined) found.push(ofAccept);
  }
  return found;
}

async function get(url: string, headers: Record<string, string>): Promise<Fetched> {
  if (!isLoopback(url)) return { url, status: 'skipped', location: null, reason: 'not on this machine' };
  try {
    const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(10_000) });
    await response.body?.cancel();
    return { url, status: response.status, location: response.headers.get('location'), reason: null };
  } catch (error) {
    return { url, status: 'failed', location: null, reason: errorText(error) };
  }
}
