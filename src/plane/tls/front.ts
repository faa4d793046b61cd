import type { Socket, SocketHandler, TCPSocketListener } from 'bun'
import { readAddress } from '../../kernel/address.ts'
import { createBuckets } from '../../kernel/buckets.ts'
import { type InLine, Line } from '../../kernel/line.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Certificate } from './certificate.ts'
import { TlsSocket } from './tls-socket.ts'

/** How long a handshake may take, however often a byte of it comes. */
const handshakeMs = 10_000
const lookEveryMs = 250
/** When there is no room, who has been at it for longer than this makes room for others. */
const graceMs = 2000
/** How many may be at their handshake: of one network, and in all. */
const mostOfNetwork = 128
const mostShaking = 2048
const leastShaking = 32
/** A handshake costs a quarter of a millisecond: so many a second are begun, of one network and in all. */
const ofNetwork = { perSecond: 400, burst: 800 }
const ofAll = { perSecond: 1500, burst: 3000 }
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

/** One that is at its handshake. */
class Shaking implements InLine<Shaking> {
  before: Shaking | undefined
  behind: Shaking | undefined
  tls: TlsSocket | undefined
  isGone = false

  constructor(
    /** What can be told to end: first the socket as it was accepted, then its secured twin. */
    public socket: Socket<unknown>,
    readonly source: string,
    readonly network: string,
    readonly cameAt: number,
  ) {}
}

export type Front = {
  readonly port: number
  /** Connections that are open, those at their handshake among them. */
  readonly open: number
  readonly shaking: number
  /** How often a handshake failed or took too long, and newcomers for whom there was no room, since the beginning. */
  readonly failed: number
  readonly turnedAway: number
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
  /** How many may be open at once. */
  readonly most: number
  /** Steady time, for handshakes and their pace. */
  readonly now?: Clock
  /** Somebody who has made the handshake. Whoever takes it sets the owner. */
  readonly onTls: (tls: TlsSocket) => void
  readonly onFault: (fault: unknown) => void
}): Front {
  const now = deps.now ?? (() => performance.now())
  const shaking = new Line<Shaking>()
  const perNetwork = new Map<string, number>()
  const paces = [createBuckets(ofNetwork, now), createBuckets(ofAll, now)]
  const all = new Set<Shaking>()
  const openOf = new Map<string, number>()
  /** No network has all the room there is. */
  const roomOfNetwork = Math.max(leastShaking, Math.floor(deps.most / 4))
  const roomToShake = Math.min(mostShaking, Math.max(leastShaking, Math.floor(deps.most / 4)))
  let failed = 0
  let turnedAway = 0

  function mayCome(network: string): boolean {
    if (all.size >= deps.most || (openOf.get(network) ?? 0) >= roomOfNetwork) return false
    if ((perNetwork.get(network) ?? 0) >= mostOfNetwork) return false
    if (paces[0]?.take(network) !== true || paces[1]?.take('') !== true) return false
    return shaking.size < roomToShake || spareOldest()
  }

  /** Whoever means it is done within a round trip or two. False when all have come just now. */
  function spareOldest(): boolean {
    const { first } = shaking
    if (!first || now() - first.cameAt < graceMs) return false
    fail(first)
    first.socket.terminate()
    return true
  }

  function leave(one: Shaking): void {
    if (one.isGone) return
    one.isGone = true
    shaking.leave(one)
    const left = (perNetwork.get(one.network) ?? 1) - 1
    if (left > 0) perNetwork.set(one.network, left)
    else perNetwork.delete(one.network)
  }

  /** It ends before its handshake is made, if it is not made yet. */
  function fail(one: Shaking): void {
    if (!one.isGone) failed += 1
    leave(one)
  }

  const guard = (one: Shaking, act: () => void): void => {
    try {
      act()
    } catch (fault) {
      deps.onFault(fault)
      one.socket.terminate()
    }
  }

  const handlersOf = (one: Shaking): SocketHandler => ({
    handshake(socket, isDone) {
      if (!isDone) {
        fail(one)
        socket.terminate()
        return
      }
      leave(one)
      const tls = new TlsSocket(socket, one.source)
      one.tls = tls
      guard(one, () => deps.onTls(tls))
    },
    data: (_, bytes) => guard(one, () => one.tls?.owner?.onSocketData(bytes)),
    drain: () => guard(one, () => one.tls?.owner?.onSocketDrain()),
    end(socket) {
      if (!one.tls) socket.terminate()
      else guard(one, () => one.tls?.owner?.onSocketEnd())
    },
    close: () => gone(one),
    // A reset is followed by close, which says all there is to say.
    error() {},
  })

  function gone(one: Shaking): void {
    if (!all.delete(one)) return
    const open = (openOf.get(one.network) ?? 1) - 1
    if (open > 0) openOf.set(one.network, open)
    else openOf.delete(one.network)
    fail(one)
    const { tls } = one
    if (!tls) return
    tls.isClosed = true
    guard(one, () => tls.owner?.onSocketClose())
  }

  function begin(raw: Socket<Shaking>): void {
    const source = raw.remoteAddress
    const network = networkOf(source)
    const certificate = deps.certificate()
    if (!certificate || !mayCome(network)) {
      turnedAway += 1
      raw.terminate()
      return
    }
    const one = new Shaking(raw, source, network, now())
    raw.data = one
    all.add(one)
    openOf.set(one.network, (openOf.get(one.network) ?? 0) + 1)
    shaking.join(one)
    perNetwork.set(network, (perNetwork.get(network) ?? 0) + 1)
    const { cert, key } = certificate
    // As a server, which Bun's types do not know.
    const options: object = { isServer: true, tls: { cert, key, ciphers, minVersion }, socket: handlersOf(one) }
    guard(one, () => {
      const [, secured] = raw.upgradeTLS<unknown>(options as never)
      one.socket = secured
    })
  }

  const listener: TCPSocketListener<Shaking> = Bun.listen<Shaking>({
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
    for (let { first } = shaking; first && first.cameAt <= lateAt; { first } = shaking) {
      fail(first)
      first.socket.terminate()
    }
  }, lookEveryMs)
  timer.unref()

  return {
    port: listener.port,
    get open() {
      return all.size
    },
    get shaking() {
      return shaking.size
    },
    get failed() {
      return failed
    },
    get turnedAway() {
      return turnedAway
    },
    close: () => listener.stop(false),
    end() {
      clearInterval(timer)
      for (const one of all) one.socket.terminate()
    },
  }
}

/** TLS 1.2 by its number on the wire. */
const minVersion = 0x0303

/** Whoever has one IPv6 address has all of its /64 (RFC 4291, 2.5.4). */
function networkOf(source: string): string {
  const address = source.includes(':') ? readAddress(source) : undefined
  return address?.version === 6 ? Buffer.from(address.bytes.subarray(0, 8)).toString('hex') : source
}
