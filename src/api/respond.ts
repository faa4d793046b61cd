import { apiHeaders } from './answers.ts'
import type { Answered } from './bind.ts'
import { languageOf } from './language.ts'
import type { Operation } from './operation.ts'

/** A shorter body is sent as it is: compressing it saves no packet. */
const minCompressedBytes = 1024

/** An answer before it is fitted to what its client accepts. */
type Written = { readonly status: number; readonly headers: Headers; readonly body: string }

/** Whether an encoding is among the accepted ones, and not with the weight of nothing (RFC 9110, 12.5.3). */
export const isAccepted = (accepted: string, coding: string): boolean =>
  accepted.split(',').some((each) => {
    const [name, weight = ''] = each.split(';')
    return name?.trim() === coding && !/^\s*q=0(?:\.0*)?\s*$/.test(weight)
  })

/** The entity tag of a body. It is sent as a weak one, because it names the plain and the compressed form. */
const tagOf = (body: string | Uint8Array): string => `"${Bun.hash(body).toString(36)}"`

/** Whether the client has the answer with this tag already (RFC 9110, 13.1.2). */
function isKnown(requestHeaders: Headers, tag: string): boolean {
  const known = requestHeaders.get('if-none-match')
  if (known === null) return false
  const tags = known.split(',').map((each) => each.trim().replace(/^W\//, ''))
  return tags.includes(tag) || tags.includes('*')
}

/** An answer with gzip, where it has 1 KiB or more and the client accepts that. No other request waits for the work. */
async function compressed(requestHeaders: Headers, { status, headers, body }: Written): Promise<Response> {
  if (Buffer.byteLength(body) < minCompressedBytes) return new Response(body, { status, headers })
  headers.append('Vary', 'Accept-Encoding')
  if (!isAccepted(requestHeaders.get('accept-encoding') ?? '', 'gzip')) return new Response(body, { status, headers })
  headers.set('Content-Encoding', 'gzip')
  const packed = new Blob([body]).stream().pipeThrough(new CompressionStream('gzip'))
  return new Response(await new Response(packed).bytes(), { status, headers })
}

/** A refusal that names many fields or ids may be long. */
export const compressRefusal = async (requestHeaders: Headers, refusal: Response): Promise<Response> =>
  compressed(requestHeaders, { status: refusal.status, headers: refusal.headers, body: await refusal.text() })

/**
 * The answer of an operation. A GET has an ETag, and a client that has the answer gets 304. A client with a token may
 * cache it and revalidate. Secrets, and answers to a browser's session, are never stored.
 */
export async function toResponse(
  { headers: requestHeaders }: Request,
  operation: Pick<Operation, 'method' | 'isSecret' | 'isTranslated'>,
  answered: Answered,
): Promise<Response> {
  const { body } = answered
  const headers = new Headers(apiHeaders)
  if (answered.mediaType) headers.set('Content-Type', `${answered.mediaType}; charset=utf-8`)
  if (answered.fileName) headers.set('Content-Disposition', `attachment; filename="${answered.fileName}"`)
  if (answered.cookie !== undefined) headers.set('Set-Cookie', answered.cookie)
  if (answered.replayed) headers.set('Idempotent-Replayed', 'true')
  if (operation.isTranslated) {
    headers.set('Content-Language', languageOf(requestHeaders))
    headers.set('Vary', 'Accept-Language')
  }
  if (operation.method === 'GET') {
    const tag = tagOf(body)
    headers.set('ETag', `W/${tag}`)
    if (!operation.isSecret && requestHeaders.has('authorization')) headers.set('Cache-Control', 'private, no-cache')
    if (isKnown(requestHeaders, tag)) {
      headers.delete('Content-Type')
      return new Response(null, { status: 304, headers })
    }
  }
  return compressed(requestHeaders, { status: 200, headers, body })
}

type SharedText = {
  readonly body: string
  readonly headers?: Record<string, string>
  /** How long caches on the way may keep it; without a number they ask each time. */
  readonly cachedSeconds?: number
}

/** A large text that is the same for every caller, JSON unless its headers name another type. Compressed once. */
export function createSharedAnswer(read: () => Promise<SharedText>): (request: Request) => Promise<Response> {
  let made: ReturnType<typeof pack> | undefined

  return async ({ headers: requestHeaders }) => {
    const { body, headers: own, cachedSeconds } = await read()
    if (made?.text !== body) made = pack(body)
    const { plain, gzip, tag } = made
    const cached = cachedSeconds === undefined ? 'no-cache' : `public, max-age=${cachedSeconds}`
    const headers = { ...apiHeaders, Vary: 'Accept-Encoding', ...own, 'Cache-Control': cached, ETag: `W/${tag}` }
    if (isKnown(requestHeaders, tag)) return new Response(null, { status: 304, headers })
    if (!isAccepted(requestHeaders.get('accept-encoding') ?? '', 'gzip')) return new Response(plain, { headers })
    return new Response(gzip, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
  }
}

function pack(text: string) {
  const plain = Buffer.from(text)
  return { text, plain, gzip: Bun.gzipSync(plain), tag: tagOf(plain) }
}
