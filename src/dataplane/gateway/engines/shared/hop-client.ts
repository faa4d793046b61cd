import { createHash, type KeyObject, X509Certificate } from 'node:crypto'
import type { Socket, SocketHandler } from 'bun'
import type { After, Clock } from '../../../../core/time.ts'
import type { NodeGateway } from '../../../../node-protocol/state.ts'
import { BunTls, type TlsOwner } from '../../../tls/tls-socket.ts'
import { type HopProblem, textOfHop } from '../../dial/upstream.ts'
import type { TlsClient } from '../../sides/tls-client.ts'
import { toLatin1 } from '../../ways-in/http1/head.ts'
import type { Field } from '../../ways-in/http2/hpack.ts'
import { Http2Session } from '../../ways-in/http2/session.ts'
import type { Http2Stream, StreamOwner } from '../../ways-in/http2/stream.ts'

/** Connections to one gateway. */
const maxConnections = 32
/** Another connection is opened when the least busy one has this many streams. */
const growAtStreams = 250
/** Streams that wait for a connection, per gateway. */
const maxWaiting = 1000
const connectMs = 3000
/** Pause after a failed connection; it doubles up to the maximum. */
const firstPauseMs = 100
const maxPauseMs = 2000
const lookEveryMs = 250
/** A silent connection is pinged. */
const pingAfterMs = 5000
/**
 * Looks without an answer to a ping: after the first number a connection gets no new stream, after the second its
 * unanswered requests go elsewhere, after the third it ends. Looks and not time, because this process may stall itself.
 */
const looksToSuspect = 8
const looksToAskElsewhere = 16
const looksToEnd = 24
const maxHeadBytes = 4096
const maxTries = 3

/** With its length in front (RFC 7301, 3.1). */
const onlyHttp2 = Buffer.from('\x02h2', 'latin1')
const nothing = new Uint8Array(0)

/** A method of Bun's TLS sockets that they do not declare. */
type WithCertificate = { getPeerX509Certificate?(): X509Certificate | undefined }

/** A gateway with a TLS port. */
export type HopGateway = NodeGateway & { readonly tls: NonNullable<NodeGateway['tls']> }

export const hasTls = (gateway: NodeGateway): gateway is HopGateway => gateway.tls !== null && gateway.tls !== undefined

/** The state of the connections to one gateway. */
export type HopState = {
  readonly id: string
  readonly isUp: boolean
  readonly sinceAt: number
  readonly reason: string
  readonly connections: number
  readonly streams: number
}

/** SHA-256 of a certificate's public key (RFC 7469, 2.4), base64url. */
export const pinOf = (certificate: X509Certificate): string => digestOf(certificate.publicKey)

const digestOf = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url')

/** By the key that the shop names, or by a public certificate for the gateway's name. */
function isGateway(tls: HopGateway['tls'], certificate: X509Certificate | undefined, isPublic: boolean): boolean {
  if (!certificate) return false
  if (pinOf(certificate) === tls.key) return true
  return isPublic && tls.name !== null && certificate.checkHost(tls.name) !== undefined
}

/**
 * Whether a handshake ended, and only the certificate's authority or name is not trusted. Bun then calls it failed. A
 * handshake that failed itself has the code of a protocol error or of a lost connection.
 */
function isOnlyUntrusted(error: Error | null): boolean {
  const code = error && 'code' in error ? String(error.code) : 'EPROTO'
  return code !== 'EPROTO' && !code.startsWith('ECONN')
}

/**
 * One hop as the engine sees it: an HTTP/1.1 connection to the other gateway's proxy port. The engine writes the head
 * of a CONNECT; it becomes a stream of an HTTP/2 connection.
 */
export class HopLine implements TlsClient, StreamOwner {
  owner: TlsOwner | undefined
  isClosed = false
  readonly source = ''
  fields: readonly Field[] | undefined
  tries = 0
  private head = ''
  private stream: Http2Stream | undefined
  private isPaused = false
  private hasAnswer = false
  private answer: Uint8Array = nothing

