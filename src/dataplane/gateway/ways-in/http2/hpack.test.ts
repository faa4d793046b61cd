import { describe, expect, test } from 'bun:test'
import { encodeFields, type Field, HpackDecoder, HpackError } from './hpack.ts'
import { HuffmanDecoder } from './huffman.ts'

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')
const large = 100_000

describe('HpackDecoder', () => {
  // RFC 7541, C.4 and C.6: three blocks on one connection.
  const requests = [
    ['8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff', 'www.example.com', undefined],
    ['8286 84be 5886 a8eb 1064 9cbf', 'www.example.com', ['cache-control', 'no-cache']],
    ['8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf', 'www.example.com', ['custom-key', 'custom-value']],
  ] as const

  test('the three requests of RFC 7541, C.4, use the dynamic table', () => {
    const decoder = new HpackDecoder()
    for (const [block, authority, last] of requests) {
      const fields = decoder.decode(hex(block), large)
      expect(fields.find(([name]) => name === ':authority')?.[1]).toBe(authority)
      if (last) expect(fields.at(-1)).toEqual([...last])
    }
  })

  test('an entry that is larger than the dynamic table empties it', () => {
    const decoder = new HpackDecoder()
    const literal = (name: string, value: string) =>
      Buffer.concat([Uint8Array.of(0x40, name.length), Buffer.from(name), integer(value.length), Buffer.from(value)])
    decoder.decode(literal('a', 'b'), large)
    expect(decoder.decode(Uint8Array.of(0xbe), large)).toEqual([['a', 'b']])
    decoder.decode(literal('c', 'd'.repeat(5000)), large)
    expect(() => decoder.decode(Uint8Array.of(0xbe), large)).toThrow(HpackError)
  })

  const broken = [
    ['index 0', '80'],
    ['an unknown index', 'be'],
    ['an integer of six bytes', 'ff ff ff ff ff ff 01'],
    ['a text beyond the block', '40 05 61'],
    ['a table size update after a field', '82 20'],
    ['a table of 8,192 bytes', '3f e1 3f'],
    ['a Huffman code of eight ones of padding', '40 82 ff ff 00'],
  ] as const
  for (const [name, block] of broken)
    test(`${name} is refused`, () => {
      expect(() => new HpackDecoder().decode(hex(block), large)).toThrow(HpackError)
    })

  test('a header list above the limit is refused', () => {
    const block = Buffer.concat([Uint8Array.of(0x40, 1, 97, 1, 98), new Uint8Array(1000).fill(0xbe)])
    expect(new HpackDecoder().decode(block, 34 * 1001)).toHaveLength(1001)
    expect(() => new HpackDecoder().decode(block, 34 * 1001 - 1)).toThrow(HpackError)
  })

  test('encodeFields is decoded to the same fields, in 500 random lists', () => {
    const draw = (max: number): number => Math.floor(Math.random() * max)
    const names = [':status', ':method', 'accept', 'x-long-name', 'proxy-authorization']
    for (let round = 0; round < 500; round += 1) {
      const fields = Array.from({ length: draw(8) }, (): Field => {
        const value = Array.from({ length: draw(300) }, () => String.fromCharCode(33 + draw(200))).join('')
        return [names[draw(names.length)] ?? '', draw(3) === 0 ? '200' : value]
      })
      expect(new HpackDecoder().decode(encodeFields(fields), large)).toEqual(fields)
    }
  })
})

describe('HuffmanDecoder', () => {
  test('its code is complete: the lengths of all 257 codes add up to 1', () => {
    const decoder = new HuffmanDecoder() as unknown as { readonly counts: readonly number[] }
    expect(decoder.counts.reduce((sum, count, length) => sum + (count ?? 0) * 2 ** -length, 0)).toBe(1)
  })

  test('padding other than ones, or of more than seven bits, is refused', () => {
    const decoder = new HuffmanDecoder()
    expect(decoder.decode(hex('1f'))).toBe('a')
    expect(decoder.decode(hex('18'))).toBeUndefined()
    expect(decoder.decode(hex('1f ff'))).toBeUndefined()
  })
})

/** A length in the prefix of seven bits. */
function integer(value: number): Uint8Array {
  if (value < 127) return Uint8Array.of(value)
  const left = value - 127
  return left < 128 ? Uint8Array.of(127, left) : Uint8Array.of(127, (left & 127) | 128, left >> 7)
}
