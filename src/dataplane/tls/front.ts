import type { Socket, SocketHandler, TCPSocketListener } from 'bun'
import type { Address } from '../../core/address.ts'
import type { Log } from '../../core/log.ts'
import type { Clock } from '../../core/time.ts'
import { createTokenBuckets } from '../../core/token-buckets.ts'
import { Bridge, innerHandlers } from './bridge.ts'
import type { Certificate } from './certificate.ts'
import { Handshake, Handshakes, type Prefixes, prefixesOf, Seat, Seats } from './seats.ts'
import { TlsSocket } from './tls-socket.ts'

const handshakeMs = 10_000
const lookEveryMs = 250
/** Handshakes under way: per IPv4 address or IPv6 /64, and in all. An IPv6 /48 may have twice as many. */
const maxOfNetwork = 128
const maxShaking = 2048
const minShaking = 32
/** Handshakes started per second, 0.25 ms each: per address or /64, per IPv6 /48, and in all. */
const ofNetwork = { perSecond: 400, burst: 800 }
const ofIpv6Site = { perSecond: 800, burst: 1600 }
const ofAll = { perSecond: 1500, burst: 3000 }
/** Beyond this rate an address may only use the upper half of the overall bucket. */
const fairShare = { perSecond: 20, burst: 100 }
/** Forward secrecy and AES-GCM only: all have the same record overhead, which delivery tracking relies on. */
const ciphers = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
].join(':')

class Connection {
  tls: TlsSocket | undefined
  isShaking = true
  readonly seat: Seat
  readonly handshake: Handshake

  constructor(
    /** The accepted socket, later its TLS twin. */
    public socket: Socket<unknown>,
    readonly source: string,
    readonly prefixes: Prefixes,
    cameAt: number,
    on: { readonly spared: (one: Connection) => void; readonly late: (one: Connection) => void },
  ) {
    const close = () => on.spared(this)
    this.seat = new Seat(prefixes, close)
    this.handshake = new Handshake(new Seat(prefixes, close), cameAt, () => on.late(this))
  }
}

/** Counts per address or IPv6 /64, and per IPv6 /48. */
class Counts {
  private readonly counts = new Map<string, number>()

  of = (prefix: string): number => this.counts.get(prefix) ?? 0

  add({ clientPrefix, network }: Prefixes, change: 1 | -1): void {
    for (const prefix of new Set([clientPrefix, network])) {
      const count = this.of(prefix) + change
      if (count > 0) this.counts.set(prefix, count)
      else this.counts.delete(prefix)
    }
  }

  /** A /48 may have twice as many as a /64. */
  isFull({ clientPrefix, network }: Prefixes, max: number): boolean {
    return this.of(clientPrefix) >= max || (network !== clientPrefix && this.of(network) >= 2 * max)
  }
}

export type Front = {
  readonly port: number
  /** Including handshakes. */
  readonly open: number
  readonly shaking: number
  /** Totals. */
  readonly failed: number
  readonly turnedAway: number
  /** Evicted connections. */
  readonly spared: { readonly handshake: number; readonly open: number }
  /** Reserves room for this address for an hour after an authenticated request. */
  welcome(address: Address): void
  close(): void
  end(): void
}

