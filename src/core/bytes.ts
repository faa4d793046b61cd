declare const unit: unique symbol

/** Traffic in bytes. */
export type Bytes = bigint & { readonly [unit]: 'bytes' }

/** A gigabyte as it is sold: decimal, 10^9 bytes. */
export const bytesInGigabyte = 1_000_000_000n

export function bytes(count: bigint): Bytes {
  if (count < 0n) throw new RangeError('a count of bytes cannot be negative')
  return count as Bytes
}

/** The JSON number of gigabytes; exact to the byte for anything below eight petabytes. */
export const toGigabytes = (count: Bytes): number => Number(count) / 1e9

/** The shop counts a report of faster interfaces as this: it bounds the bytes that a node can claim. */
export const maxInterfaceMegabits = 800_000
