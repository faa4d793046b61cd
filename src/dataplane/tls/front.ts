import type { Socket, SocketHandler, TCPSocketListener } from 'bun'
import type { Address } from '../../core/address.ts'
import type { Log } from '../../core/log.ts'
import type { Clock } from '../../core/time.ts'
import { createTokenBuckets } from '../../core/token-buckets.ts'
import { Bridge, innerHandlers } from './bridge.ts'
import type { Certificate } from './certificate.ts'
import { Handshake, Handshakes, type Prefixes, prefixesOf, Seat, Seats } from './seats.ts'
import { TlsSocket } from './tls-socket.ts'

/** How long a handshake may take, however often a byte of it comes. */
const handshakeMs = 10_000
const lookEveryMs = 250
/** How many may be at their handshake: of one address or IPv6 /64, and in all. An IPv6 /48 has twice as many. */
const mostOfNetwork = 128
const mostShaking = 2048
const leastShaking = 32
/** A handshake costs a quarter of a millisecond: so many a second are begun, of one network and in all. */
const ofNetwork = { perSecond: 400, burst: 800 }
const ofIpv6Site = { perSecond: 800, burst: 1600 }
const ofAll = { perSecond: 1500, burst: 3000 }
/** Up to this pace an address may use all of the common pace; beyond it, only what is above half of its burst. */
const fairShare = { perSecond: 20, burst: 100 }
/**
 * TLS 1.2 with forward secrecy and AES-GCM alone; what TLS 1.3 has besides. What a record adds is the same for all of
 * these, which counting builds on.
 */
const ciphers = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
].join(':')

/** One connection, from when it was accepted. */
class Connection {
  tls: TlsSocket | undefined
  isShaking = true
  readonly seat: Seat
  readonly handshake: Handshake

  constructor(
    /** What can be told to end: first the socket as it was accepted, then its secured twin. */
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

/** How many each prefix has: an address or IPv6 /64, and an IPv6 /48. */
class Counts {
  private readonly counts = new Map<string, number>()

  of = (prefix: string): number => this.counts.get(prefix) ?? 0

  add({ household, network }: Prefixes, change: 1 | -1): void {
    for (const prefix of new Set([household, network])) {
      const count = this.of(prefix) + change
      if (count > 0) this.counts.set(prefix, count)
      else this.counts.delete(prefix)
    }
  }

  /** Whether an address or /64 has as many as it may have, or a /48 twice as many. */
  isFull({ household, network }: Prefixes, max: number): boolean {
    return this.of(household) >= max || (network !== household && this.of(network) >= 2 * max)
  }
}

export type Front = {
  readonly port: number
  /** Connections that are open, those at their handshake among them. */
  readonly open: number
  readonly shaking: number
  /** How often a handshake failed or took too long, and newcomers for whom there was no room, since the beginning. */
  readonly failed: number
  readonly turnedAway: number
  /** Connections that were closed to make room for others: at their handshake, and after it. */
  readonly spared: { readonly handshake: number; readonly open: number }
  /** A request from this address was authenticated: places are kept for it for an hour. */
  welcome(address: Address): void
  /** Takes nobody new. */
  close(): void
  /** Ends whoever is left. */
  end(): void
}

/**
 * Accepts connections, makes the handshake with the certificate of the moment, and hands over what then speaks. Each
 * newcomer gets the newest certificate, and nobody who is there notices that it has changed. Whoever dawdles, or comes
 * in crowds, costs little and for a short time.
 */
export function openFront(deps: {
  readonly hostname: string
  readonly port: number
  readonly certificate: () => Certificate | undefined
  /** How many may be open at once. An engine that makes room itself holds to it; here handshakes come on top. */
  readonly most: number
  /** Closes connections for newcomers when all places are taken. A gateway's engine does so itself. */
  readonly isMakingRoom?: boolean
  /** Steady time, for handshakes and their pace. */
  readonly now?: Clock
  /** Somebody who has made the handshake. Whoever takes it sets the owner. */
  readonly onTls: (tls: TlsSocket) => void
  readonly onFault: (fault: unknown) => void
}): Front {
  const now = deps.now ?? (() => performance.now())
  const handshakes = new Handshakes()
  const shakingOf = new Counts()
  const paceOfHousehold = createTokenBuckets(ofNetwork, now)
  const paceOfSite = createTokenBuckets(ofIpv6Site, now)
  const paceOfFair = createTokenBuckets(fairShare, now)
  const paceOfAll = createTokenBuckets(ofAll, now)
  const all = new Set<Connection>()
  const openOf = new Counts()
  const seats = new Seats(deps.most, now)
  /** No network has all the room there is. */
  const roomOfNetwork = Math.max(leastShaking, Math.floor(deps.most / 4))
  const roomToShake = Math.min(mostShaking, Math.max(leastShaking, Math.floor(deps.most / 4)))
  /** Where an engine makes room it has to be reached when it is full: handshakes come on top of its connections. */
  const room = deps.isMakingRoom ? deps.most : deps.most + roomToShake
  let failed = 0
  let turnedAway = 0
  const spared = { handshake: 0, open: 0 }

  function mayCome(prefixes: Prefixes): boolean {
    if (openOf.isFull(prefixes, roomOfNetwork) || shakingOf.isFull(prefixes, mostOfNetwork)) return false
    if (all.size >= room && !deps.isMakingRoom) return false
    if (!mayBegin(prefixes)) return false
    if (handshakes.size >= roomToShake && !makeRoomToShake(prefixes)) return false
    if (all.size >= room) seats.makeRoom()
    return true
  }

  /** Paces handshakes. A few busy addresses cannot use up the common pace: below half it is for the others. */
  function mayBegin(prefixes: Prefixes): boolean {
    const { household, network } = prefixes
    if (!paceOfHousehold.take(household)) return false
    if (network !== household && !paceOfSite.take(network)) return false
    if (seats.isKnown(prefixes)) return true
    const isFair = paceOfFair.take(network)
    return (isFair || paceOfAll.level('') > ofAll.burst / 2) && paceOfAll.take('')
  }

  /** Ends one handshake in favour of a newcomer. False when there is none to end. */
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

  /** It ends before its handshake is made, if it is not made yet. */
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
    // A reset is followed by close, which says all there is to say.
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

  /** Closes a connection in favour of another. Its place is free at once, whenever the system tells of the close. */
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
    // As a server, which Bun's types do not know.
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
      // What comes is ciphertext, which the secured twin has already.
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

/** TLS 1.2 by its number on the wire. */
const minVersion = 0x0303

export type Entrance = Front & {
  /** The client behind a plain connection that comes from this port of loopback; undefined for a stranger. */
  readonly clientOf: (port: number) => Bridge | undefined
}

/**
 * An entrance over TLS to a server of this process that listens on loopback. The server asks it who is behind a
 * connection: whoever else on this machine finds the port is nobody.
 */
export function openEntrance(deps: {
  readonly hostname: string
  readonly port: number
  readonly certificate: () => Certificate | undefined
  readonly most: number
  readonly now?: Clock
  /** Where the server is; it may open later than the entrance. */
  readonly inner: () => number
  readonly log: Log
}): Entrance {
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
