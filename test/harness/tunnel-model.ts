import { expect } from 'bun:test'
import { type Flow, type RelayEnd, SpliceRelay } from '../../src/dataplane/gateway/engines/linux/splice-relay.ts'
import { nothingShown } from '../../src/dataplane/gateway/metering/tunnel-meter.ts'
import { shyUnsentBytes } from '../../src/dataplane/gateway/sides/sockets.ts'
import { type ByteCalls, type KernelPipe, readBytes } from '../../src/dataplane/gateway/system/kernel.ts'
import {
  EAGAIN,
  EPOLLERR,
  EPOLLHUP,
  EPOLLIN,
  EPOLLOUT,
  EPOLLRDHUP,
} from '../../src/dataplane/gateway/system/numbers.ts'

const connectionReset = 104
const brokenPipe = 32
const maxSteps = 10_000

type Name = 'client' | 'origin'
export type TunnelAction =
  | { readonly do: 'say' | 'room'; readonly side: Name; readonly bytes: number }
  | { readonly do: 'finish' | 'reset'; readonly side: Name }
  | { readonly do: 'stir'; readonly side: Name; readonly events: number }
  | { readonly do: 'allow'; readonly bytes: number }
  | { readonly do: 'turn' | 'cut' | 'exhaust' }

/** A socket as the kernel sees it: unread bytes, the peer's free buffer, and pending events. */
class Socket {
  inbox = Buffer.alloc(0)
  sentText = Buffer.alloc(0)
  private taken: Buffer[] = []
  hasFinished = false
  isBroken = false
  wasFinished = false
  isGone = false
  edges = EPOLLOUT
  /** Limit of unsent bytes, set by the relay. */
  maxUnsent: number | undefined = shyUnsentBytes
  private space = Number.POSITIVE_INFINITY

  say(text: string | number): void {
    if (this.hasFinished || this.isBroken) return
    const bytes = typeof text === 'string' ? Buffer.from(text) : pattern(this.sentText.length, text)
    if (bytes.length === 0) return
    this.sentText = Buffer.concat([this.sentText, bytes])
    this.inbox = Buffer.concat([this.inbox, bytes])
    this.edges |= EPOLLIN
  }
  finish(): void {
    if (this.isBroken) return
    this.hasFinished = true
    this.edges |= EPOLLIN | EPOLLRDHUP
  }
  reset(): void {
    this.isBroken = true
    this.edges |= EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | EPOLLERR
  }
  get room(): number {
    return this.space
  }
  set room(bytes: number) {
    this.space = bytes
    if (bytes > 0) this.edges |= EPOLLOUT
  }
  get unread(): number {
    return this.inbox.length
  }
  get heardBytes(): Buffer {
    return Buffer.concat(this.taken)
  }
  get heard(): string {
    return this.heardBytes.toString('latin1')
  }

  look(): number {
    if (this.inbox.length > 0) return 1
    if (this.isBroken) return -connectionReset
    return this.hasFinished ? 0 : -EAGAIN
  }
  read(max: number): Buffer | number {
    const next = this.look()
    if (next <= 0) return next
    const bytes = this.inbox.subarray(0, max)
    this.inbox = this.inbox.subarray(bytes.length)
    return bytes
  }
  put(bytes: Uint8Array): number {
    expect({ isGone: this.isGone, wasFinished: this.wasFinished }).toEqual({ isGone: false, wasFinished: false })
    if (this.isBroken) return -brokenPipe
    const count = Math.min(this.space, bytes.length)
    if (count === 0) return -EAGAIN
    this.space -= count
    this.taken.push(Buffer.from(bytes.subarray(0, count)))
    return count
  }
}

/** Bytes that encode their position in the stream. */
const pattern = (from: number, count: number): Buffer =>
  Buffer.from(Uint8Array.from({ length: count }, (_, index) => (from + index) % 251))

