import type { Broker } from '@dueline/mq';

type Publishes = Pick<Broker, 'publish' | 'state'>;

/**
 * For crash points between publish and confirm: a broker that calls `onWritten` as soon as the bytes of a publish are with
 * the kernel. A confirm takes a round trip, so it is not read by then; whether the broker gets the bytes of a process that
 * dies now is open, as in any real crash. The broker itself when there is no `onWritten`.
 */
export function tellWhenWritten(broker: Publishes, onWritten: (() => void) | undefined): Publishes {
  if (onWritten === undefined) return broker;
  return {
    state: () => broker.state(),
    publish: (queue, messages) => {
      const publishing = broker.publish(queue, messages);
      // The AMQP client writes to its socket in an immediate of its own, which was asked for before the inner one here.
      if (messages.length > 0) setImmediate(() => setImmediate(onWritten));
      return publishing;
    },
  };
}
