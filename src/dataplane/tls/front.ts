import type { Socket, SocketHandler, TCPSocketListener } from 'bun'
import type { Address } from '../../core/address.ts'
import type { Log } from '../../core/log.ts'
import type { Clock } from '../../core/time.ts'
import { createTokenBuckets } from '../../core/token-buckets.ts'
import { Bridge, innerHandlers } from './bridge.ts'
import type { Certificate } from './certificate.ts'
import { ciphers, minVersion, onlyHttp1, withHttp2 } from './parameters.ts'
import { Handshake, Handshakes, type Prefixes, prefixesOf, Seat, Seats } from './seats.ts'
import { BunTls, connectDescriptor, type TlsSocket, type WithDescriptor } from './tls-socket.ts'

const handshakeMs = 10_000
const lookEveryMs = 250
/** Handshakes under way: per IPv4 address or IPv6 /64, and in all. An IPv6 /48 may have twice as many. */
const maxOfNetwork = 128
const maxShaking = 2048
const minShaking = 32
/** Handshakes started per second, 0.25 ms each: per address or /64, per IPv6 /48, and for each thread. */
const ofNetwork = { perSecond: 400, burst: 800 }
const ofIpv6Site = { perSecond: 800, burst: 1600 }
const ofThread = { perSecond: 1500, burst: 3000 }
/** Beyond this rate an address may only use the upper half of the overall bucket. */
const fairShare = { perSecond: 20, burst: 100 }
/** Of the overall bucket and of all places: with less left, each client is judged before its handshake. */
const calmShare = 0.75
/** Follows a connection of one thread from another. */
export type ConnectionWatcher = {
  onShaken(): void
  onGone(): void
}

export type ConnectionHandle = {
  terminate(): void
  /** Whether the handshake has cost processor time: the server has answered. True if unknown. */
  hasAnswered?(): boolean
}

/** Threads that do TLS. They own the descriptors that they get. */
export type TlsThreads = {
  readonly count: number
  /** Starts a handshake at the chosen thread, or another one if that has ended. */
  begin(
    descriptor: number,
    source: string,
    place: number,
    certificate: Certificate,
    watcher: ConnectionWatcher,
  ): ConnectionHandle
  /** With the newest certificate, a few handshakes begin before the front judges them; undefined ends that. */
  allowDirect(certificate: Certificate | undefined): void
  refuse(descriptor: number): void
  /** Whether more connections were given than the threads can begin at once: busy by 128, late by 512. */
  readonly load: 'usual' | 'busy' | 'late'
}

/** `place`: of the thread that is to serve it. */
export type OnAccepted = (descriptor: number, source: string, place: number) => void
/** A handshake that has begun already. The front judges its client now, and ends it if it is not admitted. */
export type OnBegun = (source: string, attach: (watcher: ConnectionWatcher) => ConnectionHandle) => void

class Connection {
  tls: BunTls | undefined
  isShaking = true
  readonly seat: Seat
  readonly handshake: Handshake

  constructor(
    /** The accepted socket, later its TLS twin. */
    public socket: ConnectionHandle,
    readonly source: string,
    readonly prefixes: Prefixes,
    cameAt: number,
    front: Pick<Front, 'evict' | 'expire'>,
  ) {
    const close = () => front.evict(this)
    this.seat = new Seat(prefixes, close)
    this.handshake = new Handshake(
      new Seat(prefixes, close),
      cameAt,
      () => front.expire(this),
      () => this.isSilent,
    )
  }

