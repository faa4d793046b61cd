import type { ConnectTarget } from '../authority.ts'
import { HeldBytes, joinBytes, latin1Slice } from '../bytes.ts'
import { type Credentials, readLogin } from '../http1/basic-auth.ts'
import { refusalOf } from '../refusals.ts'
import {
  type Answer,
  type Claim,
  type ClientAddress,
  type ClientEvent,
  type ClientParser,
  claimOf,
  type Verdict,
} from '../request.ts'
import { readTargetHost } from './target.ts'
import { socksDatagrams, toAssociateReply } from './udp.ts'

/** What a message says; a refusal is written before the connection closes. */
type Message =
  | { readonly type: 'method'; readonly method: Method }
  | { readonly type: 'credentials'; readonly credentials: Credentials }
  | { readonly type: 'connect'; readonly target: ConnectTarget }
  /** The address that the client expects to send from is ignored: NAT changes it. */
  | { readonly type: 'associate' }
  | Extract<ClientEvent, { type: 'refuse' }>

type Step = { readonly message: Message; readonly used: number }

const anonymous = 0
const usernamePassword = 2
const commandConnect = 1
const commandAssociate = 3
type Method = typeof anonymous | typeof usernamePassword
/** Version, two lengths, two texts of 255 bytes (RFC 1929, 2). */
const maxMessageBytes = 513
const needMore = undefined
const nothing = new Uint8Array(0)
const toReply = (code: number): Uint8Array => Uint8Array.of(5, code, 0, 1, 0, 0, 0, 0, 0, 0)
const replies = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(toReply)
const welcome = Uint8Array.of(1, 0)
const denied = Uint8Array.of(1, 1)
const noMethod = Uint8Array.of(5, 0xff)
const asks = { [anonymous]: Uint8Array.of(5, anonymous), [usernamePassword]: Uint8Array.of(5, usernamePassword) }

/** RFC 1928, 6. The bound address is reported as 0.0.0.0:0. */
const socksReply = (code: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8): Uint8Array => replies[code] ?? toReply(code)

/** SOCKS4 and 4a have no passwords: reply 91. */
export const refuseSocks4: ClientParser = {
  taken: 0,
  feed: () => [{ type: 'refuse', bytes: Uint8Array.of(0, 0x5b, 0, 0, 0, 0, 0, 0), code: 'version_unsupported' }],
  next: () => [],
  answer: () => ({ bytes: nothing, isLast: true }),
  rest: () => nothing,
}

/**
 * Incremental SOCKS5 server (RFC 1928, 1929); stops after the credentials and after the request. Clients without
 * credentials are served on a customer's own port only.
 */
export class Socks5Reader implements ClientParser {
  readonly taken = 0
  private claim: Claim
  private readonly early: HeldBytes
  /** Incomplete message. */
  private message: Uint8Array = nothing
  private state: 'greeting' | 'credentials' | 'verdict' | 'request' | 'connected' | 'closed' = 'greeting'

  constructor(
    private readonly client: ClientAddress,
    heldBytes = 256 * 1024,
  ) {
    this.claim = claimOf(client)
    this.early = new HeldBytes(heldBytes)
  }

  feed(chunk: Uint8Array): ClientEvent[] {
    const out: ClientEvent[] = []
    let rest = chunk
    while (rest.length > 0 && this.isReading()) rest = this.readSome(rest, out)
    if ((this.state === 'verdict' || this.state === 'connected') && !this.early.add(rest)) {
      this.refuse({ type: 'refuse', bytes: socksReply(1), code: 'bad_request' }, out)
    }
    return out
  }

  /** RFC 1929 reports wrong credentials; every other refusal waits for the request's reply. */
  answer(verdict: Verdict): Answer {
    if (this.state !== 'verdict') return { bytes: toReplyTo(verdict), isLast: verdict.refusal !== undefined }
    const isLast = verdict.refusal === 'bad_credentials'
    this.state = isLast ? 'closed' : 'request'
    if (isLast) this.early.take()
    return { bytes: isLast ? denied : welcome, isLast }
  }

  /** Parses bytes that arrived before the credentials were answered. */
  next(): ClientEvent[] {
    return this.feed(this.early.take())
  }

  /** Bytes after the request; returned once. */
  rest(): Uint8Array {
    return this.early.take()
  }

  private isReading(): boolean {
    return this.state === 'greeting' || this.state === 'credentials' || this.state === 'request'
  }

  /** Parses one message or stores an incomplete one; returns the remaining bytes. */
  private readSome(chunk: Uint8Array, out: ClientEvent[]): Uint8Array {
    const before = this.message.length
    const isWhole = before === 0 && chunk.length <= maxMessageBytes
    const bytes = isWhole ? chunk : joinBytes([this.message, chunk.subarray(0, maxMessageBytes - before)])
    const step = this.readMessage(bytes)
    if (step === needMore) {
      // The chunk's memory may be reused.
      this.message = isWhole ? bytes.slice() : bytes
      return isWhole ? nothing : chunk.subarray(bytes.length - before)
    }
    this.message = nothing
    this.take(step.message, out)
    const used = Math.max(0, step.used - before)
    return used === chunk.length ? nothing : chunk.subarray(used)
  }

