import { type LookupAddress, promises } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isLoopbackAddress, isPublicAddress } from './address.ts';

/** The addresses of a host. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** Where a webhook must not go: what the URL names, or what its host resolves to, is none of the internet's. */
export class ForbiddenTargetError extends Error {
  override readonly name = 'ForbiddenTargetError';
}

/** Also those of a host that has several: who could choose which of them is taken, could choose a forbidden one. */
const resolveByDns: Resolve = (host) => promises.lookup(host, { all: true });

/** What may be connected to. */
export interface Reachable {
  /** For tests: this machine may be called too, without TLS. */
  readonly allowLoopback: boolean;
  readonly resolve?: Resolve | undefined;
}

const isAllowed = (address: string, { allowLoopback }: Reachable): boolean =>
  isPublicAddress(address) || (allowLoopback && isLoopbackAddress(address));

/** The origin and path to call. @throws ForbiddenTargetError when the URL, as it is written, names what is forbidden. */
export function targetOf(text: string, reachable: Reachable): { readonly origin: string; readonly path: string } {
  const url = URL.parse(text);
  if (url === null) throw new ForbiddenTargetError('it is no URL');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1'); // of IPv6
  const isLocal = reachable.allowLoopback && (host === 'localhost' || isLoopbackAddress(host));
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal))
    throw new ForbiddenTargetError('it is not https');
  // A connection to an address asks nobody for it, so that nobody would refuse it later.
  if (isIP(host) !== 0 && !isAllowed(host, reachable)) throw new ForbiddenTargetError('its address is not public');
  return { origin: url.origin, path: `${url.pathname}${url.search}` };
}

/**
 * Connects to allowed addresses only. They are looked at when the connection is made, all that the host has at that moment, and the one
 * that was connected to afterwards: a name that means something else by then gains nothing.
 */
export function guardedConnector(reachable: Reachable, timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ lookup: guardedLookup(reachable), timeout: timeoutMs });
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      if (isAllowed(socket.remoteAddress ?? '', reachable)) return callback(null, socket);
      socket.destroy();
      callback(new ForbiddenTargetError('its address is not public'), null);
    });
}

function guardedLookup(reachable: Reachable): LookupFunction {
  const { resolve = resolveByDns } = reachable;
  return (host, { all }, callback) => {
    resolve(host).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined || !addresses.every(({ address }) => isAllowed(address, reachable)))
          return callback(new ForbiddenTargetError('its host has an address that is not public'), []);
        if (all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}
