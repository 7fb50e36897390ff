import { BlockList, isIP } from 'node:net';

/** Networks of IPv4 that are nobody's on the internet, or somebody's inside. Source: IANA IPv4 Special-Purpose Address Registry. */
const NOT_PUBLIC_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16], // link-local, with the metadata services of clouds
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
/** All that is public of IPv6 lies in here: so nothing that maps, embeds or translates an address of IPv4, no local and no multicast one. */
const PUBLIC_IPV6 = ['2000::', 3] as const;
/** Except for these. Source: IANA IPv6 Special-Purpose Address Registry. */
const NOT_PUBLIC_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23], // protocol assignments, Teredo among them, which embeds an address of IPv4
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4, which embeds an address of IPv4
  ['3fff::', 20],
];

const notPublicV4 = new BlockList();
for (const [network, prefix] of NOT_PUBLIC_IPV4) notPublicV4.addSubnet(network, prefix, 'ipv4');
const publicV6 = new BlockList();
publicV6.addSubnet(...PUBLIC_IPV6, 'ipv6');
const notPublicV6 = new BlockList();
for (const [network, prefix] of NOT_PUBLIC_IPV6) notPublicV6.addSubnet(network, prefix, 'ipv6');
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');

/** Whether an IP address, as text, is one of the public internet. What is no address is none. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !notPublicV4.check(address, 'ipv4');
    case 6:
      return publicV6.check(address, 'ipv6') && !notPublicV6.check(address, 'ipv6');
    default:
      return false;
  }
}

/** Whether an IP address, as text, is this very machine's, of IPv4 or IPv6; one that maps IPv4 into IPv6 is not. */
export function isLoopbackAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return loopback.check(address, 'ipv4');
    case 6:
      return address === '::1';
    default:
      return false;
  }
}
