import type { NodeExit } from '../../../../node-protocol/state.ts'
import type { Changed, Snapshot } from '../../../agent/snapshot.ts'
import { Bridge, innerHandlers } from '../../../tls/bridge.ts'
import { connectDescriptor } from '../../../tls/tls-socket.ts'
import type { Policy } from '../../access/policy.ts'
import { createLookup, type Lookup } from '../../dial/resolve.ts'
import { noLimit, type Speeds } from '../../metering/speed-limit.ts'
import type { SiteTerms } from '../../site/server.ts'
import type { Engine, EngineDeps } from '../shared/engine.ts'
import { hasTls } from '../shared/hop-client.ts'
import type { TlsClient } from '../shared/sockets.ts'
import { ReactorCounts } from './counts.ts'
import { Kernel, openKernel } from './kernel.ts'
import { openLibc } from './libc.ts'
import type { FromReactor, HopMessage, PlainEnd, StateChange } from './messages.ts'
import { ListeningPorts } from './ports.ts'
import { openRouteLookup } from './routes.ts'
import { viewTlsMemory } from './shared-memory.ts'
import type { Processor } from './structures.ts'
import { ReactorThread } from './thread.ts'
import { HandedDescriptors, TlsLines } from './tls-lines.ts'
import { TlsPool } from './tls-pool.ts'

const tickMs = 250
const drainStepMs = 20
const closeStepMs = 5
const stopWithinMs = 5000

type LinuxEngineDeps = EngineDeps & {
  /** For tests: throw on ownership bugs. */
  readonly isStrict?: boolean
  /** A reactor died and is restarted: its connections are gone, its reported counts are kept. */
  readonly onRestart?: (fault: unknown) => void
}

/** The epoll and splice engine, main thread: answers the reactor's questions and keeps its counts. */
export class LinuxEngine implements Engine {
  readonly thread: ReactorThread
  private readonly kernel: Kernel
  readonly dataPath: ReactorCounts
  private readonly lookup: Lookup
  private readonly feed: StateFeed
  private readonly handed: HandedDescriptors
  private readonly lines: TlsLines
  private tlsPool: TlsPool | undefined
  private readonly ports: ListeningPorts
  private policy: Policy
  private speeds: Speeds = noLimit
  private isRefused = false
  private hasStarted = false
  private isStopping = false
  private isDraining = false
  private ticker: ReturnType<typeof setInterval> | undefined
  private onStopped: () => void = () => {}

  constructor(private readonly deps: LinuxEngineDeps) {
    const kernel = openKernel()
    this.kernel = kernel
    this.thread = new ReactorThread({
      kernel,
      limits: deps.limits,
      hop: deps.hop,
      isStrict: deps.isStrict ?? false,
      onMessage: (message) => this.take(message),
      onDeath: (fault) => {
        this.dataPath.noteDeath()
        this.handed.close()
        this.lines.reactorDied()
        this.tlsPool?.reactorDied()
        deps.onRestart?.(fault)
      },
      onBirth: () => this.brief(),
    })
    this.dataPath = new ReactorCounts(this.thread)
    this.lookup = deps.lookup ?? createLookup()
    this.feed = new StateFeed(deps.snapshot)
    const maxConnections = deps.limits.connections
    const { thread } = this
    this.handed = new HandedDescriptors(kernel, thread)
    const giver = {
      get isRunning() {
        return thread.isRunning
      },
      post: (end: PlainEnd) => this.handed.hand([end]),
    }
    this.lines = new TlsLines({ kernel, thread: giver, maxConnections, clock: () => performance.now() })
    this.ports = new ListeningPorts(kernel, this.thread, deps.limits.ports)
    this.policy = deps.policy()
  }

  takeTls(client: TlsClient): void {
    this.lines.take(client)
  }

  openTlsPool(count: number, site: SiteTerms | undefined): TlsPool {
    const { kernel, handed, deps } = this
    this.tlsPool = new TlsPool({
      kernel,
      count,
      site,
      maxConnections: deps.limits.connections,
      hand: (ends) => handed.hand(ends),
      onFault: deps.onFault,
    })
    return this.tlsPool
  }

  start(at: Parameters<Engine['start']>[0]): number {
    const port = this.ports.openMain(at.hostname, at.port, at.inherited)
    this.hasStarted = true
    this.thread.start()
    this.ticker = setInterval(() => this.publish(), tickMs)
    return port
  }

