import type { Field } from '../http2/hpack.ts'

/** A request of XHTTP, a stream of bytes in ordinary HTTP requests. */
export type XhttpRequest =
  /** Its answer is what the client reads. */
  | { readonly kind: 'download'; readonly session: string }
  /** Its body is the part of what the client sends with this number. */
  | { readonly kind: 'packet'; readonly session: string; readonly seq: number }
  /** Its body is all that the client sends. */
  | { readonly kind: 'upload'; readonly session: string }
  /** Both in one request. */
  | { readonly kind: 'both' }

/** The longest body of a packet that clients send (`scMaxEachPostBytes`). */
export const maxPacketBytes = 1_000_000
/** Uploads that may come before the download (`scMaxBufferedPosts`). */
export const maxEarlyUploads = 30
/** Packets that may wait for the next one: as many as an HTTP/2 connection may have streams. */
export const maxPacketsAhead = 100
/** Characters of `x_padding` in a request and of `X-Padding` in an answer. */
const padding = { min: 100, max: 1000 }

const sessionPattern = /^[0-9A-Za-z_-]{1,64}$/

/** The first segment of a path, which names a device, and the others; without the query. */
export function splitPath(target: string): { readonly path: string; readonly rest: readonly string[] } {
  const [path = ''] = target.split('?', 1)
  const [, first = '', ...rest] = path.split('/')
  return { path: `/${first}`, rest }
}

/** The request of a path whose first segment is a device's. Undefined if it is none. */
export function readXhttpRequest(method: string, target: string, fields: readonly Field[]): XhttpRequest | undefined {
  if (!hasPadding(target, fields)) return undefined
  const [session = '', seqText, ...more] = splitPath(target).rest
  if (more.length > 0) return undefined
  if (session === '') return method === 'POST' && seqText === undefined ? { kind: 'both' } : undefined
  if (!sessionPattern.test(session)) return undefined
  if (method === 'GET') return seqText === undefined ? { kind: 'download', session } : undefined
  if (method !== 'POST') return undefined
  if (seqText === undefined) return { kind: 'upload', session }
  return /^(?:0|[1-9]\d{0,14})$/.test(seqText) ? { kind: 'packet', session, seq: Number(seqText) } : undefined
}

/** In the query of Referer, or in that of the path as earlier clients have it. */
function hasPadding(target: string, fields: readonly Field[]): boolean {
  const referer = fields.find(([name]) => name === 'referer')?.[1] ?? ''
  return [referer, target].some((text) => {
    const [, value = ''] = /[?&]x_padding=([^&#]*)/.exec(text) ?? []
    return value.length >= padding.min && value.length <= padding.max
  })
}

/** Fields of an answer, with padding of a random length; `random` is in [0, 1). */
export function toXhttpFields(random: () => number, hasBody: boolean): Field[] {
  const length = padding.min + Math.floor(random() * (padding.max - padding.min + 1))
  return [
    ['cache-control', 'no-store'],
    ['x-accel-buffering', 'no'],
    ['x-padding', 'X'.repeat(length)],
    ...(hasBody ? [['content-type', 'text/event-stream'] as const] : []),
  ]
}
