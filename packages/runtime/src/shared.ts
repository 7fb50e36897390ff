/**
 * `ask`, but whoever asks while an answer is on its way gets that one: gauges that are read at one scrape share a query, and each
 * shows what is true now.
 */
export function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | undefined;
  return () => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}
