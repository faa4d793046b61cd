declare const unit: unique symbol

/** Traffic in bytes. */
export type Bytes = bigint & { readonly [unit]: 'bytes' }

/** A gigabyte as it is sold: decimal, 10^9 bytes. */
export const bytesInGigabyte = 1_000_000_000n

export function bytes(count: bigint): Bytes {
  if (count < 0n) throw new RangeError('a count of bytes cannot be negative')
  return count as Bytes
}

/** Reads gigabytes in steps of 0.1. Undefined for a finer step: `0.15` is refused, not rounded. */
export function readGigabytes(gigabytes: number): Bytes | undefined {
  const tenths = gigabytes * 10
  const nearest = Math.round(tenths)
  if (!Number.isSafeInteger(nearest) || nearest < 0 || nearest / 10 !== gigabytes) return undefined
  return bytes((BigInt(nearest) * bytesInGigabyte) / 10n)
}

/** The JSON number of gigabytes; exact to the byte for anything below eight petabytes. */
export const toGigabytes = (count: Bytes): number => Number(count) / 1e9
