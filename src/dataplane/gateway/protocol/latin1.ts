/**
 * A character for each byte from `from` to `to`. Bun has it for every array of bytes and declares it for none; what is
 * declared would copy the array first.
 */
export const { latin1Slice } = Buffer.prototype as unknown as {
  readonly latin1Slice: (this: Uint8Array, from: number, to: number) => string
}
