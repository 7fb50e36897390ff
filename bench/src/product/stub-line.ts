import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What a stub of LINE has taken. */
interface Taken {
  readonly requests: number;
  /** Different retry keys. */
  readonly accepted: number;
  /** People of the requests that it accepted. */
  readonly recipients: number;
}

export interface StubLine {
  readonly url: string;
  readonly pid: number;
  taken(): Promise<Taken>;
  stop(): Promise<void>;
}

/** Starts a multicast endpoint that answers each request after `latencyMs`, in a process of its own. It ends when this process does. */
export async function startStubLine(latencyMs: number): Promise<StubLine> {
  const child = fork(fileURLToPath(new URL('stub-main.ts', import.meta.url)), [String(latencyMs)], { execArgv: [] });
  const [port] = await once(child, 'message');
  const url = `http://127.0.0.1:${String(port)}`;
  return {
    url,
    pid: child.pid ?? 0,
    taken: async () => (await (await fetch(`${url}/stub`)).json()) as Taken,
    stop: async () => {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
}
