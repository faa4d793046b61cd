/**
 * Code lengths in bits of the symbols 0 to 255 and of the end of string, from RFC 7541, appendix B, as runs of length
 * and count. The code is canonical, so the lengths define it.
 */
const runs =
  '13 1,23 1,28 7,24 1,30 1,28 2,30 1,28 8,30 1,28 9,6 1,10 2,12 1,13 1,6 1,8 1,11 1,10 2,8 1,11 1,8 1,6 3,5 3,' +
  '6 7,7 1,8 1,15 1,6 1,12 1,10 1,13 1,6 1,7 22,8 1,7 1,8 1,13 1,19 1,13 1,14 1,6 1,15 1,5 1,6 1,5 1,6 1,5 1,' +
  '6 3,5 1,7 2,6 3,5 1,6 1,7 1,6 1,5 2,6 1,7 5,15 1,11 1,14 1,13 1,28 1,20 1,22 1,20 2,22 3,23 1,22 1,23 5,' +
  '24 1,23 1,24 2,22 1,23 1,24 1,23 4,21 1,22 1,23 1,22 1,23 2,24 1,22 1,21 1,20 1,22 2,23 2,21 1,23 1,22 2,' +
  '24 1,21 1,22 1,23 2,21 2,22 1,21 1,23 1,22 1,23 2,20 1,22 3,23 1,22 2,23 1,26 2,20 1,19 1,22 1,23 1,22 1,' +
  '25 1,26 3,27 2,26 1,24 1,25 1,19 1,21 1,26 1,27 2,26 1,27 1,24 1,21 2,26 2,28 1,27 3,20 1,24 1,20 1,21 1,' +
  '22 1,21 2,23 1,22 2,25 2,24 2,26 1,23 1,26 1,27 1,26 2,27 5,28 1,27 5,26 1,30 1'

const endOfString = 256
const maxBits = 30

function readLengths(): number[] {
  return runs.split(',').flatMap((run) => {
    const [length = 0, count = 0] = run.split(' ').map(Number)
    return Array.from({ length: count }, () => length)
  })
}

/** Decoder of the canonical Huffman code of HPACK. */
export class HuffmanDecoder {
  /** Symbols by code length, then by value: the order of their codes. */
  private readonly symbols: number[] = []
  /** For each length, its first code and the index of that code's symbol. */
  private readonly firstCode: number[] = []
  private readonly firstIndex: number[] = []
  private readonly counts: number[] = []

  constructor() {
    const lengths = readLengths()
    let code = 0
    for (let length = 1; length <= maxBits; length += 1) {
      code *= 2
      this.firstCode[length] = code
      this.firstIndex[length] = this.symbols.length
      for (const [symbol, bits] of lengths.entries()) if (bits === length) this.symbols.push(symbol)
      const count = this.symbols.length - (this.firstIndex[length] ?? 0)
      this.counts[length] = count
      code += count
    }
  }

  /** The text as Latin-1; undefined if the code or its padding is wrong (RFC 7541, 5.2). */
  decode(bytes: Uint8Array): string | undefined {
    const out: number[] = []
    let code = 0
    let length = 0
    for (const byte of bytes) {
      for (let bit = 7; bit >= 0; bit -= 1) {
        code = code * 2 + ((byte >> bit) & 1)
        length += 1
        if (length > maxBits) return undefined
        const offset = code - (this.firstCode[length] ?? 0)
        if (offset >= (this.counts[length] ?? 0)) continue
        const symbol = this.symbols[(this.firstIndex[length] ?? 0) + offset] ?? endOfString
        if (symbol === endOfString) return undefined
        out.push(symbol)
        code = 0
        length = 0
      }
    }
    // Padding is the start of the end of string: at most seven ones.
    if (length > 7 || code !== (1 << length) - 1) return undefined
    return Buffer.from(out).toString('latin1')
  }
}
