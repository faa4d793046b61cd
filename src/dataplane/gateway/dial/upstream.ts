import { type Address, formatAddress, readAddress, unmap } from '../../../core/address.ts'
import { classify } from '../../../core/reserved.ts'
import type { NodeExit, NodeGateway } from '../../../node-protocol/state.ts'
import { triedLogin } from '../access/exit-choice.ts'
import type { Policy } from '../access/policy.ts'
import { type ConnectTarget, formatAuthority } from '../ways-in/authority.ts'
import { isRefusalCode, type RefusalCode } from '../ways-in/refusals.ts'
import type { Resolve } from './resolve.ts'

/** With `problem` the upstream itself fails; without, the destination cannot be reached. */
type UpstreamFailure = { readonly type: 'failed'; readonly refusal: RefusalCode; readonly problem?: string }

type UpstreamStep =
  | { readonly type: 'write'; readonly bytes: Uint8Array }
  | { readonly type: 'open'; readonly rest: Uint8Array }
  | UpstreamFailure

/** Incremental client handshake: bytes in, steps out. Ends with `open` or `failed`. */
export type UpstreamTalk = { begin(): Uint8Array; feed(chunk: Uint8Array): readonly UpstreamStep[] }

const maxHeadBytes = 16 * 1024
const failed = (problem: string): UpstreamFailure => ({ type: 'failed', refusal: 'exit_failed', problem })
const unreached = (refusal: RefusalCode): UpstreamFailure => ({ type: 'failed', refusal })

/** Handshake with a proxy, to a literal address. */
export function talkTo(exit: NodeExit, target: ConnectTarget): UpstreamTalk {
  return exit.kind === 'http'
    ? connectTalk(formatAuthority(target), basicOf(exit), readConnected)
    : socksTalk(exit, target)
}

/**
 * Health check: stops where the login is accepted. An HTTP proxy is asked for a name that never resolves (RFC 6761,
 * 6.4), so no traffic is used.
 */
export function tryOut(exit: NodeExit): UpstreamTalk {
  return exit.kind === 'http'
    ? connectTalk(formatAuthority(triedTarget), basicOf(exit), readTried)
    : socksTalk(exit, undefined)
}

/** Why this gateway has no TLS connection to another one. */
const tlsHopProblems = {
  hop_no_listener: 'it refuses connections',
  hop_silent: 'it does not answer',
  hop_unreachable: 'it cannot be reached',
  hop_certificate: 'the certificate at its TLS port is not the one of its gateway',
  hop_protocol: 'its TLS port does not offer HTTP/2',
  hop_broken: 'the connection to its gateway broke',
  hop_full: 'there are too many connections to its gateway',
} as const
export type HopProblem = keyof typeof tlsHopProblems
export const textOfHop = (problem: HopProblem): string => tlsHopProblems[problem]

/** Refusals that are about the other gateway or its exit. */
const hopProblems: Readonly<Record<string, string>> = {
  ...tlsHopProblems,
  hop_refused: 'its gateway does not take our hop',
  hop_late: 'the clocks of its gateway and of this one lie too far apart',
  no_exit: 'its gateway cannot leave through it',
  exit_failed: 'its gateway cannot leave through it',
  address_unavailable: 'its gateway does not have the address',
  gateway_full: 'its gateway is full',
  gateway_stopping: 'its gateway is stopping',
  gateway_closed: 'its gateway is closed',
  credentials_required: 'the endpoint is another gateway, or runs an older version',
  bad_credentials: 'the endpoint is another gateway, or runs an older version',
}

const readHop: ReadStatus = (status, code) => {
  if (status >= 200 && status < 300) return 'open'
  if (code === undefined) return failed('the endpoint is no gateway of this shop')
  const problem = hopProblems[code]
  if (problem !== undefined) return failed(problem)
  return unreached(isRefusalCode(code) ? code : 'unreachable')
}

/** Health check of a hop; see tryOut(). */
const readTriedHop: ReadStatus = (status, code) => {
  const outcome = readHop(status, code)
  return outcome === 'open' || outcome.problem === undefined ? 'open' : outcome
}

/** RFC 6761, 6.4: never resolves. */
const triedTarget: ConnectTarget = { host: 'turnpike.invalid', port: 443 }

