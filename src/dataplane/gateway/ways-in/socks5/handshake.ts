import { formatAddress, readAddress, unmap } from '../../../../core/address.ts'
import { type ConnectTarget, readHost } from '../authority.ts'
import { HeldBytes, joinBytes, latin1Slice } from '../bytes.ts'
import { type Credentials, readLogin } from '../http1/basic-auth.ts'

/** Detects the protocol by the first byte: a SOCKS version (RFC 1928, 3) or a letter of an HTTP method. */
export function detect(firstByte: number): 'http' | 'socks5' | 'socks4' | 'unknown' {
  if (firstByte === 5) return 'socks5'
  if (firstByte === 4) return 'socks4'
  const lower = firstByte | 0x20
  return firstByte < 0x80 && lower >= 0x61 && lower <= 0x7a ? 'http' : 'unknown'
}

export type SocksEvent =
  | { readonly type: 'reply'; readonly bytes: Uint8Array }
  /** Answer with accept() or deny(); after accept() call next(). */
  | { readonly type: 'credentials'; readonly credentials: Credentials }
  /** Answer with socksReply(); early bytes are in rest(). */
  | { readonly type: 'connect'; readonly target: ConnectTarget }
  /** UDP ASSOCIATE. The address that the client expects to send from is ignored: NAT changes it. */
  | { readonly type: 'associate' }
  /** Write, then close. */
  | { readonly type: 'refuse'; readonly bytes: Uint8Array; readonly code: string }

/** `allowAnonymous`: for clients admitted by address. */
type SocksOptions = { readonly allowAnonymous: boolean; readonly heldBytes: number }

type Step = { readonly event: SocksEvent | undefined; readonly used: number }

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
const noMethod = Uint8Array.of(5, 0xff)
const asks = { [anonymous]: Uint8Array.of(5, anonymous), [usernamePassword]: Uint8Array.of(5, usernamePassword) }

/** RFC 1928, 6. The bound address is reported as 0.0.0.0:0. */
export const socksReply = (code: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8): Uint8Array => replies[code] ?? toReply(code)

/** SOCKS4 and 4a have no passwords: reply 91. */
export const socks4Refusal: Uint8Array = Uint8Array.of(0, 0x5b, 0, 0, 0, 0, 0, 0)

/** Incremental SOCKS5 server (RFC 1928, 1929); stops for the verdict and after the request. */
export class Socks5Reader {
  private readonly allowAnonymous: boolean
  private readonly early: HeldBytes
  /** Incomplete message. */
  private message: Uint8Array = nothing
  private state: 'greeting' | 'credentials' | 'verdict' | 'request' | 'connected' | 'closed' = 'greeting'

  constructor(options: Partial<SocksOptions> = {}) {
    this.allowAnonymous = options.allowAnonymous ?? false
    this.early = new HeldBytes(options.heldBytes ?? 256 * 1024)
  }

  feed(chunk: Uint8Array): SocksEvent[] {
    const out: SocksEvent[] = []
    let rest = chunk
    while (rest.length > 0 && this.isReading()) rest = this.readSome(rest, out)
    if ((this.state === 'verdict' || this.state === 'connected') && !this.early.add(rest)) {
      this.take({ type: 'refuse', bytes: socksReply(1), code: 'bad_request' }, out)
    }
    return out
  }

  /** Accepts the credentials: write the result, then call next(). */
  accept(): Uint8Array {
    if (this.state !== 'verdict') throw new Error('there are no credentials to accept')
    this.state = 'request'
    return welcome
  }

  /** Rejects the credentials: write the result and close (RFC 1929, 2). */
  deny(): Uint8Array {
    this.state = 'closed'
    this.early.take()
    return Uint8Array.of(1, 1)
  }

  /** Parses bytes that arrived before accept(). */
  next(): SocksEvent[] {
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
  private readSome(chunk: Uint8Array, out: SocksEvent[]): Uint8Array {
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
    if (step.event) this.take(step.event, out)
    const used = Math.max(0, step.used - before)
    return used === chunk.length ? nothing : chunk.subarray(used)
  }

  private readMessage(bytes: Uint8Array): Step | undefined {
    if (this.state === 'greeting') return readGreeting(bytes, this.allowAnonymous)
    return this.state === 'credentials' ? readUser(bytes) : readRequest(bytes)
  }

  private take(event: SocksEvent, out: SocksEvent[]): void {
    out.push(event)
    if (event.type === 'refuse') {
      this.state = 'closed'
      this.early.take()
    } else if (event.type === 'reply') this.state = event.bytes[1] === usernamePassword ? 'credentials' : 'request'
    else this.state = event.type === 'credentials' ? 'verdict' : 'connected'
  }
}

const refused = (bytes: Uint8Array, code: string): Step => ({ event: { type: 'refuse', bytes, code }, used: 0 })

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
  return { event: { type: 'reply', bytes: asks[method] }, used }
}

/** RFC 1929, 2. Empty names and passwords are passed on and refused later. */
function readUser(bytes: Uint8Array): Step | undefined {
  if (bytes[0] !== 1) return refused(Uint8Array.of(1, 1), 'bad_request')
  const nameEnd = 2 + (bytes[1] ?? 0)
  const passwordLength = bytes[nameEnd]
  if (bytes.length < 2 || passwordLength === undefined) return needMore
  const used = nameEnd + 1 + passwordLength
  if (bytes.length < used) return needMore
  const credentials = readLogin(latin1Slice.call(bytes, 0, used), nameEnd)
  if (!credentials) return refused(Uint8Array.of(1, 1), 'bad_credentials')
  return { event: { type: 'credentials', credentials }, used }
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
  if (command === commandAssociate) return { event: { type: 'associate' }, used }
  const host = readTargetHost(kind, bytes, used - 2)
  const port = ((bytes[used - 2] ?? 0) << 8) | (bytes[used - 1] ?? 0)
  if (host === undefined || port === 0) return refused(socksReply(1), 'bad_request')
  return { event: { type: 'connect', target: { host, port } }, used }
}

/**
 * The host of a request or of a datagram, whose addresses begin at the same offset. As a domain, clients such as curl
 * also send an address in canonical form.
 */
export function readTargetHost(kind: number, bytes: Uint8Array, end: number): string | undefined {
  if (kind === 1) return `${bytes[4]}.${bytes[5]}.${bytes[6]}.${bytes[7]}`
  if (kind === 4) return formatAddress(unmap({ version: 6, bytes: bytes.subarray(4, 20) }))
  const text = latin1Slice.call(bytes, 5, end)
  const name = readHost(text)
  if (name !== undefined) return name
  const address = readAddress(text)
  return address && formatAddress(address) === text ? text : undefined
}
