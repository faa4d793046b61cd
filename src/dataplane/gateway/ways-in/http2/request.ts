import { isToken, toLatin1 } from '../http1/head.ts'
import type { Field } from './hpack.ts'

/** A request of an HTTP/2 client as an HTTP/1 head for the engine. */
export type TranslatedRequest =
  | { readonly type: 'tunnel' | 'request'; readonly head: Uint8Array }
  /** Answer with this status. */
  | { readonly type: 'refuse'; readonly status: 400 | 411 | 501 }
  /** RFC 9113, 8.1.1: reset the stream. */
  | { readonly type: 'malformed' }

const pseudoNames = [':method', ':scheme', ':authority', ':path', ':protocol'] as const
type PseudoName = (typeof pseudoNames)[number]

/** RFC 9113, 8.2.2. */
const connectionFields = new Set(['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade'])
/** The head has its own. */
const replacedFields = new Set(['host', 'te', 'cookie'])

const malformed: TranslatedRequest = { type: 'malformed' }
const isPrintable = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)
/** RFC 9113, 8.2.1. Anything else could add a line to the HTTP/1 head. */
const isValue = (text: string): boolean =>
  /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/.test(text)

type Parts = { readonly pseudo: ReadonlyMap<PseudoName, string>; readonly fields: readonly Field[] }

/** Undefined if a field is malformed or forbidden. */
export function readParts(all: readonly Field[]): Parts | undefined {
  const pseudo = new Map<PseudoName, string>()
  const fields: Field[] = []
  for (const [name, value] of all) {
    if (!isValue(value)) return undefined
    if (name.startsWith(':')) {
      const known = pseudoNames.find((each) => each === name)
      if (!known || pseudo.has(known) || fields.length > 0) return undefined
      pseudo.set(known, value)
      continue
    }
    if (!isToken(name) || name !== name.toLowerCase() || connectionFields.has(name)) return undefined
    if (name === 'te' && value !== 'trailers') return undefined
    fields.push([name, value])
  }
  return { pseudo, fields }
}

/** Translates a proxied request. The engine closes its connection after the response. */
export function translateRequest(all: readonly Field[], hasBody: boolean): TranslatedRequest {
  const parts = readParts(all)
  const method = parts?.pseudo.get(':method')
  if (!parts || method === undefined || !isToken(method)) return malformed
  return method === 'CONNECT' ? translateConnect(parts) : translateForward(method, parts, hasBody)
}

const credentialFields = new Set(['proxy-authorization', 'authorization'])

function translateConnect({ pseudo, fields }: Parts): TranslatedRequest {
  const authority = pseudo.get(':authority') ?? ''
  if (pseudo.has(':protocol')) return translateExtendedConnect({ pseudo, fields }, authority)
  if (!isPrintable(authority) || pseudo.has(':scheme') || pseudo.has(':path')) return malformed
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`, 'Connection: close']
  for (const [name, value] of fields) if (name === 'proxy-authorization') lines.push(`${name}: ${value}`)
  return { type: 'tunnel', head: toLatin1(`${lines.join('\r\n')}\r\n\r\n`) }
}

/** RFC 8441, 4. The answer 101 of the engine becomes 200. */
function translateExtendedConnect({ pseudo, fields }: Parts, authority: string): TranslatedRequest {
  const path = pseudo.get(':path') ?? ''
  if (!isPrintable(authority) || !isPrintable(path) || !pseudo.has(':scheme')) return malformed
  if (pseudo.get(':protocol') !== 'connect-udp') return { type: 'refuse', status: 501 }
  if (!path.startsWith('/')) return { type: 'refuse', status: 400 }
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${authority}`, 'Connection: upgrade, close', 'Upgrade: connect-udp']
  for (const [name, value] of fields) if (credentialFields.has(name)) lines.push(`${name}: ${value}`)
  return { type: 'tunnel', head: toLatin1(`${lines.join('\r\n')}\r\n\r\n`) }
}

/** HTTP/1.0, so that the end of the connection ends the response's body. */
function translateForward(method: string, { pseudo, fields }: Parts, hasBody: boolean): TranslatedRequest {
  const [authority = '', path = ''] = [pseudo.get(':authority'), pseudo.get(':path')]
  if (pseudo.has(':protocol') || !isPrintable(path)) return malformed
  if (pseudo.get(':scheme') !== 'http' || !isPrintable(authority) || !path.startsWith('/'))
    return { type: 'refuse', status: 400 }
  const isFramed = fields.some(([name]) => name === 'content-length')
  if (hasBody && !isFramed) return { type: 'refuse', status: 411 }
  const lines = [`${method} http://${authority}${path} HTTP/1.0`, `Host: ${authority}`]
  const cookies: string[] = []
  for (const [name, value] of fields) {
    if (name === 'cookie') cookies.push(value)
    else if (!replacedFields.has(name)) lines.push(`${name}: ${value}`)
  }
  if (cookies.length > 0) lines.push(`cookie: ${cookies.join('; ')}`)
  return { type: 'request', head: toLatin1(`${lines.join('\r\n')}\r\n\r\n`) }
}

/** Fields of an HTTP/1 response head as HTTP/2 fields; undefined if the head is not one. */
export function translateResponse(head: string): { readonly status: number; readonly fields: Field[] } | undefined {
  const [first = '', ...lines] = head.split('\r\n')
  const stated = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1] ?? 0)
  // HTTP/2 has no 101 (RFC 9113, 8.6): extended CONNECT is answered with 200.
  const status = stated === 101 ? 200 : stated
  if (status < 100) return undefined
  const fields: Field[] = [[':status', String(status)]]
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    if (colon > 0 && !connectionFields.has(name)) fields.push([name, line.slice(colon + 1).trim()])
  }
  return { status, fields }
}
