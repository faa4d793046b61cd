import type { GatewayProtocol } from '../../../../core/vpn-protocols.ts'
import { readAuthority } from '../authority.ts'
import { joinBytes } from '../bytes.ts'
import { type FieldPair, type HeaderFields, isToken, toAnswer, toLatin1 } from '../http1/head.ts'
import {
  type Authorization,
  malformed,
  readAuthorization,
  readRequestHead,
  refuse,
  toClaim,
  toHttpAnswer,
  toldBy,
  toOriginForm,
  toProxyRequest,
  traceRefused,
} from '../http1/request.ts'
import type { ResponseHead } from '../http1/response.ts'
import type {
  Answer,
  Asker,
  ClientAddress,
  ClientEvent,
  ClientParser,
  Extension,
  ProxyRequest,
  Verdict,
} from '../request.ts'
import { TrustTunnelDatagrams } from '../trusttunnel/udp.ts'
import { encodeFields, type Field } from './hpack.ts'
import { readPadding } from './padding.ts'

/** The gateway's answer to a request that is none; a refusal without a code has no body. */
type RefusedFields = {
  readonly type: 'refuse'
  readonly status: number
  readonly code?: string
  readonly message?: string
}

export type StreamRequest =
  /** `bodyBytes` follow. */
  | {
      readonly type: 'request'
      readonly request: ProxyRequest
      readonly bodyBytes: number
      /** Fields of the answer to a client that asks for padding (`padding.ts`). */
      readonly padding?: readonly Field[] | undefined
    }
  | RefusedFields
  /** RFC 9113, 8.1.1: reset the stream. */
  | { readonly type: 'malformed' }

const pseudoNames = [':method', ':scheme', ':authority', ':path', ':protocol'] as const
type PseudoName = (typeof pseudoNames)[number]

/** RFC 9113, 8.2.2. */
const connectionFields = new Set(['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade'])
/** The request to the origin has its own. */
const replacedFields = new Set(['host', 'te', 'cookie'])

const malformedStream = { type: 'malformed' } as const
const nothing = new Uint8Array(0)
const isPrintable = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)
/** RFC 9113, 8.2.1. Anything else could add a line to the head for the origin. */
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

/** Reads the request of a stream from its fields. */
export function readStreamRequest(
  all: readonly Field[],
  hasBody: boolean,
  client: ClientAddress,
  extensions: readonly Extension[],
): StreamRequest {
  const parts = readParts(all)
  const method = parts?.pseudo.get(':method')
  if (!parts || method === undefined || !isToken(method)) return malformedStream
  if (method !== 'CONNECT') return readForward(method, parts, hasBody, client)
  return parts.pseudo.has(':protocol') ? readExtended(parts, client, extensions) : readConnect(parts, client)
}

const valuesOf = (fields: readonly Field[], name: string): string[] =>
  fields.flatMap(([each, value]) => (each === name ? value : []))

const toAsker = (
  client: ClientAddress,
  authorization: Authorization,
  isTunnel: boolean,
  ofDevice?: readonly GatewayProtocol[],
): Asker => ({
  wayIn: 'http2',
  source: client.source,
  claim: toClaim(authorization, client, isTunnel),
  ...(ofDevice && { ofDevice }),
})

/** TrustTunnel's authorities that are no destinations. */
const trustTunnelAuthority = /^_(check|udp2|icmp)(?::\d{1,5})?$/
/** TrustTunnel opens TCP by an ordinary CONNECT. */
const ofConnect: readonly GatewayProtocol[] = ['http', 'trusttunnel']

/** The protocols of VPN devices that a request can be one of, by its fields; undefined for an HTTP proxy's. */
export function readDeviceProtocols(read: (name: string) => readonly string[]): readonly GatewayProtocol[] | undefined {
  if (read(':method')[0] !== 'CONNECT' || read(':protocol').length > 0) return undefined
  if (trustTunnelAuthority.test(read(':authority')[0] ?? '')) return ['trusttunnel']
  return readPadding(read, Math.random) ? ['naive'] : ofConnect
}

