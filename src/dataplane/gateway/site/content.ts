import { closeSync, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import type { MaybePromise } from '../../../core/maybe-promise.ts'
import { prefixesOf } from '../../tls/seats.ts'
import { joinBytes } from '../ways-in/bytes.ts'
import type { Field } from '../ways-in/http2/hpack.ts'
import { reasonPhrase } from './reason-phrase.ts'

/** A request of a visitor of the site. Names of fields are lower case; hop-by-hop fields are missing. */
export type SiteRequest = {
  readonly method: string
  /** Origin-form (RFC 9112, 3.2.1). */
  readonly path: string
  readonly host: string
  readonly fields: readonly Field[]
  readonly body: Uint8Array
  readonly source: string
}

/** A file that is read as the client reads; nothing is open between two reads. */
export type SiteFile = {
  readonly size: number
  /** At most `max` bytes. Undefined if the file has changed since, or cannot be read. */
  read(at: number, max: number): Uint8Array | undefined
}

/** `length` is that of the body which HEAD leaves out. */
export type SiteAnswer = {
  readonly status: number
  readonly fields: readonly Field[]
  readonly body: Uint8Array | SiteFile
  readonly length?: number
}

export type SiteContent = (request: SiteRequest, signal: AbortSignal) => MaybePromise<SiteAnswer>

/** A longer file does not exist. */
const maxFileBytes = 256 * 1024 * 1024
/** Bytes of one answer of the shop, which is read whole before the client gets any of it. */
const maxAnswerBytes = 4 * 1024 * 1024
/** Requests to the shop at the same time: in all, and of one IPv4 address or IPv6 /64. */
const maxRunning = 128
const maxRunningOfPrefix = 32
const nothing = new Uint8Array(0)

export function plainAnswer(status: number, text = `${status} ${reasonPhrase(status)}`, ...more: Field[]): SiteAnswer {
  const fields: Field[] = [
    ['content-type', 'text/plain; charset=utf-8'],
    ['x-content-type-options', 'nosniff'],
    ...more,
  ]
  return { status, fields, body: Buffer.from(`${text}\n`) }
}

/** A host without pages, as of an API: 404 for every path. */
const builtinContent: SiteContent = () => plainAnswer(404, '404 page not found')

const emptyAnswer = (status: number, ...fields: Field[]): SiteAnswer => ({ status, fields, body: nothing })

/** What the site is, as data. */
export type SiteSource =
  | { readonly kind: 'builtin' }
  | { readonly kind: 'files'; readonly folder: string }
  /** The shop, over its socket on this machine. `nonce` is the name of this process in Via. */
  | { readonly kind: 'shop'; readonly socket: string; readonly nonce: string }

export function toContent(source: SiteSource): SiteContent {
  if (source.kind === 'files') return filesContent(source.folder)
  return source.kind === 'shop' ? shopContent(source.socket, source.nonce) : builtinContent
}

// --- files ---

/** Files of a folder. Names that begin with a dot, and links that lead out of the folder, do not exist. */
function filesContent(folder: string): SiteContent {
  return ({ method, path, fields }) => {
    if (method !== 'GET' && method !== 'HEAD') return plainAnswer(405, undefined, ['allow', 'GET, HEAD'])
    const found = findFile(folder, path)
    if (!found) return plainAnswer(404, '404 page not found')
    if ('moved' in found) return emptyAnswer(301, ['location', found.moved])
    const { name, size, changedAt } = found
    const etag = `"${Math.floor(changedAt).toString(16)}-${size.toString(16)}"`
    const about: Field[] = [
      ['etag', etag],
      ['last-modified', new Date(changedAt).toUTCString()],
    ]
    if (isUnchanged(fields, etag, changedAt)) return emptyAnswer(304, ...about)
    about.unshift(['content-type', Bun.file(name).type])
    if (method === 'HEAD' || size === 0) return { status: 200, fields: about, body: nothing, length: size }
    return { status: 200, fields: about, body: { size, read: (at, max) => readPiece(found, at, max) } }
  }
}

type FoundFile =
  | { readonly name: string; readonly size: number; readonly changedAt: number }
  | { readonly moved: string }

/** Synchronous, because the thread of the site may have no event loop. */
function findFile(folder: string, target: string): FoundFile | undefined {
  const [path = '', ...query] = target.split('?')
  const names = decodePath(path)
  if (!names) return undefined
  try {
    const root = realpathSync(folder)
    const asked = realpathSync(join(root, ...names))
    const isInside = (inside: string): boolean => inside === root || inside.startsWith(`${root}${sep}`)
    if (!isInside(asked)) return undefined
    const about = statSync(asked)
    if (about.isDirectory() && !path.endsWith('/'))
      return {
        moved: `/${[...names.map(encodeURIComponent), ''].join('/')}${query.length > 0 ? `?${query.join('?')}` : ''}`,
      }
    if (!about.isDirectory() && path.endsWith('/')) return undefined
    const name = about.isDirectory() ? realpathSync(join(asked, 'index.html')) : asked
    const found = statSync(name)
    if (!isInside(name) || !found.isFile() || found.size > maxFileBytes) return undefined
    return { name, size: found.size, changedAt: found.mtimeMs }
  } catch {
    // It does not exist, or cannot be read.
    return undefined
  }
}

function readPiece(
  { name, size, changedAt }: Exclude<FoundFile, { moved: string }>,
  at: number,
  max: number,
): Uint8Array | undefined {
  let descriptor = -1
  try {
    descriptor = openSync(name, 'r')
    const now = fstatSync(descriptor)
    if (now.size !== size || now.mtimeMs !== changedAt) return undefined
    const piece = new Uint8Array(Math.min(max, size - at))
    return readSync(descriptor, piece, 0, piece.length, at) === piece.length ? piece : undefined
  } catch {
    return undefined
  } finally {
    if (descriptor >= 0) closeSync(descriptor)
  }
}

function decodePath(path: string): string[] | undefined {
  try {
    const names = path
      .split('/')
      .map(decodeURIComponent)
      .filter((name) => name !== '')
    return names.some((name) => name.startsWith('.') || /[/\\\0]/.test(name)) ? undefined : names
  } catch {
    return undefined
  }
}

/** RFC 9110, 13.2.2: If-None-Match wins over If-Modified-Since. */
function isUnchanged(fields: readonly Field[], etag: string, changedAt: number): boolean {
  const valueOf = (name: string): string | undefined => fields.find(([each]) => each === name)?.[1]
  const tags = valueOf('if-none-match')
  if (tags !== undefined) return tags.split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()))
  const since = Date.parse(valueOf('if-modified-since') ?? '')
  return Number.isFinite(since) && Math.floor(changedAt / 1000) * 1000 <= since
}

