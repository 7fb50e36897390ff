import type { Contestant, Standing } from '../measure/rounds.ts';
import { runRounds } from '../measure/rounds.ts';
import { openProduct, type Product } from '../product/product.ts';
import type { Stage } from '../product/stage.ts';
import type { BenchOptions } from '../scenario.ts';
import { openPeers, type Peers } from './peer-drains.ts';

/** Opens what the contestants run in, and closes it whatever happens. */
export async function withProduct(
  stage: Stage,
  options: BenchOptions & { readonly name: string; readonly accounts?: number },
  contestantsOf: (product: Product, peers: Peers | undefined) => readonly Contestant[] | Promise<readonly Contestant[]>,
): Promise<Standing[]> {
  const product = await openProduct(stage, { name: options.name, accounts: options.accounts ?? 1 });
  const peers = options.peers ? await openPeers(stage) : undefined;
  try {
    const contestants = await Promise.race([contestantsOf(product, peers), product.broken]);
    return await runRounds(contestants, { ...options, broken: [product.broken], tell: stage.tell });
  } finally {
    await peers?.close();
    await product.close();
  }
}
