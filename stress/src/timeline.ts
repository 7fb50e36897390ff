import { sleep } from '@dueline/kernel';

/** Something that happens so many milliseconds after the beginning. */
export interface Scene {
  readonly atMs: number;
  /** The signal aborts when all shall end early. */
  readonly play: (signal: AbortSignal) => Promise<void>;
}

/**
 * Plays every lane beside the others, and the scenes of a lane one after the other: at their time, or as soon as the scene before is
 * over. Resolves when all is played, or when `interrupted` aborts, with the milliseconds by which the latest scene was behind its time.
 *
 * @throws What the first scene throws that fails.
 */
export async function playLanes(lanes: readonly (readonly Scene[])[], interrupted: AbortSignal): Promise<number> {
  const begin = performance.now();
  const failed = new AbortController();
  let behindMs = 0;
  const signal = AbortSignal.any([failed.signal, interrupted]);
  const playLane = async (scenes: readonly Scene[]): Promise<void> => {
    for (const { atMs, play } of scenes) {
      await sleep(Math.max(0, atMs - (performance.now() - begin)), signal);
      if (signal.aborted) return;
      behindMs = Math.max(behindMs, performance.now() - begin - atMs);
      await play(signal);
    }
  };
  await Promise.all(
    lanes.map((lane) =>
      playLane(lane).catch((error: unknown) => {
        failed.abort();
        throw error;
      }),
    ),
  );
  return Math.round(behindMs);
}