// --- the shop ---

const forwardedMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** The request has its own. */
const replacedFields = new Set(['host', 'content-length', 'via', 'accept-encoding', 'user-agent', 'expect'])
/** Fields about the connection to the server, or of the client that this process is. */
const droppedFields = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'trailer',
  'te',
  'content-length',
  'set-cookie',
  'alt-svc',
  'date',
])

/**
 * The shop over its socket, which is never left. `x-forwarded-for` tells the shop that a visitor asks, not a node. A
 * request that comes back to this process is refused.
 */
function shopContent(socket: string, nonce: string): SiteContent {
  const pseudonym = `turnpike-${nonce}`
  const running = new Map<string, number>()
  let all = 0

  return async (request, signal) => {
    const { method, path, host, fields, source } = request
    const url = path.startsWith('/') ? URL.parse(`http://${host || 'localhost'}${path}`) : null
    if (!forwardedMethods.has(method)) return plainAnswer(405, undefined, ['allow', [...forwardedMethods].join(', ')])
    if (url === null || !isHostAlone(url, host || 'localhost')) return plainAnswer(400)
    if (fields.some(([name, value]) => name === 'via' && value.includes(pseudonym))) return plainAnswer(502)
    const { clientPrefix } = prefixesOf(source)
    const own = running.get(clientPrefix) ?? 0
    if (all >= maxRunning || own >= maxRunningOfPrefix) return plainAnswer(503)
    all += 1
    running.set(clientPrefix, own + 1)
    const leave = (): void => {
      all -= 1
      const left = (running.get(clientPrefix) ?? 1) - 1
      if (left > 0) running.set(clientPrefix, left)
      else running.delete(clientPrefix)
    }
    try {
      const headers = toForwarded(request, pseudonym)
      return await toAnswer(await fetchOnce(url, socket, request, headers, signal), method === 'HEAD')
    } catch {
      return plainAnswer(502)
    } finally {
      leave()
    }
  }
}