  constructor(
    readonly gateway: HopGateway,
    private readonly pool: Pick<HopConnections, 'request' | 'withdraw'>,
  ) {}

  /** Both directions have ended. Otherwise a closed line was cut off. */
  get hasEnded(): boolean {
    return this.stream?.hasRemoteEnded === true
  }

  follow(): undefined {
    return undefined
  }

  // --- from the engine ---

  write(bytes: Uint8Array): number {
    if (this.stream) return this.stream.write(bytes)
    if (this.fields || this.isClosed) return 0
    this.head += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    const end = this.head.indexOf('\r\n\r\n')
    if (end < 0) {
      if (this.head.length > maxHeadBytes) this.terminate()
      return bytes.length
    }
    const rest = this.head.length - end - 4
    this.fields = readConnect(this.head.slice(0, end))
    this.head = ''
    if (this.fields) this.pool.request(this)
    else this.terminate()
    return bytes.length - rest
  }

  shutdown(): void {
    this.stream?.shutdown()
  }

  end(): void {
    if (this.stream) this.stream.end()
    else this.terminate()
  }

  terminate(): void {
    if (this.stream) return this.stream.terminate()
    this.pool.withdraw(this)
    this.close()
  }

  pause(): void {
    this.isPaused = true
    this.stream?.pause()
  }

  resume(): void {
    this.isPaused = false
    this.deliverAnswer()
    if (!this.isPaused) this.stream?.resume()
  }

  setNoDelay(): void {}

  // --- from the pool ---

  begin(stream: Http2Stream): void {
    this.tries += 1
    this.stream = stream
    stream.owner = this
    if (this.isPaused) stream.pause()
  }

  get isUnanswered(): boolean {
    return !this.hasAnswer && !this.isClosed
  }

  /** Asks over another connection. If the gateway got the first request after all, it refuses the ticket as used. */
  askElsewhere(): void {
    const { stream } = this
    this.stream = undefined
    if (stream) stream.owner = undefined
    stream?.terminate()
    if (this.tries < maxTries) this.pool.request(this)
    else this.fail('hop_silent')
  }

  /** No stream could be opened. */
  fail(problem: HopProblem): void {
    if (this.isClosed) return
    this.answerWith(502, problem)
  }

  // --- from the stream ---

  onFields(fields: readonly Field[]): void {
    const valueOf = (name: string): string | undefined => fields.find((field) => field[0] === name)?.[1]
    this.answerWith(Number(valueOf(':status')), valueOf('x-turnpike-error'))
  }

  onSocketData(bytes: Uint8Array): void {
    this.owner?.onSocketData(bytes)
  }

  onSocketDrain(): void {
    this.owner?.onSocketDrain()
  }

  onSocketEnd(): void {
    this.owner?.onSocketEnd()
  }

  onSocketClose(): void {
    const isUnprocessed = this.stream?.wasRefused === true && !this.hasAnswer && this.tries < maxTries
    if (!isUnprocessed) return this.close()
    this.stream = undefined
    this.pool.request(this)
  }

  private answerWith(status: number, code: string | undefined): void {
    this.hasAnswer = true
    const isCode = code !== undefined && /^\w{1,40}$/.test(code)
    this.answer = toLatin1(`HTTP/1.1 ${status} \r\n${isCode ? `X-Turnpike-Error: ${code}\r\n` : ''}\r\n`)
    this.deliverAnswer()
  }

  private deliverAnswer(): void {
    const { answer } = this
    if (this.isPaused || answer.length === 0) return
    this.answer = nothing
    this.owner?.onSocketData(answer)
    if (!this.stream) this.owner?.onSocketEnd()
  }

  private close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.owner?.onSocketClose()
  }
}