const asked = (request: ProxyRequest, bodyBytes = 0) => ({ type: 'request', request, bodyBytes }) as const

function readConnect({ pseudo, fields }: Parts, client: ClientAddress): StreamRequest {
  const authority = pseudo.get(':authority') ?? ''
  if (!isPrintable(authority) || pseudo.has(':scheme') || pseudo.has(':path')) return malformedStream
  const [, special] = trustTunnelAuthority.exec(authority) ?? []
  if (special !== undefined) return readTrustTunnel(special, fields, client)
  const target = readAuthority(authority)
  if (!target) return malformed('CONNECT needs host:port')
  const authorization = readAuthorization(valuesOf(fields, 'proxy-authorization'))
  if ('type' in authorization) return authorization
  const padding = readPadding((name) => valuesOf(fields, name), Math.random)
  const asker = toAsker(client, authorization, true, padding ? ['naive'] : ofConnect)
  return { ...asked({ ...asker, asks: 'tunnel', target }), padding }
}

/** TrustTunnel's authorities that are no destinations: whether the client may connect, datagrams, and ping. */
function readTrustTunnel(authority: string, fields: readonly Field[], client: ClientAddress): StreamRequest {
  const authorization = readAuthorization(valuesOf(fields, 'proxy-authorization'))
  if ('type' in authorization) return authorization
  const asker = toAsker(client, authorization, true, ['trusttunnel'])
  if (authority === 'check') return asked({ ...asker, asks: 'check' })
  if (authority === 'icmp') return { type: 'refuse', status: 501 }
  return asked({ ...asker, asks: 'capsules', target: undefined, codec: new TrustTunnelDatagrams() })
}

/** RFC 8441, 4. */
function readExtended(
  { pseudo, fields }: Parts,
  client: ClientAddress,
  extensions: readonly Extension[],
): StreamRequest {
  const [authority = '', path = ''] = [pseudo.get(':authority'), pseudo.get(':path')]
  if (!isPrintable(authority) || !isPrintable(path) || !pseudo.has(':scheme')) return malformedStream
  const extension = extensions.find(({ protocol }) => protocol === pseudo.get(':protocol'))
  if (!extension) return { type: 'refuse', status: 501 }
  if (!path.startsWith('/')) return { type: 'refuse', status: 400 }
  const target = extension.readPath(path)
  if (!target) return refuse(400, 'not_a_proxy_request', `this path is not one of ${extension.protocol}`)
  const ofProxy = valuesOf(fields, 'proxy-authorization')
  const authorization = readAuthorization(ofProxy.length > 0 ? ofProxy : valuesOf(fields, 'authorization'))
  if ('type' in authorization) return authorization
  return asked(extension.toRequest(target, { ...toAsker(client, authorization, false), wayIn: extension.wayIn }))
}

/** Read as HTTP/1.0, so that the response has neither chunks nor interim heads. */
function readForward(
  method: string,
  { pseudo, fields }: Parts,
  hasBody: boolean,
  client: ClientAddress,
): StreamRequest {
  const [authority = '', path = ''] = [pseudo.get(':authority'), pseudo.get(':path')]
  if (pseudo.has(':protocol') || !isPrintable(path)) return malformedStream
  if (pseudo.get(':scheme') !== 'http' || !isPrintable(authority) || !path.startsWith('/'))
    return { type: 'refuse', status: 400 }
  const isFramed = fields.some(([name]) => name === 'content-length')
  if (hasBody && !isFramed) return { type: 'refuse', status: 411 }
  if (method === 'TRACE') return traceRefused
  const target = readAuthority(authority, 80)
  if (!target || path.includes('#')) return malformed('malformed target URI')
  const line = { method, target, path: toOriginForm(method, path), version: '1.0' } as const
  const forwarded = toHeaderFields(fields)
  const head = readRequestHead(line, forwarded)
  if (head.type === 'refuse') return head
  const bodyBytes = head.framing.kind === 'length' ? head.framing.bytes : 0
  return asked(toProxyRequest(line, head, forwarded, toAsker(client, head, false)), bodyBytes)
}

