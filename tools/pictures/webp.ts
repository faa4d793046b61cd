/** One picture of a moving one: a still WebP file, and how long it is shown. */
export type Frame = { readonly webp: Uint8Array; readonly ms: number }

/** A number in three bytes, least significant first. */
const three = (value: number): readonly number[] => [value & 255, (value >> 8) & 255, (value >> 16) & 255]
const four = (value: number): readonly number[] => [...three(value), (value >>> 24) & 255]
const ascii = (text: string): readonly number[] => [...new TextEncoder().encode(text)]

/** A chunk of RIFF: its name, its length, its content, and a byte that makes the length even. */
function chunk(name: string, content: Uint8Array): Uint8Array {
  return Buffer.concat([
    Uint8Array.from([...ascii(name), ...four(content.length)]),
    content,
    new Uint8Array(content.length % 2),
  ])
}

/** The chunks of a still file that hold its pixels. */
function pixelsOf(webp: Uint8Array): Uint8Array {
  const file = Buffer.from(webp)
  const found: Uint8Array[] = []
  for (let at = 12; at + 8 <= file.length; ) {
    const name = file.toString('latin1', at, at + 4)
    const length = file.readUInt32LE(at + 4)
    const end = at + 8 + length + (length % 2)
    if (['VP8 ', 'VP8L', 'ALPH'].includes(name)) found.push(file.subarray(at, end))
    at = end
  }
  return Buffer.concat(found)
}

/** An animated WebP of still ones of one size, which repeats for ever (RFC 9649). */
export function toMovingWebp(frames: readonly Frame[], width: number, height: number): Uint8Array {
  const size = [...three(width - 1), ...three(height - 1)]
  const isAnimated = 2
  const parts = [
    chunk('VP8X', Uint8Array.from([isAnimated, 0, 0, 0, ...size])),
    chunk('ANIM', new Uint8Array(6)),
    ...frames.map(({ webp, ms }) => {
      const head = Uint8Array.from([...three(0), ...three(0), ...size, ...three(ms), 2])
      return chunk('ANMF', Buffer.concat([head, pixelsOf(webp)]))
    }),
  ]
  return chunk('RIFF', Buffer.concat([Uint8Array.from(ascii('WEBP')), ...parts]))
}
