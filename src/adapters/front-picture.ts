import { deflateSync } from 'node:zlib'
import { pngOf } from './png.ts'

const [width, height] = [1200, 630]
/** Shades from the accent to white. */
const shades = 16
const lineShade = 10

/** The drawing: a gate in the middle, and places that it connects. */
const centre = { x: 600, y: 315 }
const places = [
  { x: 190, y: 150 },
  { x: 150, y: 430 },
  { x: 330, y: 550 },
  { x: 880, y: 110 },
  { x: 1040, y: 300 },
  { x: 930, y: 520 },
] as const

/** The picture that messengers show beside a link to the shop: a drawing in the accent colour. */
export function drawFrontPicture(accent: string): Uint8Array {
  const pixels = new Uint8Array(width * height)
  for (const place of places) paintLine(pixels, place)
  for (const place of places) paintDisc(pixels, place.x, place.y, 26, shades - 1)
  paintDisc(pixels, centre.x, centre.y, 94, shades - 1)
  paintDisc(pixels, centre.x, centre.y, 66, 0)
  paintDisc(pixels, centre.x, centre.y, 26, shades - 1)
  const lines = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y += 1) lines.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1)
  return pngOf({ width, height, depth: 8, colourType: 3, palette: paletteOf(accent), packed: deflateSync(lines) })
}

function paletteOf(accent: string): Uint8Array {
  const colour = Number.parseInt(accent.slice(1), 16)
  return Uint8Array.from({ length: shades * 3 }, (_, at) => {
    const part = (colour >> (16 - 8 * (at % 3))) & 255
    return Math.round(part + ((255 - part) * Math.floor(at / 3)) / (shades - 1))
  })
}

/** A disc with a soft edge. Only the pixels around it are visited. */
function paintDisc(pixels: Uint8Array, x: number, y: number, radius: number, shade: number): void {
  const reach = Math.ceil(radius) + 1
  for (let row = Math.floor(y) - reach; row <= y + reach; row += 1) {
    for (let column = Math.floor(x) - reach; column <= x + reach; column += 1) {
      const ink = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(column - x, row - y)))
      const at = row * width + column
      const before = pixels[at] ?? 0
      if (ink > 0) pixels[at] = Math.round(before + (shade - before) * ink)
    }
  }
}

/** A line of discs from a place to the centre. */
function paintLine(pixels: Uint8Array, { x, y }: (typeof places)[number]): void {
  const steps = Math.ceil(Math.hypot(centre.x - x, centre.y - y) / 2)
  for (let step = 0; step <= steps; step += 1) {
    const share = step / steps
    paintDisc(pixels, x + (centre.x - x) * share, y + (centre.y - y) * share, 4, lineShade)
  }
}