/** One Cookie field (RFC 9113, 8.2.3). */
function toHeaderFields(fields: readonly Field[]): HeaderFields {
  const kept = fields.filter(([name]) => !replacedFields.has(name))
  const cookies = valuesOf(fields, 'cookie')
  if (cookies.length > 0) kept.push(['cookie', cookies.join('; ')])
  return kept.map(([name, value]) => ({ name, label: name, value }))
}

/** Header block and body of an answer of the gateway. */
function toBlockAnswer({ status, fields, body }: ReturnType<typeof toAnswer>): { block: Uint8Array; body: Uint8Array } {
  return { block: toBlock(status, fields), body: toLatin1(body) }
}

const toBlock = (status: number, fields: readonly FieldPair[]): Uint8Array =>
  encodeFields([
    [':status', String(status)],
    ...fields.flatMap(([label, value]): Field[] => {
      const name = label.toLowerCase()
      return connectionFields.has(name) ? [] : [[name, value]]
    }),
  ])

/** The answer to a stream without a request. */
export function toRefusedAnswer({ status, code, message = '' }: RefusedFields) {
  return toBlockAnswer(
    code === undefined ? { status, fields: [], body: '' } : toAnswer(status, code, sentence(message)),
  )
}

const sentence = (message: string): string => message.charAt(0).toUpperCase() + message.slice(1)

/**
 * The request of one stream. Of the bytes for the client the first `blockBytes` are the header block, which becomes
 * HEADERS, and the others DATA. The block is neither compressed nor depends on other streams.
 */
export class StreamParser implements ClientParser {
  taken = 0
  blockBytes = 0
  private hasAsked = false
  private told: readonly FieldPair[] = []

  constructor(
    readonly request: ProxyRequest,
    private bodyLeft: number,
    private readonly noteVerdict: (verdict: Verdict) => void,
    /** Fields of the answer to a client that asks for padding. */
    private readonly padding?: readonly Field[] | undefined,
  ) {}

  feed(bytes: Uint8Array): ClientEvent[] {
    const { request } = this
    const out: ClientEvent[] = []
    const isForward = request.asks === 'forward'
    if (!this.hasAsked) {
      this.hasAsked = true
      out.push({ type: 'request', request })
      if (isForward) this.taken = request.head.length
      if (isForward && this.bodyLeft === 0) out.push({ type: 'end' })
    }
    const part = bytes.subarray(0, this.bodyLeft)
    if (part.length === 0) return out
    this.taken += part.length
    this.bodyLeft -= part.length
    out.push({ type: 'body', bytes: part })
    if (this.bodyLeft === 0) out.push({ type: 'end' })
    return out
  }

  /** A stream has one request. */
  next(): ClientEvent[] {
    return []
  }

  /** A stream holds the bytes that come early. */
  rest(): Uint8Array {
    return nothing
  }

  answer(verdict: Verdict): Answer {
    const { request } = this
    this.noteVerdict(verdict)
    const isLast = verdict.refusal !== undefined
    if (verdict.refusal === undefined && request.asks === 'forward') {
      this.told = toldBy(verdict)
      return { bytes: nothing, isLast }
    }
    const answer = toHttpAnswer(verdict)
    const added = !isLast && request.asks === 'capsules' ? (request.extension?.fields ?? []) : []
    const padding = isLast ? [] : (this.padding ?? [])
    const { block, body } = toBlockAnswer({ ...answer, fields: [...answer.fields, ...added, ...padding] })
    this.blockBytes = block.length
    const isHead = request.asks === 'forward' && request.method === 'HEAD'
    return { bytes: isHead ? block : joinBytes([block, body]), isLast }
  }

  toHead({ status, fields }: ResponseHead): Uint8Array {
    const block = toBlock(status, [...fields, ...this.told])
    this.blockBytes = block.length
    return block
  }
}
