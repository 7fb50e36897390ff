import { type LogicalSend, retryKey } from '@dueline/deliveries';
import { expect, test } from 'vitest';

const VECTORS: [string, string][] = [
  ['lrk1/2000000001/campaign/42/1/multicast/0/', 'dc0c9433-63d6-8f8b-a3a4-9ee5d108b038'],
  ['lrk1/2000000001/campaign/42/1/multicast/1/', '94bdbfec-2a88-8774-85c4-322725c5bbaa'],
  ['lrk1/2000000001/campaign/42/1/multicast/1/0', 'd7d8f400-6aaa-8901-a348-62ef8610de08'],
  ['lrk1/2000000001/campaign/42/2/multicast/0/', '91246ec2-91d4-8b14-8c54-afac1613b691'],
  ['lrk1/2000000001/campaign/42/1/broadcast/0/', '3f237171-3de8-8849-8683-a24c220b80ec'],
  ['lrk1/2000000001/action/9001/1/push/0/', '0efc4a9e-f64e-82da-bcf1-5ba8a6942ec6'],
];

function parse(name: string): LogicalSend {
  const [, channelId = '', kind, logicalId = '', epoch, endpoint, ordinal, splitPath = ''] = name.split('/');
  return {
    channelId,
    kind,
    logicalId,
    epoch: Number(epoch),
    endpoint,
    ordinal: Number(ordinal),
    splitPath,
  } as LogicalSend;
}

test.for(VECTORS)('the key of %s is the published one', ([name, key]) => {
  expect(retryKey(parse(name))).toBe(key);
});

test('a test of a campaign never has a key of the campaign, nor of another test', () => {
  const campaign = parse('lrk1/2000000001/campaign/42/1/push/0/');
  const tests = ['42', '42:one', '42:two'].map((logicalId) => ({ ...campaign, kind: 'test' as const, logicalId }));
  expect(new Set([campaign, ...tests].map(retryKey)).size).toBe(4);
});

test.for(['channelId', 'logicalId', 'splitPath'] as const)(
  'a slash in %s is refused, because two sends could share a name',
  (field) => {
    const send = { ...parse(VECTORS[0]?.[0] ?? ''), [field]: '1/2' };
    expect(() => retryKey(send)).toThrow('slash');
  },
);