  /** The handshake has cost no processor time. */
  get isSilent(): boolean {
    return this.socket.hasAnswered?.() === false
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

const ignoring: ConnectionWatcher = { onShaken() {}, onGone() {} }

export type TlsListener = { readonly port: number; readonly descriptor: number; stop(): void }

/** TLS listener with rate-limited handshakes; new connections use the newest certificate. */
export class Front {
  private readonly now: Clock
  private readonly handshakes = new Handshakes()
  private readonly shakingOf = new Counts()
  private readonly paceOfPrefix
  private readonly paceOfSite
  private readonly paceOfFair
  private readonly paceOfAll
  private readonly burstOfAll: number
  private readonly all = new Set<Connection>()
  private readonly openOf = new Counts()
  private readonly seats: Seats
  private readonly roomOfNetwork: number
  private readonly roomToShake: number
  private readonly room: number
  /** Totals: failed handshakes, rejected newcomers, evicted connections. */
  failed = 0
  turnedAway = 0
  readonly spared = { handshake: 0, open: 0 }
  private readonly listener: TlsListener
  private isClosed = false
  private readonly timer: ReturnType<typeof setInterval>
  readonly port: number

  constructor(
    private readonly deps: {
      readonly hostname: string
      readonly port: number
      readonly certificate: () => Certificate | undefined
      /** Maximum of open connections; with an engine that evicts by itself, handshakes come on top. */
      readonly max: number
      /** Evict when full. A gateway's engine does so itself. */
      readonly isMakingRoom?: boolean
      /** Closes a connection that the engine does not know of. False if there is none. */
      readonly makeRoom?: () => boolean
      /** Offers HTTP/2 beside HTTP/1.1 (ALPN). */
      readonly offersHttp2?: boolean
      /** Monotonic. */
      readonly now?: Clock
      /** The receiver sets `owner`. */
      readonly onTls: (tls: TlsSocket) => void
      readonly onFault: (fault: unknown) => void
      /** Accepts on a listener of the previous process instead of opening one. */
      readonly adopt?: ((onAccepted: OnAccepted, onBegun: OnBegun) => TlsListener) | undefined
      /** Other threads do TLS; needs `adopt`. */
      readonly threads?: TlsThreads | undefined
    },
  ) {
    this.now = deps.now ?? (() => performance.now())
    this.paceOfPrefix = createTokenBuckets(ofNetwork, this.now)
    this.paceOfSite = createTokenBuckets(ofIpv6Site, this.now)
    this.paceOfFair = createTokenBuckets(fairShare, this.now)
    const count = deps.threads?.count ?? 1
    this.burstOfAll = ofThread.burst * count
    this.paceOfAll = createTokenBuckets({ perSecond: ofThread.perSecond * count, burst: this.burstOfAll }, this.now)
    this.seats = new Seats(deps.max, this.now)
    this.roomOfNetwork = Math.max(minShaking, Math.floor(deps.max / 4))
    this.roomToShake = Math.min(maxShaking, Math.max(minShaking, Math.floor(deps.max / 4)))
    this.room = deps.isMakingRoom ? deps.max : deps.max + this.roomToShake
    const adopted = deps.adopt?.(
      (...accepted) => this.accept(...accepted),
      (...begun) => this.judgeBegun(...begun),
    )
    this.listener = adopted ?? this.listen()
    this.timer = setInterval(() => {
      this.expireLate()
      this.allowDirect()
    }, lookEveryMs)
    this.timer.unref()
    this.port = this.listener.port
  }

  private listen(): TlsListener {
    const { hostname, port } = this.deps
    const socket = this.rawHandlers((raw) => this.begin(raw, raw.remoteAddress))
    const options = { hostname, port, allowHalfOpen: true, exclusive: true, socket }
    const listener: TCPSocketListener<Connection> & WithDescriptor = Bun.listen<Connection>(options)
    return {
      port: listener.port,
      descriptor: listener.fd ?? -1,
      stop: () => listener.stop(false),
    }
  }

  /** A connection that the adopted listener accepted. */
  private accept(...[fd, source, place]: Parameters<OnAccepted>): void {
    if (this.deps.threads) return this.beginElsewhere(this.deps.threads, fd, source, place)
    const socket = this.rawHandlers((raw) => this.begin(raw, source))
    void connectDescriptor<Connection>(fd, { socket }).catch(() => {})
  }

  private beginElsewhere(threads: TlsThreads, descriptor: number, source: string, place: number): void {
    const prefixes = prefixesOf(source)
    const certificate = this.deps.certificate()
    if (!certificate || !this.mayCome(prefixes)) {
      this.turnedAway += 1
      threads.refuse(descriptor)
    } else {
      const one = new Connection({ terminate() {} }, source, prefixes, this.now(), this)
      this.enter(one)
      one.socket = threads.begin(descriptor, source, place, certificate, this.watcherOf(one))
    }
    this.allowDirect()
  }

  private judgeBegun(...[source, attach]: Parameters<OnBegun>): void {
    const prefixes = prefixesOf(source)
    if (this.mayCome(prefixes)) {
      const one = new Connection({ terminate() {} }, source, prefixes, this.now(), this)
      this.enter(one)
      one.socket = attach(this.watcherOf(one))
    } else {
      this.turnedAway += 1
      attach(ignoring).terminate()
    }
    this.allowDirect()
  }

  private watcherOf(one: Connection): ConnectionWatcher {
    return { onShaken: () => this.leave(one), onGone: () => this.gone(one) }
  }

  /** While there is plenty of room, so that the few that begin unjudged would all be admitted. */
  private allowDirect(): void {
    const { threads } = this.deps
    if (!threads) return
    const hasRoom =
      !this.isClosed &&
      this.handshakes.size < this.roomToShake / 2 &&
      this.all.size < this.room * calmShare &&
      threads.load === 'usual' &&
      this.paceOfAll.level('') > this.burstOfAll * calmShare
    threads.allowDirect(hasRoom ? this.deps.certificate() : undefined)
  }

  private rawHandlers(open: (raw: Socket<Connection>) => void): SocketHandler<Connection> {
    return {
      open,
      // Ciphertext, which the TLS twin receives too.
      data() {},
      drain() {},
      close: (raw) => raw.data && this.gone(raw.data),
      error() {},
    }
  }

  /** For a process that takes over. */
  get descriptor(): number {
    return this.listener.descriptor
  }

  /** Including handshakes. */
  get open(): number {
    return this.all.size
  }

  get shaking(): number {
    return this.handshakes.size
  }

  /** Reserves room for this address for an hour after an authenticated request. */
  welcome(address: Address | undefined): void {
    if (address) this.seats.welcome(address)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.listener.stop()
  }

  end(): void {
    clearInterval(this.timer)
    for (const one of this.all) one.socket.terminate()
  }

  private expireLate(): void {
    const lateAt = this.now() - handshakeMs
    for (let { oldest } = this.handshakes; oldest && oldest.beganAt <= lateAt; { oldest } = this.handshakes)
      oldest.expire()
  }

  private mayCome(prefixes: Prefixes): boolean {
    if (this.openOf.isFull(prefixes, this.roomOfNetwork) || this.shakingOf.isFull(prefixes, maxOfNetwork)) return false
    // Before a token is taken: a refused connection costs nothing.
    const isFull = this.handshakes.size >= this.roomToShake
    const spare = isFull ? this.handshakes.findSpare(prefixes, this.now()) : undefined
    if (isFull && !spare) return false
    if (!this.mayBegin(prefixes)) return false
    if (this.all.size >= this.room && !this.deps.isMakingRoom && !this.deps.makeRoom?.()) return false
    spare?.close()
    if (this.all.size >= this.room && this.deps.isMakingRoom) this.seats.makeRoom()
    return true
  }

  /**
   * Rate-limits handshakes. Busy addresses leave the lower half of the overall bucket to others, or all of it. A known
   * address that is not busy needs no token of it.
   */
  private mayBegin(prefixes: Prefixes): boolean {
    const { clientPrefix, network } = prefixes
    if (!this.paceOfPrefix.take(clientPrefix)) return false
    if (network !== clientPrefix && !this.paceOfSite.take(network)) return false
    const load = this.deps.threads?.load ?? 'usual'
    const isKnown = this.seats.isKnown(prefixes)
    if (load === 'late' && !isKnown) return false
    const isFair = this.paceOfFair.take(network)
    // Beyond their fair share, known addresses would keep strangers out as others do.
    if (isFair && isKnown) return true
    const hasRoom = load === 'usual' && this.paceOfAll.level('') > this.burstOfAll / 2
    return (isFair || hasRoom) && this.paceOfAll.take('')
  }

  private leave(one: Connection): void {
    if (!one.isShaking) return
    one.isShaking = false
    this.handshakes.remove(one.handshake)
    this.shakingOf.add(one.prefixes, -1)
  }

  private fail(one: Connection): void {
    if (one.isShaking) this.failed += 1
    this.leave(one)
  }

  /** Half-open handshakes would use up the rate for others. */
  private refund(one: Connection): void {
    if (one.isShaking && one.isSilent) this.paceOfAll.give('')
  }

  expire(one: Connection): void {
    this.refund(one)
    this.fail(one)
    one.socket.terminate()
  }

  private guard(one: Connection, act: () => void): void {
    try {
      act()
    } catch (fault) {
      this.deps.onFault(fault)
      one.socket.terminate()
    }
  }

  private handlersOf(one: Connection): SocketHandler {
    return {
      handshake: (socket, isDone) => {
        if (!isDone) return this.expire(one)
        this.leave(one)
        const tls = new BunTls(socket, one.source)
        one.tls = tls
        this.guard(one, () => this.deps.onTls(tls))
      },
      data: (_, bytes) => {
        if (this.all.has(one)) this.seats.touch(one.seat)
        this.guard(one, () => one.tls?.owner?.onSocketData(bytes))
      },
      drain: () => {
        if (this.all.has(one)) this.seats.touch(one.seat)
        this.guard(one, () => one.tls?.owner?.onSocketDrain())
      },
      end: (socket) => {
        if (!one.tls) socket.terminate()
        else this.guard(one, () => one.tls?.owner?.onSocketEnd())
      },
      close: () => this.gone(one),
      // A reset is followed by close.
      error() {},
    }
  }

  private gone(one: Connection): void {
    if (!this.all.delete(one)) return
    this.openOf.add(one.prefixes, -1)
    this.seats.remove(one.seat)
    this.fail(one)
    const { tls } = one
    if (!tls) return
    tls.isClosed = true
    this.guard(one, () => tls.owner?.onSocketClose())
  }

  /** Evicts a connection; its place is free at once. */
  evict(one: Connection): void {
    this.spared[one.isShaking ? 'handshake' : 'open'] += 1
    this.refund(one)
    this.leave(one)
    one.socket.terminate()
    this.gone(one)
  }

  private enter(one: Connection): void {
    this.all.add(one)
    this.openOf.add(one.prefixes, 1)
    this.seats.add(one.seat)
    this.handshakes.add(one.handshake)
    this.shakingOf.add(one.prefixes, 1)
  }

  private begin(raw: Socket<Connection>, source: string): void {
    const prefixes = prefixesOf(source)
    const certificate = this.deps.certificate()
    if (!certificate || !this.mayCome(prefixes)) {
      this.turnedAway += 1
      raw.terminate()
      return
    }
    const one = new Connection(raw, source, prefixes, this.now(), this)
    raw.data = one
    this.enter(one)
    const { cert, key } = certificate
    const ALPNProtocols = this.deps.offersHttp2 ? withHttp2 : onlyHttp1
    // Server mode is missing in Bun's types.
    const options: object = {
      isServer: true,
      tls: { cert, key, ciphers, minVersion, ALPNProtocols },
      socket: this.handlersOf(one),
    }
    this.guard(one, () => {
      const [, secured] = raw.upgradeTLS<unknown>(options as never)
      one.socket = secured
    })
  }
}

export type TlsEntrance = Front & {
  /** The client behind a loopback connection from this port; undefined for foreign connections. */
  readonly clientOf: (port: number) => Bridge | undefined
}

/** TLS listener for a plain server of this process on loopback. Connections of other local programs have no client. */
export function openEntrance(
  deps: Pick<ConstructorParameters<typeof Front>[0], 'hostname' | 'port' | 'certificate' | 'max' | 'now'> & {
    /** The server's port; it may open later. */
    readonly inner: () => number
    readonly log: Log
  },
): TlsEntrance {
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

  const front = new Front({ ...deps, isMakingRoom: true, onTls: join, onFault })
  return Object.assign(front, { clientOf: (port: number) => clients.get(port) })
}
