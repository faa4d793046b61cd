export type Dice = (sides: number) => number

/** Mulberry32. A failure prints its seed, and the seed reproduces it. */
export function createDice(seed: number): Dice {
  let state = seed
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides
  }
}

/** Tokens that break parsers: line ends, separators, framing fields, and very long text. */
export const tokens = ['\r\n', '\n', '\r', '\0', ' ', '\t', ':', ';', ',', '0', '\xff', '%', '@', '[', ']', '99999999']
  .concat('chunked', 'Content-Length: 5\r\n', 'Host: b\r\n', 'Transfer-Encoding: chunked\r\n', '\r\n\r\n')
  .concat('HTTP/1.1', '\x05\x01\0', 'a'.repeat(300))
  .map((text) => Buffer.from(text, 'latin1'))

/** A valid input changed in a few places, which reaches deeper than random bytes; one time in ten, random bytes. */
export function mutate(seeds: readonly Uint8Array[], dice: Dice): Uint8Array {
  if (dice(10) === 0) return Uint8Array.from({ length: dice(200) }, () => dice(256))
  let bytes = seeds[dice(seeds.length)] ?? new Uint8Array(0)
  for (let count = 1 + dice(4); count > 0; count -= 1) bytes = mutateOnce(bytes, seeds, dice)
  return bytes
}

function mutateOnce(bytes: Uint8Array, seeds: readonly Uint8Array[], dice: Dice): Uint8Array {
  const at = dice(bytes.length + 1)
  const to = Math.min(bytes.length, at + dice(12))
  const other = seeds[dice(seeds.length)] ?? bytes
  const between = [
    () => Uint8Array.of(dice(256)),
    () => tokens[dice(tokens.length)] ?? bytes,
    () => bytes.slice(dice(at + 1), at),
    () => other.slice(dice(other.length)),
    () => new Uint8Array(0),
  ][dice(5)]?.()
  const isReplaced = dice(2) === 0
  return Buffer.concat([bytes.slice(0, at), between ?? bytes, bytes.slice(isReplaced ? to : at)])
}
