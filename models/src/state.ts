/** `list` with the item at `index` replaced. */
export const replaced = <Item>(list: readonly Item[], index: number, item: Item): readonly Item[] =>
  list.map((old, at) => (at === index ? item : old));

/** A bag of messages in one order, because the order in which a queue is read is not promised. */
export const put = <Item>(bag: readonly Item[], item: Item): readonly Item[] =>
  [...bag, item].toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

/** The bag without its item at `index`. */
export const taken = <Item>(bag: readonly Item[], index: number): readonly Item[] =>
  bag.filter((_, at) => at !== index);

/** What is left of the bounds after one more of `what`. */
export const spend = <Left extends Readonly<Record<string, number>>>(left: Left, what: keyof Left): Left => ({
  ...left,
  [what]: Number(left[what]) - 1,
});

export const isUnique = (list: readonly unknown[]): boolean => new Set(list).size === list.length;
