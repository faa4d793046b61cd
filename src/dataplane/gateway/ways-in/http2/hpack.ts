import { HuffmanDecoder } from './huffman.ts'

/** A header field; names are lower case. */
export type Field = readonly [name: string, value: string]

/** RFC 7541, appendix A. Index 1 is the first. */
const staticTable: readonly Field[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
]

/** RFC 7541, 4.1: each entry of the dynamic table counts 32 bytes more than its text. */
const entryOverhead = 32
/** The dynamic table that a decoder offers: the default of SETTINGS_HEADER_TABLE_SIZE. */
const tableBytes = 4096

const sizeOf = ([name, value]: Field): number => name.length + value.length + entryOverhead

/** The header block breaks RFC 7541 or a limit: the connection must end with COMPRESSION_ERROR. */
export class HpackError extends Error {}

/** Decoder of header blocks. It keeps the dynamic table of one connection. */
export class HpackDecoder {
  /** Newest first. */
  private dynamic: Field[] = []
  private size = 0
  private maxSize = tableBytes
  private block: Uint8Array = new Uint8Array(0)
  private at = 0

  /** Decodes a complete block. The dynamic table changes even if the caller refuses the fields. */
  decode(block: Uint8Array, maxListBytes: number): Field[] {
    this.block = block
    this.at = 0
    const fields: Field[] = []
    let listBytes = 0
    let isStart = true
    while (this.at < block.length) {
      const first = block[this.at] ?? 0
      if ((first & 0xe0) === 0x20) {
        // A size update is allowed only before the first field.
        if (!isStart) throw new HpackError('table size update after a field')
        this.resize(this.readInteger(5))
        continue
      }
      isStart = false
      const field = this.readField(first)
      listBytes += sizeOf(field)
      if (listBytes > maxListBytes) throw new HpackError('header list too large')
      fields.push(field)
    }
    return fields
  }

  private readField(first: number): Field {
    if (first & 0x80) return this.entry(this.readInteger(7))
    const isIndexed = (first & 0xc0) === 0x40
    const index = this.readInteger(isIndexed ? 6 : 4)
    const name = index === 0 ? this.readText() : this.entry(index)[0]
    const field: Field = [name, this.readText()]
    if (isIndexed) this.add(field)
    return field
  }

  private entry(index: number): Field {
    const known = index <= staticTable.length ? staticTable[index - 1] : this.dynamic[index - staticTable.length - 1]
    if (!known) throw new HpackError('unknown index')
    return known
  }

  private add(field: Field): void {
    this.dynamic.unshift(field)
    this.size += sizeOf(field)
    this.evict()
  }

  private resize(maxSize: number): void {
    if (maxSize > tableBytes) throw new HpackError('table size above the offer')
    this.maxSize = maxSize
    this.evict()
  }

  private evict(): void {
    while (this.size > this.maxSize) {
      const oldest = this.dynamic.pop()
      this.size -= oldest ? sizeOf(oldest) : this.size
    }
  }

  private nextByte(): number {
    const byte = this.block[this.at]
    if (byte === undefined) throw new HpackError('the block ends early')
    this.at += 1
    return byte
  }

  /** RFC 7541, 5.1. */
  private readInteger(prefixBits: number): number {
    const max = (1 << prefixBits) - 1
    let value = this.nextByte() & max
    if (value < max) return value
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.nextByte()
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new HpackError('integer too large')
  }

  /** RFC 7541, 5.2. */
  private readText(): string {
    const isHuffman = ((this.block[this.at] ?? 0) & 0x80) !== 0
    const length = this.readInteger(7)
    const end = this.at + length
    if (end > this.block.length) throw new HpackError('the block ends early')
    const bytes = this.block.subarray(this.at, end)
    this.at = end
    if (!isHuffman) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    const text = huffman.decode(bytes)
    if (text === undefined) throw new HpackError('bad Huffman code')
    return text
  }
}

const huffman = new HuffmanDecoder()

const staticIndexes = new Map(staticTable.map(([name, value], index) => [`${name}\0${value}`, index + 1]))
const staticNames = new Map(staticTable.map(([name], index): [string, number] => [name, index + 1]).toReversed())

function writeInteger(out: number[], value: number, prefixBits: number, flags: number): void {
  const max = (1 << prefixBits) - 1
  if (value < max) {
    out.push(flags | value)
    return
  }
  out.push(flags | max)
  let left = value - max
  while (left >= 0x80) {
    out.push((left & 0x7f) | 0x80)
    left >>>= 7
  }
  out.push(left)
}

function writeText(out: number[], text: string): void {
  const bytes = Buffer.from(text, 'latin1')
  writeInteger(out, bytes.length, 7, 0)
  out.push(...bytes)
}

/** Encodes fields without a dynamic table and without Huffman codes: an answer has few and short fields. */
export function encodeFields(fields: readonly Field[]): Uint8Array {
  const out: number[] = []
  for (const [name, value] of fields) {
    const index = staticIndexes.get(`${name}\0${value}`)
    if (index !== undefined && value !== '') writeInteger(out, index, 7, 0x80)
    else {
      const known = staticNames.get(name)
      writeInteger(out, known ?? 0, 4, 0)
      if (known === undefined) writeText(out, name)
      writeText(out, value)
    }
  }
  return Uint8Array.from(out)
}