/** TLS listener with rate-limited handshakes; new connections use the newest certificate. */
export function openFront(deps: {
  readonly hostname: string
  readonly port: number
  readonly certificate: () => Certificate | undefined
  /** Maximum of open connections; with an engine that evicts by itself, handshakes come on top. */
  readonly max: number
  /** Evict when full. A gateway's engine does so itself. */
  readonly isMakingRoom?: boolean
  /** Monotonic. */
  readonly now?: Clock
  /** The receiver sets `owner`. */
  readonly onTls: (tls: TlsSocket) => void
  readonly onFault: (fault: unknown) => void
}): Front {
  const now = deps.now ?? (() => performance.now())
  const handshakes = new Handshakes()
  const shakingOf = new Counts()
  const paceOfPrefix = createTokenBuckets(ofNetwork, now)
  const paceOfSite = createTokenBuckets(ofIpv6Site, now)
  const paceOfFair = createTokenBuckets(fairShare, now)
  const paceOfAll = createTokenBuckets(ofAll, now)
  const all = new Set<Connection>()
  const openOf = new Counts()
  const seats = new Seats(deps.max, now)
  const roomOfNetwork = Math.max(minShaking, Math.floor(deps.max / 4))
  const roomToShake = Math.min(maxShaking, Math.max(minShaking, Math.floor(deps.max / 4)))
  const room = deps.isMakingRoom ? deps.max : deps.max + roomToShake
  let failed = 0
  let turnedAway = 0
  const spared = { handshake: 0, open: 0 }

  function mayCome(prefixes: Prefixes): boolean {
    if (openOf.isFull(prefixes, roomOfNetwork) || shakingOf.isFull(prefixes, maxOfNetwork)) return false
    if (all.size >= room && !deps.isMakingRoom) return false
    if (!mayBegin(prefixes)) return false
    if (handshakes.size >= roomToShake && !makeRoomToShake(prefixes)) return false
    if (all.size >= room) seats.makeRoom()
    return true
  }

  /** Rate-limits handshakes. Busy addresses leave the lower half of the overall bucket to others. */
  function mayBegin(prefixes: Prefixes): boolean {
    const { clientPrefix, network } = prefixes
    if (!paceOfPrefix.take(clientPrefix)) return false
    if (network !== clientPrefix && !paceOfSite.take(network)) return false
    if (seats.isKnown(prefixes)) return true
    const isFair = paceOfFair.take(network)
    return (isFair || paceOfAll.level('') > ofAll.burst / 2) && paceOfAll.take('')
  }

  /** Evicts one handshake. False if there is none to evict. */
  function makeRoomToShake(newcomer: Prefixes): boolean {
    const seat = handshakes.findSpare(newcomer, now())
    seat?.close()
    return seat !== undefined
  }

  function leave(one: Connection): void {
    if (!one.isShaking) return
    one.isShaking = false
    handshakes.remove(one.handshake)
    shakingOf.add(one.prefixes, -1)
  }

  function fail(one: Connection): void {
    if (one.isShaking) failed += 1
    leave(one)
  }

  function expire(one: Connection): void {
    fail(one)
    one.socket.terminate()
  }

  const guard = (one: Connection, act: () => void): void => {
    try {
      act()
    } catch (fault) {
      deps.onFault(fault)
      one.socket.terminate()
    }
  }

  const handlersOf = (one: Connection): SocketHandler => ({
    handshake(socket, isDone) {
      if (!isDone) return expire(one)
      leave(one)
      const tls = new TlsSocket(socket, one.source)
      one.tls = tls
      guard(one, () => deps.onTls(tls))
    },
    data(_, bytes) {
      if (all.has(one)) seats.touch(one.seat)
      guard(one, () => one.tls?.owner?.onSocketData(bytes))
    },
    drain() {
      if (all.has(one)) seats.touch(one.seat)
      guard(one, () => one.tls?.owner?.onSocketDrain())
    },
    end(socket) {
      if (!one.tls) socket.terminate()
      else guard(one, () => one.tls?.owner?.onSocketEnd())
    },
    close: () => gone(one),
    // A reset is followed by close.
    error() {},
  })

  function gone(one: Connection): void {
    if (!all.delete(one)) return
    openOf.add(one.prefixes, -1)
    seats.remove(one.seat)
    fail(one)
    const { tls } = one
    if (!tls) return
    tls.isClosed = true
    guard(one, () => tls.owner?.onSocketClose())
  }

  /** Evicts a connection; its place is free at once. */
  function spare(one: Connection): void {
    spared[one.isShaking ? 'handshake' : 'open'] += 1
    leave(one)
    one.socket.terminate()
    gone(one)
  }

  function begin(raw: Socket<Connection>): void {
    const source = raw.remoteAddress
    const prefixes = prefixesOf(source)
    const certificate = deps.certificate()
    if (!certificate || !mayCome(prefixes)) {
      turnedAway += 1
      raw.terminate()
      return
    }
    const one = new Connection(raw, source, prefixes, now(), { spared: spare, late: expire })
    raw.data = one
    all.add(one)
    openOf.add(prefixes, 1)
    seats.add(one.seat)
    handshakes.add(one.handshake)
    shakingOf.add(prefixes, 1)
    const { cert, key } = certificate
    // Server mode is missing in Bun's types.
    const options: object = { isServer: true, tls: { cert, key, ciphers, minVersion }, socket: handlersOf(one) }
    guard(one, () => {
      const [, secured] = raw.upgradeTLS<unknown>(options as never)
      one.socket = secured
    })
  }

  const listener: TCPSocketListener<Connection> = Bun.listen<Connection>({
    hostname: deps.hostname,
    port: deps.port,
    allowHalfOpen: true,
    exclusive: true,
    socket: {
      open: begin,
      // Ciphertext, which the TLS twin receives too.
      data() {},
      drain() {},
      close: (raw) => raw.data && gone(raw.data),
      error() {},
    },
  })

  const timer = setInterval(() => {
    const lateAt = now() - handshakeMs
    for (let { oldest } = handshakes; oldest && oldest.beganAt <= lateAt; { oldest } = handshakes) oldest.expire()
  }, lookEveryMs)
  timer.unref()

  return {
    port: listener.port,
    get open() {
      return all.size
    },
    get shaking() {
      return handshakes.size
    },
    get failed() {
      return failed
    },
    get turnedAway() {
      return turnedAway
    },
    get spared() {
      return spared
    },
    welcome: (address) => seats.welcome(address),
    close: () => listener.stop(false),
    end() {
      clearInterval(timer)
      for (const one of all) one.socket.terminate()
    },
  }
}

/** TLS 1.2. */
const minVersion = 0x0303

export type TlsEntrance = Front & {
  /** The client behind a loopback connection from this port; undefined for foreign connections. */
  readonly clientOf: (port: number) => Bridge | undefined
}

/** TLS listener for a plain server of this process on loopback. Connections of other local programs have no client. */
export function openEntrance(deps: {
  readonly hostname: string
  readonly port: number
  readonly certificate: () => Certificate | undefined
  readonly max: number
  readonly now?: Clock
  /** The server's port; it may open later. */
  readonly inner: () => number
  readonly log: Log
}): TlsEntrance {
  const clients = new Map<number, Bridge>()
  const onFault = (fault: unknown): void => deps.log.error('fault', { fault })

  function join(tls: TlsSocket): void {
    const bridge = new Bridge(tls)
    const handlers = {
      ...innerHandlers,
      open(socket: Parameters<NonNullable<typeof innerHandlers.open>>[0]) {
        clients.set(socket.localPort, bridge)
        bridge.onInnerOpen(socket)
      },
      close(socket: Parameters<NonNullable<typeof innerHandlers.close>>[0]) {
        clients.delete(socket.localPort)
        bridge.onInnerClose()
      },
    }
    const options = { hostname: '127.0.0.1', port: deps.inner(), allowHalfOpen: true, data: bridge, socket: handlers }
    void Bun.connect<Bridge>(options).catch((fault: unknown) => {
      onFault(fault)
      bridge.breakOff()
    })
  }

  const front = openFront({ ...deps, isMakingRoom: true, onTls: join, onFault })
  return Object.assign(front, { clientOf: (port: number) => clients.get(port) })
}
