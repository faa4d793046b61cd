import type { Field } from '../http2/hpack.ts'

/** RFC 6455, 1.3. */
const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

export type WebSocketUpgrade = {
  /** Of the answer. */
  readonly fields: readonly Field[]
  /** The first bytes of the stream, which the client sends as a protocol's name. */
  readonly early: Uint8Array
}

/** RFC 6455, 4.2.1. Undefined if the request is no upgrade. Fields are in lower case. */
export function readUpgrade(
  method: string,
  valuesOf: (name: string) => readonly string[],
  sha1: (text: string) => Uint8Array,
): WebSocketUpgrade | undefined {
  const has = (name: string, token: string): boolean =>
    valuesOf(name).some((value) =>
      value
        .toLowerCase()
        .split(',')
        .some((each) => each.trim() === token),
    )
  const [key = ''] = valuesOf('sec-websocket-key')
  if (method !== 'GET' || !has('upgrade', 'websocket') || !has('connection', 'upgrade')) return undefined
  if (valuesOf('sec-websocket-version')[0] !== '13' || !/^[A-Za-z0-9+/]{22}==$/.test(key)) return undefined
  const fields: Field[] = [
    ['upgrade', 'websocket'],
    ['connection', 'Upgrade'],
    ['sec-websocket-accept', sha1(`${key}${guid}`).toBase64()],
  ]
  const [protocol = ''] = valuesOf('sec-websocket-protocol')
  const early = readEarly(protocol)
  if (early.length > 0) fields.push(['sec-websocket-protocol', protocol])
  return { fields, early }
}

/** Base64 of either alphabet, with or without padding; nothing if it is another text. */
function readEarly(text: string): Uint8Array {
  const clean = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  if (clean === '' || !/^[A-Za-z0-9+/]+$/.test(clean)) return new Uint8Array(0)
  return new Uint8Array(Buffer.from(clean, 'base64'))
}