  private readMessage(bytes: Uint8Array): Step | undefined {
    if (this.state === 'greeting') return readGreeting(bytes, this.claim.kind === 'port')
    return this.state === 'credentials' ? readUser(bytes) : readRequest(bytes)
  }

  private take(message: Message, out: ClientEvent[]): void {
    if (message.type === 'refuse') return this.refuse(message, out)
    if (message.type === 'method') {
      this.state = message.method === usernamePassword ? 'credentials' : 'request'
      out.push({ type: 'reply', bytes: asks[message.method] })
      return
    }
    const isLogin = message.type === 'credentials'
    this.state = isLogin ? 'verdict' : 'connected'
    if (isLogin) this.claim = { kind: 'password', credentials: message.credentials }
    const asker = { wayIn: 'socks5', source: this.client.source, claim: this.claim } as const
    if (isLogin) out.push({ type: 'login', asker })
    else if (message.type === 'associate')
      out.push({ type: 'request', request: { ...asker, asks: 'datagrams', codec: socksDatagrams } })
    else out.push({ type: 'request', request: { ...asker, asks: 'tunnel', target: message.target } })
  }

  private refuse(event: Extract<ClientEvent, { type: 'refuse' }>, out: ClientEvent[]): void {
    this.state = 'closed'
    this.early.take()
    out.push(event)
  }
}

function toReplyTo(verdict: Verdict): Uint8Array {
  if (verdict.refusal !== undefined) return socksReply(refusalOf(verdict.refusal).socks)
  return verdict.bound ? toAssociateReply(verdict.bound.address, verdict.bound.port) : socksReply(0)
}

const refused = (bytes: Uint8Array, code: string): Step => ({ message: { type: 'refuse', bytes, code }, used: 0 })

/** RFC 1928, 3. Credentials are preferred over anonymous access. */
function readGreeting(bytes: Uint8Array, allowAnonymous: boolean): Step | undefined {
  if (bytes[0] !== 5) return refused(noMethod, 'bad_request')
  const count = bytes[1]
  if (count === undefined || bytes.length < 2 + count) return needMore
  const used = 2 + count
  const offers = (method: Method): boolean => {
    for (let at = 2; at < used; at += 1) if (bytes[at] === method) return true
    return false
  }
  const method = offers(usernamePassword)
    ? usernamePassword
    : allowAnonymous && offers(anonymous)
      ? anonymous
      : undefined
  if (method === undefined) return refused(noMethod, 'credentials_required')
  return { message: { type: 'method', method }, used }
}

/** RFC 1929, 2. Empty names and passwords are passed on and refused later. */
function readUser(bytes: Uint8Array): Step | undefined {
  if (bytes[0] !== 1) return refused(denied, 'bad_request')
  const nameEnd = 2 + (bytes[1] ?? 0)
  const passwordLength = bytes[nameEnd]
  if (bytes.length < 2 || passwordLength === undefined) return needMore
  const used = nameEnd + 1 + passwordLength
  if (bytes.length < used) return needMore
  const credentials = readLogin(latin1Slice.call(bytes, 0, used), nameEnd)
  if (!credentials) return refused(denied, 'bad_credentials')
  return { message: { type: 'credentials', credentials }, used }
}

/** RFC 1928, 4. Each byte is checked as soon as it is there. */
function readRequest(bytes: Uint8Array): Step | undefined {
  // Array destructuring is slower.
  const command = bytes[1]
  const reserved = bytes[2]
  const kind = bytes[3]
  if (bytes[0] !== 5) return refused(socksReply(1), 'bad_request')
  // RFC 1928, 6: BIND is not supported.
  if (command !== undefined && command !== commandConnect && command !== commandAssociate)
    return refused(socksReply(7), 'command_unsupported')
  if (reserved !== undefined && reserved !== 0) return refused(socksReply(1), 'bad_request')
  if (kind === undefined) return needMore
  if (kind !== 1 && kind !== 3 && kind !== 4) return refused(socksReply(8), 'address_type_unsupported')
  const from = kind === 3 ? 5 : 4
  const length = kind === 3 ? bytes[4] : kind === 1 ? 4 : 16
  if (length === undefined) return needMore
  if (length === 0) return refused(socksReply(1), 'bad_request')
  const used = from + length + 2
  if (bytes.length < used) return needMore
  if (command === commandAssociate) return { message: { type: 'associate' }, used }
  const host = readTargetHost(kind, bytes, used - 2)
  const port = ((bytes[used - 2] ?? 0) << 8) | (bytes[used - 1] ?? 0)
  if (host === undefined || port === 0) return refused(socksReply(1), 'bad_request')
  return { message: { type: 'connect', target: { host, port } }, used }
}