  changed(change: Changed, onPortFailure: (port: number, error: unknown) => void): void {
    if (!this.hasStarted) return
    this.publish()
    for (const each of this.feed.changed(change)) this.thread.post({ type: 'state', change: each })
    if (change.ports && !this.isStopping && !this.isDraining) {
      this.ports.openThese(this.deps.snapshot.ports, onPortFailure)
    }
  }

  setRefused(yes: boolean): void {
    this.isRefused = yes
    this.thread.post({ type: 'refused', yes })
  }

  listeners(): ReturnType<Engine['listeners']> {
    return this.ports.list()
  }

  async drain(): Promise<void> {
    this.isDraining = true
    this.thread.post({ type: 'drain' })
    this.ports.closeAll()
    while (this.ports.releasing.size > 0 && this.thread.isRunning) await Bun.sleep(closeStepMs)
  }

  async stop(drainMs: number): Promise<void> {
    const { thread } = this
    this.isStopping = true
    clearInterval(this.ticker)
    thread.post({ type: 'begin-stop' })
    this.ports.closeAll()
    if (!thread.isRunning) return thread.retire()
    const giveUpAt = performance.now() + drainMs
    // The reactor may not have started to stop yet, so sleep first.
    do await Bun.sleep(Math.min(drainMs, drainStepMs))
    while (thread.memory.status.tunnels > 0 && performance.now() < giveUpAt)
    const stopped = new Promise<void>((resolve) => {
      this.onStopped = resolve
    })
    thread.retire()
    thread.post({ type: 'end-stop' })
    await Promise.race([stopped, Bun.sleep(stopWithinMs)])
    this.handed.close()
    this.lines.stop()
  }

  get status() {
    return { ...this.thread.memory.status, listeners: this.ports.open.size }
  }

  /** Sends a new reactor everything it needs. */
  private brief(): void {
    const { thread } = this
    this.publish()
    thread.post({ type: 'policy', policy: this.policy })
    thread.post({ type: 'speeds', speeds: this.speeds })
    if (this.isRefused) thread.post({ type: 'refused', yes: true })
    if (this.isDraining) thread.post({ type: 'drain' })
    for (const change of this.feed.whole()) thread.post({ type: 'state', change })
    this.ports.announce()
  }

  /** Publishes clock skew and last contact, and sends policy and speeds that changed. */
  private publish(): void {
    const { deps, thread } = this
    thread.memory.skewMs = deps.clock() - Date.now()
    thread.memory.lastContactAt = deps.lastContactAt()
    const policy = deps.policy()
    if (policy !== this.policy) thread.post({ type: 'policy', policy })
    this.policy = policy
    const speeds = deps.speeds?.() ?? noLimit
    if (speeds !== this.speeds) thread.post({ type: 'speeds', speeds })
    this.speeds = speeds
  }

  private take(message: FromReactor): void {
    const { deps } = this
    if (message.type === 'ask') void this.ask(message)
    else if (message.type === 'look-up') void this.lookUp(message)
    else if (message.type === 'counts') {
      this.dataPath.take(message)
      if (message.isUrgent) deps.agent.noteNow()
    } else if (message.type === 'want-lease') deps.agent.wantLease(message.id, message.pool)
    else if (message.type === 'give-back') deps.agent.giveBack(message.id, message.pool)
    else if (message.type === 'unlistened') this.ports.close(message.descriptor)
    else if (message.type === 'plain-ends-taken') this.handed.taken(message.descriptors)
    else if (message.type === 'hop') this.takeHop(message)
    else if (message.type === 'exit') deps.onExit(message.report)
    else if (message.type === 'fault') deps.onFault(message.fault)
    else if (message.type === 'stopped') this.onStopped()
    else this.thread.terminate()
  }

  private takeHop({ gateway: id, descriptor, memory: shared }: HopMessage): void {
    const own = this.kernel.duplicate(descriptor)
    this.thread.post({ type: 'hop-taken', descriptor })
    if (own < 0) return
    const gateway = this.deps.snapshot.gateways.get(id)
    const line = gateway && hasTls(gateway) && this.deps.openHop?.(gateway)
    if (!line) return this.kernel.close(own)
    const memory = viewTlsMemory(shared)
    const onMoved = (): void => {
      if (line.isClosed && !line.hasEnded) memory.isGone = true
    }
    const data = new Bridge(line, { onMoved, isCut: () => memory.isCut })
    void connectDescriptor(own, { data, socket: innerHandlers })
  }