/** Whether the host of a request is a host, with or without a port, and nothing more. */
const isHostAlone = (url: URL, host: string): boolean => [url.host, `${url.hostname}:80`].includes(host.toLowerCase())

function toForwarded({ fields, host, source }: SiteRequest, pseudonym: string): Headers {
  const headers = new Headers()
  const valuesOf = (name: string): string => fields.flatMap(([each, value]) => (each === name ? value : [])).join(', ')
  for (const [name, value] of fields) {
    if (!replacedFields.has(name) && !name.startsWith('x-forwarded-')) headers.append(name, value)
  }
  // Without them Bun would send its own.
  headers.set('accept-encoding', valuesOf('accept-encoding') || 'identity')
  headers.set('user-agent', valuesOf('user-agent'))
  headers.set('via', [valuesOf('via'), `1.1 ${pseudonym}`].filter(Boolean).join(', '))
  headers.set('x-forwarded-for', source)
  headers.set('x-forwarded-host', host)
  headers.set('x-forwarded-proto', 'https')
  return headers
}

/** The server may have closed an idle connection, so a request without effect is repeated once. */
async function fetchOnce(url: URL, unix: string, { method, body }: SiteRequest, headers: Headers, signal: AbortSignal) {
  const send = (): Promise<Response> =>
    fetch(url, {
      unix,
      method,
      headers,
      redirect: 'manual',
      decompress: false,
      signal,
      ...(body.length > 0 && method !== 'GET' && method !== 'HEAD' && { body }),
    })
  try {
    return await send()
  } catch (error) {
    if (signal.aborted || (method !== 'GET' && method !== 'HEAD')) throw error
    return send()
  }
}

/** The whole answer: a client that does not read it holds nothing of the server. */
async function toAnswer(response: Response, isHead: boolean): Promise<SiteAnswer> {
  const fields: Field[] = []
  for (const [name, value] of response.headers) {
    if (!droppedFields.has(name) && !name.startsWith('proxy-')) fields.push([name, value])
  }
  for (const cookie of response.headers.getSetCookie()) fields.push(['set-cookie', cookie])
  const status = response.status === 407 ? 502 : response.status
  if (isHead) {
    const length = Number(response.headers.get('content-length') ?? Number.NaN)
    return { status, fields, body: nothing, ...(Number.isSafeInteger(length) && { length }) }
  }
  const body = await readWhole(response)
  return body ? { status, fields, body } : plainAnswer(502)
}

/** Undefined if it is longer than `maxAnswerBytes`. */
async function readWhole(response: Response): Promise<Uint8Array | undefined> {
  const stream: ReadableStream<Uint8Array> | null = response.body
  const reader = stream?.getReader()
  const parts: Uint8Array[] = []
  let bytes = 0
  if (!reader) return nothing
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return joinBytes(parts)
    bytes += value.length
    if (bytes > maxAnswerBytes) {
      await reader.cancel()
      return undefined
    }
    parts.push(value)
  }
}
