import { deflateSync } from 'node:zlib'
import { encodeQR } from 'qr'
import type { Drawing } from '../domains/vpn/ports.ts'
import { pngOf } from './png.ts'

/** The lowest error correction gives fewer and larger modules, which suits a screen. */
const options = { ecc: 'low', border: 4 } as const
/** Pixels of a module's side in a PNG. */
const scale = 8

export const drawing: Drawing = {
  svg(text) {
    const rows = encodeQR(text, 'raw', options)
    const size = rows.length
    const path = rows.flatMap((row, y) =>
      runsOf(row).map(({ from, length }) => `M${from} ${y}h${length}v1h-${length}z`),
    )
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">` +
      `<path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${path.join('')}"/></svg>`
    )
  },

  png: (text) => toPng(encodeQR(text, 'raw', options)),

  terminal: (text) => encodeQR(text, 'ascii', { ...options, border: 2 }),
}

/** The runs of dark modules of a row. */
function runsOf(row: readonly boolean[]): { from: number; length: number }[] {
  const runs: { from: number; length: number }[] = []
  for (let at = 0; at < row.length; at += 1) {
    if (!row[at]) continue
    const last = runs.at(-1)
    if (last && last.from + last.length === at) last.length += 1
    else runs.push({ from: at, length: 1 })
  }
  return runs
}

/** PNG (ISO/IEC 15948): one bit a pixel, grey, no filter. */
function toPng(rows: readonly (readonly boolean[])[]): Uint8Array {
  const size = rows.length * scale
  const lineBytes = Math.ceil(size / 8)
  const lines = Buffer.alloc((lineBytes + 1) * size)
  for (let y = 0; y < size; y += 1) {
    const row = rows[Math.floor(y / scale)] ?? []
    for (let x = 0; x < size; x += 1) {
      // A set bit is white; the first byte of a line names its filter, which is none.
      const at = y * (lineBytes + 1) + 1 + (x >> 3)
      if (!row[Math.floor(x / scale)]) lines[at] = (lines[at] ?? 0) | (128 >> (x & 7))
    }
  }
  return pngOf({ width: size, height: size, depth: 1, colourType: 0, packed: deflateSync(lines) })
}