  private async ask({ ticket, question, source }: Extract<FromReactor, { type: 'ask' }>): Promise<void> {
    const reply = this.thread.replyTo()
    try {
      const outcome = await this.deps.ask(question, source)
      const answer = outcome === 'unanswered' ? outcome : this.deps.snapshot.knownOf(question)
      reply({ type: 'answer', ticket, answer })
    } catch (fault) {
      this.deps.onFault(fault)
      reply({ type: 'answer', ticket, answer: 'unanswered' })
    }
  }

  private async lookUp({ ticket, name, version }: Extract<FromReactor, { type: 'look-up' }>): Promise<void> {
    const reply = this.thread.replyTo()
    try {
      reply({ type: 'looked-up', ticket, answer: await this.lookup(name, version) })
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      reply({ type: 'looked-up', ticket, answer: { code } })
    }
  }
}

const maxAtOnce = 1000

/** Keeps the reactor's snapshot equal to this thread's: everything once, then changes. */
class StateFeed {
  private exits = new Map<string, NodeExit>()

  constructor(private readonly snapshot: Snapshot) {}

  *whole(): Generator<StateChange> {
    this.exits = new Map()
    // Gateways come before their exits.
    for (const gateways of slices([...this.snapshot.gateways.values()])) yield { gateways }
    yield* this.changedExits()
    for (const proxies of slices([...this.snapshot.proxies.values()])) yield { proxies }
    for (const subusers of slices([...this.snapshot.subusers.values()])) yield { subusers }
  }

  *changed(change: Changed): Generator<StateChange> {
    for (const ids of slices(change.gateways ?? [])) {
      const [gateways, goneGateways] = split(ids, this.snapshot.gateways)
      yield { gateways, gone: { gateways: goneGateways } }
    }
    if (change.exits) yield* this.changedExits()
    for (const usernames of slices(change.proxies)) {
      const [proxies, goneProxies] = split(usernames, this.snapshot.proxies)
      yield { proxies, gone: { proxies: goneProxies } }
    }
    for (const ids of slices(change.subusers)) {
      const [subusers, goneSubusers] = split(ids, this.snapshot.subusers)
      yield { subusers, gone: { subusers: goneSubusers } }
    }
  }

  private *changedExits(): Generator<StateChange> {
    const now = new Map(this.snapshot.exits)
    const gone = [...this.exits.keys()].filter((id) => !now.has(id))
    const fresh = [...now.values()].filter((exit) => this.exits.get(exit.id) !== exit)
    this.exits = now
    yield { gone: { exits: gone } }
    for (const exits of slices(fresh)) yield { exits }
  }
}

/** The items with these keys, and the keys without an item. */
const split = <Item>(keys: readonly string[], items: ReadonlyMap<string, Item>): [Item[], string[]] => [
  keys.flatMap((key) => items.get(key) ?? []),
  keys.filter((key) => !items.has(key)),
]

function* slices<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let at = 0; at < items.length; at += maxAtOnce) yield items.slice(at, at + maxAtOnce)
}

/** Why this engine cannot run here, or undefined. Tries the system calls that a sandbox may forbid. */
export function findLack(platform: string, processor: string): string | undefined {
  if (platform !== 'linux') return `it needs Linux, and this is ${platform}`
  if (processor !== 'x64' && processor !== 'arm64') return `it knows no ${processor} processors`
  try {
    return tryCalls(processor)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function tryCalls(processor: Processor): string | undefined {
  const libc = openLibc()
  const kernel = new Kernel(libc, processor)
  kernel.close(openRouteLookup(libc).descriptor)
  const [poll, bell] = [kernel.openPoll(), kernel.openBell()]
  const pipe = kernel.openPipe(0)
  const opened = typeof pipe === 'number' ? [poll, bell] : [poll, bell, pipe.readEnd, pipe.writeEnd]
  for (const descriptor of opened) if (descriptor >= 0) kernel.close(descriptor)
  if (poll < 0) return `epoll_create1 fails with ${-poll}`
  if (bell < 0) return `eventfd fails with ${-bell}`
  return typeof pipe === 'number' ? `pipe2 fails with ${-pipe}` : undefined
}
