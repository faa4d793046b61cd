import { crc32 } from 'node:zlib'

type Png = {
  readonly width: number
  readonly height: number
  /** Bits of a sample. */
  readonly depth: 1 | 8
  /** 0 is grey, 3 has a palette. */
  readonly colourType: 0 | 3
  readonly palette?: Uint8Array
  /** Lines, each after a byte for its filter, deflated. */
  readonly packed: Uint8Array
}

/** A PNG file (ISO/IEC 15948) of packed lines. */
export function pngOf({ width, height, depth, colourType, palette, packed }: Png): Uint8Array {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = depth
  head[9] = colourType
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    ...(palette ? [chunk('PLTE', palette)] : []),
    chunk('IDAT', packed),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, content: Uint8Array): Uint8Array {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const frame = Buffer.alloc(body.length + 8)
  frame.writeUInt32BE(content.length, 0)
  body.copy(frame, 4)
  frame.writeUInt32BE(crc32(body), body.length + 4)
  return frame
}
