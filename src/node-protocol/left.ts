/** A hint of what is left, as JSON can carry it: nobody has more than this, so one that is cut short says as much. */
export const toLeft = (bytes: bigint): number =>
  bytes > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(bytes)
