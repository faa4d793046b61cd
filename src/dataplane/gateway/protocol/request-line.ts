import { readAuthority, type Target } from './authority.ts'
import { isToken } from './http-head.ts'

/** A no to a malformed or unsupported request: the answer's status, its X-Turnpike-Error and its text. */
export type HttpRefusal = {
  readonly type: 'refuse'
  readonly status: number
  readonly code: string
  readonly message: string
}

export type HttpVersion = '1.0' | '1.1'

/** A request line read (RFC 9112, 3): where to, and for a forwarded request the path the origin is asked for. */
export type RequestLine = {
  readonly method: string
  readonly target: Target
  /** The origin-form of the target (RFC 9112, 3.2.1); undefined for CONNECT. */
  readonly path: string | undefined
  readonly version: HttpVersion
}

export const refuse = (status: number, code: string, message: string): HttpRefusal => ({
  type: 'refuse',
  status,
  code,
  message,
})

export const malformed = (message: string): HttpRefusal => refuse(400, 'bad_request', message)

export function readRequestLine(line: string): RequestLine | HttpRefusal {
  const [method = '', uri = '', protocol = '', ...more] = line.split(' ')
  if (more.length > 0 || !isToken(method) || !/^[\x21-\x7e]+$/.test(uri)) return malformed('malformed request line')
  const version = readVersion(protocol)
  if (version !== '1.0' && version !== '1.1') return version
  // TRACE shows a client what reached the origin, which no browser may ask for and no proxy needs to carry (RFC 9110,
  // 9.3.8).
  if (method === 'TRACE') return refuse(501, 'method_unsupported', 'TRACE is not carried')
  const where = method === 'CONNECT' ? readConnectTarget(uri) : readAbsolute(method, uri)
  return where.type === 'refuse' ? where : { method, target: where.target, path: where.path, version }
}

/** RFC 9110, 2.5 and 15.6.6: another major version is answered 505, the HTTP/2 preface (RFC 9113, 3.4) with it. */
function readVersion(protocol: string): HttpVersion | HttpRefusal {
  if (protocol === 'HTTP/1.1') return '1.1'
  if (protocol === 'HTTP/1.0') return '1.0'
  if (/^HTTP\/\d\.\d$/.test(protocol))
    return refuse(505, 'version_unsupported', 'only HTTP/1.1 and HTTP/1.0 are spoken here')
  return malformed('malformed request line')
}

type Where = { readonly type: 'where'; readonly target: Target; readonly path: string | undefined }

/** RFC 9112, 3.2.3: CONNECT names host and port and nothing else; there is no port it could mean by default. */
function readConnectTarget(uri: string): Where | HttpRefusal {
  const target = readAuthority(uri)
  return target ? { type: 'where', target, path: undefined } : malformed('CONNECT needs host:port')
}

/** RFC 9112, 3.2.2: whoever uses a proxy sends the whole URI. */
function readAbsolute(method: string, uri: string): Where | HttpRefusal {
  if (uri.startsWith('/') || uri === '*') {
    return refuse(400, 'not_a_proxy_request', 'this is a proxy: send the whole URI, or CONNECT')
  }
  if (/^https:/i.test(uri)) return refuse(400, 'use_connect', 'https goes through CONNECT')
  const match = /^http:\/\/([^/?#]*)([^#]*)$/i.exec(uri)
  const target = match && readAuthority(match[1] ?? '', 80)
  return match && target
    ? { type: 'where', target, path: toOriginForm(method, match[2] ?? '') }
    : malformed('malformed target URI')
}

/** An empty path is `/`; for OPTIONS without a query the last proxy asks for `*` (RFC 9112, 3.2.4). */
function toOriginForm(method: string, pathAndQuery: string): string {
  if (pathAndQuery === '') return method === 'OPTIONS' ? '*' : '/'
  return pathAndQuery.startsWith('/') ? pathAndQuery : `/${pathAndQuery}`
}
