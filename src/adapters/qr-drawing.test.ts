import { describe, expect, test } from 'bun:test'
import { inflateSync } from 'node:zlib'
import { decodeQR } from 'qr/decode.js'
import { drawing } from './qr-drawing.ts'

const text = `[Interface]\nPrivateKey = ${'A'.repeat(43)}=\nAddress = 10.66.0.2/32\n\n[Peer]\nEndpoint = [2001:db8::1]:443\n# устройство\n`

/** A bitmap with 8 × 8 pixels per module, as the QR decoder expects it. */
function toPicture(size: number, isDark: (x: number, y: number) => boolean) {
  const scale = 8
  const data = new Uint8ClampedArray(size * scale * size * scale * 4).fill(255)
  for (let y = 0; y < size * scale; y += 1) {
    for (let x = 0; x < size * scale; x += 1) {
      if (isDark(Math.floor(x / scale), Math.floor(y / scale)))
        data.fill(0, (y * size * scale + x) * 4, (y * size * scale + x) * 4 + 3)
    }
  }
  return { width: size * scale, height: size * scale, data }
}

describe('QR codes', () => {
  test('drawing.png makes a PNG with valid checksums whose pixels decode to the text', () => {
    const png = Buffer.from(drawing.png(text))
    expect(png.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a')
    const width = png.readUInt32BE(16)
    let at = 8
    let packed = Buffer.alloc(0)
    while (at < png.length) {
      const length = png.readUInt32BE(at)
      const body = png.subarray(at + 4, at + 8 + length)
      expect(png.readUInt32BE(at + 8 + length)).toBe(Bun.hash.crc32(body))
      if (body.subarray(0, 4).toString() === 'IDAT') packed = Buffer.concat([packed, body.subarray(4)])
      at += 12 + length
    }
    const lines = inflateSync(packed)
    const lineBytes = Math.ceil(width / 8) + 1
    const picture = toPicture(width / 8, (x, y) => {
      const pixel = x * 8
      return ((lines[y * 8 * lineBytes + 1 + (pixel >> 3)] ?? 0) & (128 >> (pixel & 7))) === 0
    })
    expect(decodeQR(picture)).toBe(text)
  })

  test('drawing.svg makes an SVG without external resources whose rectangles decode to the text', () => {
    const svg = drawing.svg(text)
    expect(svg).not.toMatch(/href|style|script|url\(/)
    const size = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1])
    const dark = new Set<string>()
    for (const [, x, y, length] of svg.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
      for (let step = 0; step < Number(length); step += 1) dark.add(`${Number(x) + step} ${y}`)
    }
    expect(decodeQR(toPicture(size, (x, y) => dark.has(`${x} ${y}`)))).toBe(text)
  })

  test('drawing.terminal prints two rows of modules per line', () => {
    const lines = drawing.terminal(text).trimEnd().split('\n')
    const widths = new Set(lines.map((line) => line.length))
    expect([...widths].map((width) => Math.ceil(width / 2))).toEqual([lines.length])
  })
})