/** The fields of a CONNECT from its head. */
function readConnect(head: string): readonly Field[] | undefined {
  const authority = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1]
  const ticket = /\r\nProxy-Authorization: (.+?)(?:\r\n|$)/.exec(head)?.[1]
  if (authority === undefined || ticket === undefined) return undefined
  return [
    [':method', 'CONNECT'],
    [':authority', authority],
    ['proxy-authorization', ticket],
  ]
}

/** What the pool knows of one gateway. */
type Peer = {
  gateway: HopGateway
  readonly connections: Set<HopConnection>
  readonly waiting: Set<HopLine>
  failures: number
  /** No connection is tried before. */
  retryAt: number
  problem: HopProblem | undefined
  sinceAt: number
}

type PoolDeps = {
  /** Monotonic. */
  readonly clock: Clock
  /** For `sinceAt`. */
  readonly wallClock: Clock
  readonly after: After
  readonly random: () => number
  readonly onFault: (fault: unknown) => void
  /** Trusted instead of the public authorities, PEM. */
  readonly ca?: string
}

/** One TLS connection to a gateway. */
class HopConnection {
  session: Http2Session | undefined
  private socket: Socket<unknown> | undefined
  private isOver = false
  private openedAt = 0
  private pingedAt: number | undefined
  private looksSincePing = 0
  private unanswered = new Set<HopLine>()
  private readonly cancelTimeout: () => void

  constructor(
    readonly peer: Peer,
    private readonly deps: PoolDeps,
    private readonly pool: {
      opened(connection: HopConnection): void
      idle(connection: HopConnection): void
      ended(connection: HopConnection, problem: HopProblem, wasHealthy: boolean): void
    },
  ) {
    this.cancelTimeout = deps.after(connectMs, () => this.fail('hop_silent'))
    const { host, tls } = peer.gateway
    const options = {
      hostname: host,
      port: tls.port,
      allowHalfOpen: true,
      socket: this.handlers(),
      // Judged by isGateway().
      tls: {
        rejectUnauthorized: false,
        ALPNProtocols: onlyHttp2,
        serverName: tls.name ?? undefined,
        ...(deps.ca !== undefined && { ca: deps.ca }),
      },
    }
    Bun.connect(options as never).catch((error: unknown) => this.fail(toProblem(error)))
  }

  /** Whether it can take a stream now. */
  get mayOpen(): boolean {
    const { session } = this
    if (!session || session.isExhausted || this.looksSincePing >= looksToSuspect) return false
    return session.openStreams < session.peerMaxStreams
  }

  get isConnecting(): boolean {
    return this.session === undefined
  }

  get openStreams(): number {
    return this.session?.openStreams ?? 0
  }

  request(line: HopLine): void {
    const { session } = this
    if (!session || !line.fields) return
    line.begin(session.request(line.fields, false))
    this.unanswered.add(line)
    // Finds out whether the connection is alive sooner than the answer's time limit.
    if (this.deps.clock() - session.receivedAt >= lookEveryMs) this.ping(session)
  }

  look(): void {
    const { session } = this
    if (!session) return
    if (this.pingedAt !== undefined && session.receivedAt >= this.pingedAt) this.pingedAt = undefined
    this.looksSincePing = this.pingedAt === undefined ? 0 : this.looksSincePing + 1
    this.lookAtLines()
    if (this.looksSincePing >= looksToEnd) this.fail('hop_silent')
    else if (this.deps.clock() - session.receivedAt >= pingAfterMs) this.ping(session)
  }

  private lookAtLines(): void {
    const waiting = [...this.unanswered].filter((line) => line.isUnanswered)
    const isLate = this.looksSincePing >= looksToAskElsewhere
    this.unanswered = new Set(isLate ? [] : waiting)
    if (isLate) for (const line of waiting) line.askElsewhere()
  }

  /** Ends after its last stream. */
  retire(): void {
    if (this.session) this.session.drain()
    else this.fail('hop_silent')
  }

  fail(problem: HopProblem): void {
    if (this.isOver) return
    this.isOver = true
    this.cancelTimeout()
    this.session?.terminate()
    this.socket?.terminate()
    this.pool.ended(this, problem, this.openedAt > 0 && this.deps.clock() - this.openedAt >= lookEveryMs)
  }