function makeCalls(sockets: readonly Socket[], contents: Map<KernelPipe, Buffer>): ByteCalls {
  const received = new Uint8Array(readBytes)
  const at = (descriptor: number): Socket => sockets[descriptor] ?? new Socket()
  return {
    received,
    receive(descriptor, max) {
      const got = at(descriptor).read(Math.min(max, readBytes))
      if (typeof got === 'number') return got
      received.set(got)
      return got.length
    },
    peek: (descriptor) => at(descriptor).look(),
    pass: (descriptor, bytes) => at(descriptor).put(received.subarray(0, bytes)),
    send: (descriptor, bytes) => at(descriptor).put(bytes.subarray(0, readBytes)),
    fill(descriptor, pipe, max) {
      expect(contents.get(pipe)?.length ?? 0).toBe(0)
      const got = at(descriptor).read(max)
      if (typeof got === 'number') return got
      contents.set(pipe, Buffer.from(got))
      return got.length
    },
    drain(pipe, descriptor) {
      const content = contents.get(pipe) ?? Buffer.alloc(0)
      expect(content.length).toBe(pipe.held)
      const gone = at(descriptor).put(content)
      if (gone > 0) contents.set(pipe, content.subarray(gone))
      return gone
    },
    reclaim(pipe) {
      const content = contents.get(pipe) ?? Buffer.alloc(0)
      contents.set(pipe, Buffer.alloc(0))
      pipe.held = 0
      return content
    },
    shutdownWrite(descriptor) {
      expect(at(descriptor).wasFinished).toBeFalse()
      at(descriptor).wasFinished = true
    },
    transmissionOf: (descriptor) => ({ ...nothingShown, acknowledged: at(descriptor).heardBytes.length }),
    limitUnsent: (descriptor, bytes) => void (at(descriptor).maxUnsent = bytes),
  }
}

