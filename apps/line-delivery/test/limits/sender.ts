// A process of its own that takes pushes of one account as fast as its limit lets it; prints when each was begun, in milliseconds of the epoch.
// node sender.ts <redis url> <milliseconds>
import { createInHand } from '../../src/in-hand.ts';
import { createAdmission } from '../../src/limits/admission.ts';
import { createSharedBuckets } from '../../src/limits/shared-buckets.ts';
import { silent } from './support.ts';

const [url, forMs] = process.argv.slice(2);
const { signal } = new AbortController();
const inHand = createInHand(200);
const buckets = createSharedBuckets({ url, replicas: 2, log: silent });
while (!buckets.isShared()) await new Promise((resolve) => setTimeout(resolve, 10));
const admit = createAdmission({ buckets, inHand });
const begun: number[] = [];
const until = performance.now() + Number(forMs);
const work = async () => {
  while (performance.now() < until) {
    const { slots } = await admit({ lineOaId: '77', endpoint: 'push' }, { atMost: 50, signal });
    for (let n = 0; n < slots; n += 1) {
      begun.push(performance.timeOrigin + performance.now());
      inHand.give();
    }
    if (slots === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }
};
await Promise.all(Array.from({ length: 5 }, work));
buckets.close();
process.stdout.write(JSON.stringify(begun));