type ReadStatus = (status: number, code: string | undefined) => 'open' | UpstreamFailure

/** The login is rejected or the account unpaid. */
const isRejected = (status: number): boolean => status === 401 || status === 402 || status === 407

const readConnected: ReadStatus = (status) => {
  if (status >= 200 && status < 300) return 'open'
  if (isRejected(status)) return failed(`it does not take our login (${status})`)
  if (status < 400) return failed(`it answers with ${status}`)
  if (status === 504) return unreached('connect_timeout')
  return unreached(status === 502 || status === 503 ? 'unreachable' : 'exit_failed')
}

const readTried: ReadStatus = (status) =>
  isRejected(status) ? failed(`it does not take our login (${status})`) : 'open'

const basicOf = ({ credentials }: NodeExit): string | undefined =>
  credentials ? `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}` : undefined

/** RFC 9110, 9.3.6. */
function connectTalk(authority: string, authorization: string | undefined, read: ReadStatus): UpstreamTalk {
  let answer = Buffer.alloc(0)
  return {
    begin() {
      const login = authorization === undefined ? '' : `Proxy-Authorization: ${authorization}\r\n`
      return Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${login}\r\n`)
    },
    feed(chunk) {
      answer = Buffer.concat([answer, chunk])
      const end = answer.indexOf('\r\n\r\n')
      if (end < 0 ? answer.length >= maxHeadBytes + 4 : end > maxHeadBytes) return [failed('its answer has no end')]
      if (end < 0) return []
      const head = answer.toString('latin1', 0, end)
      const status = /^HTTP\/1\.[01] ([1-5]\d\d)(?: |\r|$)/.exec(head)?.[1]
      const code = /\r\nX-Turnpike-Error: (\w{1,40})(?:\r|$)/.exec(head)?.[1]
      const outcome = status === undefined ? failed('it does not speak HTTP') : read(Number(status), code)
      return [outcome === 'open' ? { type: 'open', rest: answer.subarray(end + 4) } : outcome]
    },
  }
}

type Stage = 'greeting' | 'login' | 'request'

/** RFC 1928, 6: replies about the destination. */
const socksReplies: Readonly<Record<number, RefusalCode>> = {
  2: 'destination_denied',
  3: 'unreachable',
  4: 'unreachable',
  5: 'connect_refused',
  6: 'connect_timeout',
}

/** RFC 1928 with RFC 1929. Without a target it stops before the request. */
function socksTalk({ credentials }: NodeExit, target: ConnectTarget | undefined): UpstreamTalk {
  let stage: Stage = 'greeting'
  let answer = Buffer.alloc(0)

  function ask(next: Stage, bytes: Uint8Array, used: number): UpstreamStep {
    stage = next
    answer = answer.subarray(used)
    return { type: 'write', bytes }
  }

  const request = (): UpstreamStep =>
    target ? ask('request', socksRequest(target), 2) : { type: 'open', rest: answer.subarray(2) }

  /** Undefined while more bytes are needed. */
  function read(): UpstreamStep | undefined {
    if (answer.length < 2) return undefined
    const [first, second = 0] = answer
    if (stage === 'greeting') {
      if (first !== 5) return failed('it does not speak SOCKS5')
      if (second === 0) return request()
      return second === 2 && credentials ? ask('login', socksLogin(credentials), 2) : failed('it wants another login')
    }
    if (stage === 'login') return second === 0 ? request() : failed('it does not take our login')
    if (first !== 5) return failed('it does not speak SOCKS5')
    if (second !== 0) return second <= 8 ? unreached(socksReplies[second] ?? 'exit_failed') : failed('it says nonsense')
    if (answer.length < 5) return undefined
    const length = replyLength(answer)
    if (length === undefined) return failed('it says nonsense')
    return answer.length < length ? undefined : { type: 'open', rest: answer.subarray(length) }
  }

  return {
    begin: () => (credentials ? Uint8Array.of(5, 2, 0, 2) : Uint8Array.of(5, 1, 0)),
    feed(chunk) {
      answer = Buffer.concat([answer, chunk])
      const steps: UpstreamStep[] = []
      for (let step = read(); step; step = read()) {
        steps.push(step)
        if (step.type !== 'write') break
      }
      return steps
    },
  }
}

function socksLogin({ username, password }: { username: string; password: string }): Uint8Array {
  const [name, secret] = [Buffer.from(username), Buffer.from(password)]
  return Buffer.concat([Uint8Array.of(1, name.length), name, Uint8Array.of(secret.length), secret])
}

function socksRequest({ host, port }: ConnectTarget): Uint8Array {
  const address = readAddress(host)
  if (!address) throw new Error('an upstream proxy is given an address, never a name')
  const kind = address.version === 4 ? 1 : 4
  return Buffer.concat([Uint8Array.of(5, 1, 0, kind), address.bytes, Uint8Array.of(port >> 8, port & 255)])
}

/** RFC 1928, 6: the reply's length depends on its address type. */
function replyLength([, , , kind, first = 0]: Uint8Array): number | undefined {
  if (kind === 1) return 10
  if (kind === 4) return 22
  return kind === 3 ? 7 + first : undefined
}

const connectMs = 3000
const tryMs = 5000
/** Rate-limit key of our own lookups. */
const asker = 'exits'
/** RFC 6335: tcpmux; normally nothing listens there. */
const unusedPort = 1

/** What an engine provides for dialling. Nothing is read from an origin before it has an owner. */
export type Dialler<Origin> = {
  /** Absent if routes cannot be looked up. */
  readonly isDeliveredHere?: IsDeliveredHere | undefined
  /** Connects to a literal address, optionally from a local address. */
  connect(there: ConnectTarget, from: string | undefined, maxMs: number): Promise<Connected<Origin>>
  /** A hop over the TLS port of a gateway that has one; absent if this gateway cannot. */
  readonly connectHop?: ((gateway: NodeGateway) => Connected<Origin>) | undefined
  /** Runs a proxy handshake; resolves to early bytes of the destination. A failed origin is closed. */
  converse(origin: Origin, talk: UpstreamTalk, maxMs: number): Promise<Conversed>
}

export type Transport = 'tcp' | 'udp'

/** Whether the kernel would deliver a connection or datagram to this machine itself. */
export type IsDeliveredHere = (there: Address, port: number, from: Address | undefined, transport: Transport) => boolean

export type Connected<Origin> = { readonly origin: Origin } | { readonly refusal: RefusalCode }
export type Conversed = { readonly early: Uint8Array } | ExitRefusal
/** `problem`: the exit is at fault. `isDoubtful`: the exit or the destination is. */
export type ExitRefusal = { readonly refusal: RefusalCode; readonly problem?: string; readonly isDoubtful?: true }

export type Hops = {
  readonly self: string
  readonly findGateway: (id: string) => NodeGateway | undefined
  readonly writeTicket: (to: string, exit: string, target: ConnectTarget) => string
}

/** Connects through upstream proxies and through other gateways, and checks exits. */
export class Upstreams<Origin> {
  constructor(
    private readonly deps: { resolve: Resolve; dialler: Dialler<Origin>; hops: Hops; policy: () => Policy },
  ) {}

  isLocal(exit: NodeExit): boolean {
    return exit.kind === 'local' && this.isOurs(exit)
  }

  async goVia(exit: NodeExit, there: ConnectTarget, maxMs: number) {
    const way = this.wayTo(exit, there)
    return way ? this.converse(way.at, way.talk, maxMs) : noGateway
  }

  /** Why an exit does not work, or undefined. Sends nothing to any destination. */
  async tryExit(exit: NodeExit, drop: (origin: Origin) => void): Promise<string | undefined> {
    if (this.isLocal(exit)) return this.tryAddress(exit.host, drop)
    const way = this.wayTo(exit, undefined)
    const outcome = way ? await this.converse(way.at, way.talk, tryMs) : noGateway
    if ('origin' in outcome) drop(outcome.origin)
    else if (outcome.refusal !== 'gateway_full') return outcome.problem ?? 'it does not answer'
    return undefined
  }

  /**
   * A supplier controls where its name points: it must not point into this machine or its network. An operator can
   * still configure such an address literally.
   */
  private mayBeSupplier(address: Address, port: number): boolean {
    const { allowLoopback, allowLocalDelivery } = this.deps.policy()
    const addressClass = classify(unmap(address))
    if (addressClass === 'loopback' && allowLoopback) return true
    return (
      addressClass === 'public' &&
      (allowLocalDelivery || !this.deps.dialler.isDeliveredHere?.(address, port, undefined, 'tcp'))
    )
  }

  private async findAddress({ host, port, isSupplier }: Spot): Promise<Address | string> {
    const literal = readAddress(host)
    if (literal) return literal
    let problem = 'its name is not known'
    for (const version of [4, 6] as const) {
      const resolved = await this.deps.resolve(host, version, asker)
      if (!('addresses' in resolved)) continue
      const address = resolved.addresses.find((each) => !isSupplier || this.mayBeSupplier(each, port))
      if (address) return address
      problem = 'its name leads to no public address'
    }
    return problem
  }

  private async converse(at: Spot, talk: UpstreamTalk, maxMs: number): Promise<Reached<Origin> | ExitRefusal> {
    const { dialler } = this.deps
    if (at.gateway?.tls && dialler.connectHop) return this.talk(dialler.connectHop(at.gateway), talk, maxMs)
    const startedAt = performance.now()
    const address = await this.findAddress(at)
    if (typeof address === 'string') return { refusal: 'exit_failed', problem: address }
    const there = { host: formatAddress(address), port: at.port }
    const connected = await dialler.connect(there, undefined, Math.min(maxMs, connectMs))
    return this.talk(connected, talk, maxMs - (performance.now() - startedAt))
  }

  private async talk(
    connected: Connected<Origin>,
    talk: UpstreamTalk,
    maxMs: number,
  ): Promise<Reached<Origin> | ExitRefusal> {
    if ('refusal' in connected) {
      // This gateway, not the exit, is out of descriptors.
      if (connected.refusal === 'gateway_full') return connected
      return { refusal: 'exit_failed', problem: connectProblem(connected.refusal) }
    }
    const conversed = await this.deps.dialler.converse(connected.origin, talk, maxMs)
    return 'refusal' in conversed ? conversed : { origin: connected.origin, early: conversed.early }
  }

  private isOurs(exit: NodeExit): boolean {
    return exit.node === null || exit.node === this.deps.hops.self
  }

  /** An address works if its route ends at this machine and a connection can leave from it, even to itself. */
  private async tryAddress(host: string, drop: (origin: Origin) => void): Promise<string | undefined> {
    const missing = 'this machine does not have the address'
    const { dialler } = this.deps
    const address = readAddress(host)
    if (address && dialler.isDeliveredHere?.(address, unusedPort, undefined, 'tcp') === false) return missing
    const connected = await dialler.connect({ host, port: unusedPort }, host, tryMs)
    if ('origin' in connected) drop(connected.origin)
    return 'refusal' in connected && connected.refusal === 'address_unavailable' ? missing : undefined
  }

  /** The peer and handshake for an exit; without a target, for a health check. */
  private wayTo(exit: NodeExit, target: ConnectTarget | undefined): { at: Spot; talk: UpstreamTalk } | undefined {
    if (this.isOurs(exit)) {
      const talk = target ? talkTo(exit, target) : tryOut(triedLogin(exit))
      return { at: { host: exit.host, port: exit.port ?? 0, isSupplier: true }, talk }
    }
    const gateway = this.deps.hops.findGateway(exit.node ?? '')
    if (!gateway) return undefined
    const to = target ?? triedTarget
    const authorization = `Turnpike-Hop ${this.deps.hops.writeTicket(gateway.id, exit.id, to)}`
    const { host, port } = gateway
    const at = { host, port, gateway }
    return { at, talk: connectTalk(formatAuthority(to), authorization, target ? readHop : readTriedHop) }
  }
}

type Reached<Origin> = { readonly origin: Origin; readonly early: Uint8Array }
type Spot = {
  readonly host: string
  readonly port: number
  readonly isSupplier?: true
  readonly gateway?: NodeGateway
}

const noGateway: ExitRefusal = { refusal: 'exit_failed', problem: 'its gateway is not there' }

const connectProblem = (refusal: RefusalCode): string =>
  refusal === 'connect_refused'
    ? 'it refuses connections'
    : refusal === 'connect_timeout'
      ? 'it does not answer'
      : 'it cannot be reached'
