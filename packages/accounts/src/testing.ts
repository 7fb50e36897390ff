import { randomInt } from 'node:crypto';

/** What an account is made of, with a channel id that no other has. */
export function lineOaDraft(organizationId: string, secretsKey: Buffer) {
  return {
    organizationId,
    secretsKey,
    channelId: String(randomInt(1, 2 ** 47)),
    name: 'account',
    timezone: 'Asia/Tokyo',
    channelAccessToken: 'channel-access-token',
  };
}