  private ping(session: Http2Session): void {
    if (this.pingedAt !== undefined) return
    this.pingedAt = this.deps.clock()
    session.ping()
  }

  private handlers(): SocketHandler {
    return {
      open: (socket) => {
        this.socket = socket
        if (this.isOver) socket.terminate()
      },
      handshake: (socket, isDone, error) => this.guard(() => this.shake(socket, isDone, error)),
      data: (_, bytes) => this.guard(() => this.session?.onSocketData(bytes)),
      drain: () => this.guard(() => this.session?.onSocketDrain()),
      end: () => this.fail('hop_broken'),
      close: () => this.fail('hop_broken'),
      error() {},
    }
  }

  private shake(socket: Socket<unknown> & WithCertificate, isDone: boolean, error: Error | null): void {
    if (this.isOver) return
    const certificate = socket.getPeerX509Certificate?.()
    const isOver = isDone || isOnlyUntrusted(error)
    if (!isOver || !isGateway(this.peer.gateway.tls, certificate, error === null)) return this.fail('hop_certificate')
    const tls = new BunTls(socket, '')
    if (tls.protocol !== 'h2') return this.fail('hop_protocol')
    tls.setNoDelay(true)
    this.cancelTimeout()
    this.openedAt = this.deps.clock()
    this.session = new Http2Session({
      wire: tls,
      role: 'client',
      clock: this.deps.clock,
      onIdle: () => this.pool.idle(this),
      onClosed: () => this.fail('hop_broken'),
    })
    this.session.trust()
    this.pool.opened(this)
  }

  private guard(act: () => void): void {
    try {
      act()
    } catch (fault) {
      this.deps.onFault(fault)
      this.fail('hop_broken')
    }
  }
}

function toProblem(error: unknown): HopProblem {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code === 'ECONNREFUSED' ? 'hop_no_listener' : 'hop_unreachable'
}

/** Connections to the TLS ports of other gateways, kept open, each with many hops. */
export class HopConnections {
  private readonly peers = new Map<string, Peer>()
  private readonly connections = new Set<HopConnection>()
  /** Gateways to stay connected with. */
  private kept: ReadonlySet<string> = new Set()
  private isDraining = false
  private isClosed = false
  private cancelLook: (() => void) | undefined

  constructor(private readonly deps: PoolDeps) {}

  /** A hop. Its first bytes are the head of a CONNECT. */
  open(gateway: HopGateway): HopLine {
    return new HopLine(gateway, this)
  }

  /** The gateways as the shop names them now. Connections to others end after their last stream. */
  keep(gateways: ReadonlyMap<string, NodeGateway>, connected: readonly string[]): void {
    this.kept = new Set(connected)
    for (const [id, peer] of this.peers) {
      const now = gateways.get(id)
      if (now && hasTls(now) && isSame(now, peer.gateway)) continue
      this.peers.delete(id)
      for (const connection of peer.connections) connection.retire()
      for (const line of peer.waiting) line.fail('hop_unreachable')
    }
    for (const id of connected) {
      const gateway = gateways.get(id)
      if (gateway && hasTls(gateway)) this.peerOf(gateway)
    }
    this.look()
  }

  /** Another process has taken over: connections end with their last hop. */
  drain(): void {
    this.isDraining = true
    this.kept = new Set()
    for (const connection of this.connections) if (connection.openStreams === 0) connection.retire()
  }

  close(): void {
    this.isClosed = true
    this.cancelLook?.()
    for (const connection of this.connections) connection.fail('hop_broken')
    this.peers.clear()
  }

  get states(): readonly HopState[] {
    return [...this.peers.values()]
      .filter(({ connections, problem }) => problem !== undefined || [...connections].some((each) => each.session))
      .map(({ gateway, connections, problem, sinceAt }) => ({
        id: gateway.id,
        isUp: [...connections].some((each) => each.session !== undefined),
        sinceAt,
        reason: problem === undefined ? '' : textOfHop(problem),
        connections: connections.size,
        streams: [...connections].reduce((sum, each) => sum + each.openStreams, 0),
      }))
  }

