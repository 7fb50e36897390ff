import { envelope, QUEUES } from '@dueline/contracts';

/** A message as a queue held it; its body in base64, because one kind is empty. */
export interface Sample {
  readonly queue: string;
  readonly body: string;
}

/** Which of these messages the consumers of this code would not read, and why. */
export function unreadable(samples: readonly Sample[]): string[] {
  return samples.flatMap((sample) => {
    const problem = problemOf(sample);
    return problem === undefined ? [] : [`${sample.queue}: ${problem}`];
  });
}

function problemOf({ queue: name, body }: Sample): string | undefined {
  const queue = QUEUES.find((one) => one.name === name);
  if (queue === undefined) return 'there is no such queue';
  if (queue.tick !== undefined) return body === '' ? undefined : 'a tick is empty';
  const outer = envelope.safeParse(JSON.parse(Buffer.from(body, 'base64').toString('utf8')));
  if (!outer.success) return outer.error.message;
  if (outer.data.version > queue.version) return `version ${outer.data.version} is later than ${queue.version}`;
  return queue.data.safeParse(outer.data.data).error?.message;
}
