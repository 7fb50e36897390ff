type Numbers = Float64Array | Uint32Array | Uint8Array;

/** A growing list of numbers at their bare size; a million receipts as objects would not fit. */
export interface Column {
  readonly length: number;
  push(value: number): void;
  /** 0 beyond the end. */
  get(index: number): number;
  set(index: number, value: number): void;
}

const FIRST_CAPACITY = 1_024;

export const float64Column = (): Column => column((capacity) => new Float64Array(capacity));
export const uint32Column = (): Column => column((capacity) => new Uint32Array(capacity));
export const uint8Column = (): Column => column((capacity) => new Uint8Array(capacity));

function column(allocate: (capacity: number) => Numbers): Column {
  let values = allocate(FIRST_CAPACITY);
  let length = 0;
  return {
    get length() {
      return length;
    },
    push(value) {
      if (length === values.length) {
        const larger = allocate(length * 2);
        larger.set(values);
        values = larger;
      }
      values[length++] = value;
    },
    get: (index) => values[index] ?? 0,
    set(index, value) {
      values[index] = value;
    },
  };
}

/** A growing list of digests of one width. */
export interface DigestColumn {
  set(index: number, digest: Uint8Array): void;
  hex(index: number): string;
  equal(left: number, right: number): boolean;
}

export function digestColumn(width: number): DigestColumn {
  let bytes = Buffer.alloc(FIRST_CAPACITY * width);
  const at = (index: number) => bytes.subarray(index * width, (index + 1) * width);
  return {
    set(index, digest) {
      while ((index + 1) * width > bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(bytes.length)]);
      bytes.set(digest, index * width);
    },
    hex: (index) => at(index).toString('hex'),
    equal: (left, right) => at(left).equals(at(right)),
  };
}
