// Started by a test: consumes from the vhost of its argument and is killed while it handles its first message.
import { connectBroker } from '../src/index.ts';
import { ordersQueue, TEST_QUEUES } from './queues.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const broker = connectBroker({ url: String(process.argv[2]), appId: 'crashing', log: silent, queues: TEST_QUEUES });
const killSelf = () => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise<never>(() => {});
};
broker.consume(ordersQueue, killSelf, { concurrency: 1 });