/** A tunnel over simulated sockets, pipes and traffic, driven by the test. */
export function openModel(setup: { fromClient?: string; fromOrigin?: string; traffic?: number }) {
  const [client, origin] = [new Socket(), new Socket()]
  const contents = new Map<KernelPipe, Buffer>()
  const idle: KernelPipe[] = []
  const inUse = new Set<KernelPipe>()
  const calls: string[] = []
  const queue: Flow[] = []
  const waiting = new Set<() => void>()
  const sideHeld: Buffer[] = []
  let [upto, reserved, sent, requests, maxHeld] = [setup.traffic ?? Number.POSITIVE_INFINITY, 0, 0, 0, 0]
  let [isUsedUp, isOver, isForced] = [false, false, false]

  function makeEnd(name: Name, descriptor: number, socket: Socket): RelayEnd {
    const letGo = (how: string) => () => {
      expect(socket.isGone).toBeFalse()
      socket.isGone = how !== 'closed'
      calls.push(`${name} ${how}`)
    }
    return {
      descriptor,
      isReadable: false,
      hasHungUp: false,
      hasFailed: false,
      hasUrgent: false,
      side: {
        written: 0,
        isFinished: false,
        write: (bytes) => sideHeld.push(Buffer.from(bytes)) === 0,
        release: letGo('released'),
        close: letGo('closed'),
        abort: letGo('aborted'),
      },
      leave: () => void (isOver = true),
    }
  }
  const ends = { client: makeEnd('client', 0, client), origin: makeEnd('origin', 1, origin) }
  const sockets = { client, origin }

  const take = (bytes: number): number => {
    reserved += bytes
    return bytes
  }
  const tunnel = {
    meter: {
      takeSent: (bytes: number) => {
        sent += bytes
        return take(bytes)
      },
      takeReceived: take,
      cut: () => void calls.push('cut'),
      allowance: {
        subject: { kind: 'subuser' as const, id: 'sub', pool: 'pool' },
        get left() {
          return upto - reserved
        },
        get hasSome() {
          return upto > reserved
        },
        get isUsedUp() {
          return isUsedUp && upto <= reserved
        },
        askForMore: () => void (requests += 1),
        onChange(tell: () => void) {
          waiting.add(tell)
          return () => void waiting.delete(tell)
        },
      },
    },
    activeAt: 0,
    isHalfOpen: false,
    relay: undefined as SpliceRelay | undefined,
    finish: () => void calls.push('over'),
  }
  const relay = new SpliceRelay(ends.client, ends.origin, tunnel, {
    calls: makeCalls([client, origin], contents),
    pipes: {
      take() {
        const pipe = idle.pop() ?? { readEnd: 0, writeEnd: 0, held: 0 }
        expect({ held: pipe.held, isInUse: inUse.has(pipe) }).toEqual({ held: 0, isInUse: false })
        inUse.add(pipe)
        return pipe
      },
      give(pipe) {
        expect(inUse.delete(pipe)).toBeTrue()
        if (pipe.held === 0) idle.push(pipe)
      },
    },
    clock: () => 1,
    queue: (flow) => void queue.push(flow),
    noteHeld: (bytes) => void (maxHeld = Math.max(maxHeld, bytes)),
  })
  const early = { client: Buffer.from(setup.fromClient ?? ''), origin: Buffer.from(setup.fromOrigin ?? '') }
  relay.start(undefined, early.client, early.origin)

  function turn(): boolean {
    let hasMoved = false
    for (const name of ['client', 'origin'] as const) {
      const events = sockets[name].edges
      if (events === 0) continue
      sockets[name].edges = 0
      hasMoved = true
      if (!isOver) relay.onEvents(ends[name], events)
    }
    for (const flow of queue.splice(0)) {
      hasMoved = true
      flow.takeTurn()
    }
    return hasMoved
  }
  function run(): void {
    let steps = 0
    while (turn()) if ((steps += 1) > maxSteps) throw new Error('the tunnel never rests')
  }
  function wake(): void {
    const all = [...waiting]
    for (const each of all) each()
  }
  function flushSides(): void {
    for (const bytes of sideHeld.splice(0)) client.put(bytes)
  }
  function allow(total: number): void {
    if (isUsedUp) return
    upto = Math.max(upto, total)
    wake()
  }
  function force(act: () => void): void {
    isForced = true
    act()
  }
  function exhaust(): void {
    isUsedUp = true
    wake()
  }

  function apply(each: TunnelAction): void {
    if (each.do === 'say') sockets[each.side].say(each.bytes)
    else if (each.do === 'room') sockets[each.side].room = each.bytes
    else if (each.do === 'finish') sockets[each.side].finish()
    else if (each.do === 'reset') force(() => sockets[each.side].reset())
    else if (each.do === 'stir') sockets[each.side].edges |= each.events & (EPOLLIN | EPOLLOUT)
    else if (each.do === 'allow') allow(upto + each.bytes)
    else if (each.do === 'cut') force(() => tunnel.relay?.cut())
    else if (each.do === 'exhaust') force(exhaust)
    else turn()
  }

  /** Invariants that hold at every moment. */
  function check(): void {
    const [up, down] = [Buffer.concat([early.client, client.sentText]), Buffer.concat([early.origin, origin.sentText])]
    const heard = { origin: origin.heardBytes, client: client.heardBytes }
    expect(up.subarray(0, heard.origin.length).equals(heard.origin)).toBeTrue()
    expect(down.subarray(0, heard.client.length).equals(heard.client)).toBeTrue()
    expect(reserved).toBeLessThanOrEqual(upto)
    expect(sent).toBeGreaterThanOrEqual(heard.origin.length)
    expect(reserved - sent).toBeGreaterThanOrEqual(heard.client.length)
    expect(maxHeld).toBeLessThanOrEqual(256 * 1024)
    if (isOver) expect({ pipes: inUse.size, waiting: waiting.size }).toEqual({ pipes: 0, waiting: 0 })
  }

  /** Lets all bytes pass, and ends both sides. */
  function settle(): void {
    for (const socket of [client, origin]) socket.room = Number.POSITIVE_INFINITY
    allow(Number.POSITIVE_INFINITY)
    client.finish()
    origin.finish()
    run()
    flushSides()
    expect(calls.filter((each) => each === 'over')).toHaveLength(1)
    expect(calls.filter((each) => / (?:released|closed|aborted)$/.test(each))).toHaveLength(2)
    if (isForced) return
    expect(origin.heardBytes.equals(Buffer.concat([early.client, client.sentText]))).toBeTrue()
    expect(client.heardBytes.equals(Buffer.concat([early.origin, origin.sentText]))).toBeTrue()
    expect(reserved).toBe(origin.heardBytes.length + client.heardBytes.length)
  }

  return {
    client,
    origin,
    calls,
    run,
    allow,
    exhaust,
    flushSides,
    apply,
    check,
    settle,
    cut: () => tunnel.relay?.cut(),
    get requests() {
      return requests
    },
    get maxHeld() {
      return maxHeld
    },
  }
}