  // --- for lines ---

  request(line: HopLine): void {
    if (this.isClosed) return line.fail('hop_broken')
    const peer = this.peerOf(line.gateway)
    const best = leastBusy(peer.connections)
    if (!best || best.openStreams >= growAtStreams) this.grow(peer)
    if (best) best.request(line)
    else if (![...peer.connections].some((each) => each.isConnecting)) line.fail(peer.problem ?? 'hop_full')
    else if (peer.waiting.size >= maxWaiting) line.fail('hop_full')
    else peer.waiting.add(line)
  }

  withdraw(line: HopLine): void {
    this.peers.get(line.gateway.id)?.waiting.delete(line)
  }

  // --- for connections ---

  opened({ peer }: HopConnection): void {
    if (peer.problem !== undefined || peer.sinceAt === 0) peer.sinceAt = this.deps.wallClock()
    peer.problem = undefined
    peer.failures = 0
    const waiting = [...peer.waiting]
    peer.waiting.clear()
    for (const line of waiting) this.request(line)
  }

  idle(connection: HopConnection): void {
    if (this.isDraining) connection.retire()
  }

  ended(connection: HopConnection, problem: HopProblem, wasHealthy: boolean): void {
    const { peer } = connection
    this.connections.delete(connection)
    peer.connections.delete(connection)
    if (!wasHealthy) {
      peer.failures += 1
      const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** (peer.failures - 1))
      peer.retryAt = this.deps.clock() + pauseMs * (0.5 + this.deps.random() / 2)
      if (peer.problem === undefined && peer.connections.size === 0) peer.sinceAt = this.deps.wallClock()
      if (peer.connections.size === 0) peer.problem = problem
    }
    const waiting = [...peer.waiting]
    peer.waiting.clear()
    for (const line of waiting) {
      if (wasHealthy) this.request(line)
      else line.fail(problem)
    }
  }

  private peerOf(gateway: HopGateway): Peer {
    const known = this.peers.get(gateway.id)
    if (known) return known
    const peer: Peer = {
      gateway,
      connections: new Set(),
      waiting: new Set(),
      failures: 0,
      retryAt: 0,
      problem: undefined,
      sinceAt: 0,
    }
    this.peers.set(gateway.id, peer)
    return peer
  }

  /** Opens a connection unless one is being opened, there are enough, or the last one failed a moment ago. */
  private grow(peer: Peer): void {
    const isConnecting = [...peer.connections].some((each) => each.isConnecting)
    if (isConnecting || peer.connections.size >= maxConnections || this.deps.clock() < peer.retryAt) return
    const connection = new HopConnection(peer, this.deps, this)
    this.connections.add(connection)
    peer.connections.add(connection)
    this.lookLater()
  }

  private look(): void {
    this.cancelLook?.()
    this.cancelLook = undefined
    for (const connection of this.connections) connection.look()
    for (const id of this.kept) {
      const peer = this.peers.get(id)
      if (peer && !leastBusy(peer.connections)) this.grow(peer)
    }
    this.lookLater()
  }

  private lookLater(): void {
    if (this.cancelLook || this.isClosed || (this.kept.size === 0 && this.connections.size === 0)) return
    this.cancelLook = this.deps.after(lookEveryMs, () => this.look())
  }
}

const isSame = (a: HopGateway, b: HopGateway): boolean =>
  a.host === b.host && a.tls.port === b.tls.port && a.tls.name === b.tls.name && a.tls.key === b.tls.key

function leastBusy(connections: Iterable<HopConnection>): HopConnection | undefined {
  let best: HopConnection | undefined
  for (const each of connections) if (each.mayOpen && each.openStreams < (best?.openStreams ?? Infinity)) best = each
  return best
}
