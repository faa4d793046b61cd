import type { After } from '../../../../core/time.ts'
import type { NodeExit } from '../../../../node-protocol/state.ts'
import type { DevicePlace } from '../../../agent/places.ts'
import type { Changed, Snapshot } from '../../../agent/snapshot.ts'
import { Bridge, innerHandlers } from '../../../tls/bridge.ts'
import { connectDescriptor } from '../../../tls/tls-socket.ts'
import type { ExitReport } from '../../access/exit-health.ts'
import type { Policy } from '../../access/policy.ts'
import { createLookup, type Lookup } from '../../dial/resolve.ts'
import { noLimit, type Speeds } from '../../metering/speed-limit.ts'
import { Kernel, openKernel } from '../../system/kernel.ts'
import { openLibc } from '../../system/libc.ts'
import { openRouteLookup } from '../../system/routes.ts'
import type { Processor } from '../../system/structures.ts'
import type { Engine, EngineDeps, EngineTlsTerms } from '../shared/engine.ts'
import { hasTls } from '../shared/hop-client.ts'
import { ReactorCounts } from './counts.ts'
import { LeaseShares } from './lease-shares.ts'
import type { FromReactor, HopMessage, StateChange, ToReactor } from './messages.ts'
import { ListeningPorts } from './ports.ts'
import { forgetThread, type LimitMemory, makeLimitMemory } from './shared-limits.ts'
import { noStatus, statusNames, viewTlsMemory } from './shared-memory.ts'
import { ReactorThread, readThreadSeconds } from './thread.ts'
import { TlsDispatcher } from './tls-dispatcher.ts'

const tickMs = 250
const drainStepMs = 20
const closeStepMs = 5
const stopWithinMs = 5000

const after: After = (ms, act) => {
  const timer = setTimeout(act, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

type LinuxEngineDeps = EngineDeps & {
  /** Reactors, each on its own thread. */
  readonly reactors: number
  /** For tests: throw on ownership bugs. */
  readonly isStrict?: boolean
  /** A reactor died and is restarted: its connections are gone, its reported counts are kept. */
  readonly onRestart?: (fault: unknown) => void
}

/** The epoll and splice engine, main thread: answers the reactors' questions and keeps their counts. */
export class LinuxEngine implements Engine {
  readonly threads: readonly ReactorThread[]
  private readonly kernel: Kernel
  readonly dataPath: ReactorCounts
  private readonly lookup: Lookup
  private readonly feeds: readonly StateFeed[]
  private tls: TlsDispatcher | undefined
  private readonly ports: ListeningPorts
  private readonly limits: LimitMemory | undefined
  private readonly leases: LeaseShares
  /** It accepts connections and checks exits; undefined while no reactor runs. */
  private lead: ReactorThread | undefined
  /** The latest state of each exit that a reactor has found. */
  private readonly exits = new Map<string, ExitReport>()
  private policy: Policy
  private speeds: Speeds = noLimit
  private isRefused = false
  private hasStarted = false
  private isStopping = false
  private isDraining = false
  private ticker: ReturnType<typeof setInterval> | undefined
  private unstopped = 0
  private onStopped: () => void = () => {}

  constructor(private readonly deps: LinuxEngineDeps) {
    const kernel = openKernel()
    this.kernel = kernel
    const { reactors } = deps
    const maxConnections = deps.limits.connections
    this.limits = reactors > 1 ? makeLimitMemory(reactors, maxConnections, Math.random) : undefined
    this.threads = Array.from({ length: reactors }, (_, index) => this.createThread(index))
    this.leases = this.createLeases()
    this.dataPath = new ReactorCounts(this.threads, (id, pool, upto) => this.leases.answered(id, pool, upto))
    this.lookup = deps.lookup ?? createLookup()
    this.feeds = this.threads.map(() => new StateFeed(deps.snapshot))
    this.ports = new ListeningPorts(kernel, this.createAccepter(), deps.limits.ports)
    this.policy = deps.policy()
  }

  openTls(terms: EngineTlsTerms): TlsDispatcher {
    const { kernel, threads, deps } = this
    this.tls = new TlsDispatcher({
      ...terms,
      kernel,
      threads,
      maxConnections: deps.limits.connections,
      onAdmitted: deps.onAdmitted,
    })
    return this.tls
  }

  start(at: Parameters<Engine['start']>[0]): number {
    const port = this.ports.openMain(at.hostname, at.port, at.inherited)
    this.hasStarted = true
    for (const thread of this.threads) thread.start()
    this.ticker = setInterval(() => this.publish(), tickMs)
    return port
  }

  changed(change: Changed, onPortFailure: (port: number, error: unknown) => void): void {
    if (!this.hasStarted) return
    this.publish()
    for (const thread of this.threads) {
      if (!thread.isRunning) continue
      for (const each of this.feedOf(thread).changed(change)) thread.post({ type: 'state', change: each })
    }
    if (change.exits) for (const id of this.exits.keys()) if (!this.deps.snapshot.exits.has(id)) this.exits.delete(id)
    if (change.ports && !this.isStopping && !this.isDraining) {
      this.ports.openThese(this.deps.snapshot.ports, onPortFailure)
    }
  }

  refuseMachines(places: readonly DevicePlace[]): void {
    this.postAll({ type: 'machines-refused', places })
  }

  setRefused(yes: boolean): void {
    this.isRefused = yes
    this.postAll({ type: 'refused', yes })
  }

  listeners(): ReturnType<Engine['listeners']> {
    return this.ports.list()
  }

  async drain(): Promise<void> {
    this.isDraining = true
    // Before the successor's first tunnel: this process has a share of the speed limits from now on.
    this.publish()
    this.postAll({ type: 'drain' })
    this.ports.closeAll()
    while (this.ports.releasing.size > 0 && this.lead) await Bun.sleep(closeStepMs)
  }

  async stop(drainMs: number): Promise<void> {
    const { threads } = this
    this.isStopping = true
    clearInterval(this.ticker)
    this.postAll({ type: 'begin-stop' })
    this.ports.closeAll()
    const giveUpAt = performance.now() + drainMs
    // The reactors may not have started to stop yet, so sleep first.
    if (threads.some((thread) => thread.isRunning)) {
      do await Bun.sleep(Math.min(drainMs, drainStepMs))
      while (this.status.tunnels > 0 && performance.now() < giveUpAt)
    }
    const stopped = new Promise<void>((resolve) => {
      this.onStopped = resolve
    })
    this.unstopped = threads.filter((thread) => thread.isRunning).length
    for (const thread of threads) thread.retire()
    this.postAll({ type: 'end-stop' })
    if (this.unstopped > 0) await Promise.race([stopped, Bun.sleep(stopWithinMs)])
    this.closeBells()
  }

  get status() {
    const sum = { ...noStatus }
    for (const { memory } of this.threads) {
      const { status } = memory
      for (const name of statusNames) {
        sum[name] = name === 'maxHeld' ? Math.max(sum[name], status[name]) : sum[name] + status[name]
      }
    }
    return { ...sum, listeners: this.ports.open.size }
  }

  get reactors() {
    return this.threads.map(({ memory }) => ({
      tunnels: memory.status.tunnels,
      processorSeconds: readThreadSeconds(memory.taskId),
    }))
  }

  private createThread(index: number): ReactorThread {
    const { deps } = this
    const thread: ReactorThread = new ReactorThread(index, {
      kernel: this.kernel,
      terms: () => ({
        reactors: this.threads.map(({ buffer, bell }) => ({ memory: buffer, bell })),
        shared: this.limits,
        limits: deps.limits,
        hop: deps.hop,
        isStrict: deps.isStrict ?? false,
      }),
      onMessage: (message) => this.take(thread, message),
      onEnd: () => this.ended(thread),
      onDeath: (fault) => deps.onRestart?.(fault),
      onBirth: () => this.brief(thread),
    })
    return thread
  }

  private createLeases(): LeaseShares {
    const { agent } = this.deps
    return new LeaseShares({
      threads: this.threads.length,
      agent,
      allow: (thread, id, pool, upto) => this.threads[thread]?.post({ type: 'allow', id, pool, upto }),
      reclaim: (thread, id, pool) => {
        const asked = this.threads[thread]
        asked?.post({ type: 'reclaim', id, pool })
        return asked?.isRunning ?? false
      },
      now: () => performance.now(),
      after,
    })
  }

  /** The lead, for listening ports. */
  private createAccepter(): ConstructorParameters<typeof ListeningPorts>[1] {
    const findLead = () => this.lead
    return {
      get isRunning() {
        return findLead() !== undefined
      },
      post: (message) => findLead()?.post(message),
    }
  }

  private feedOf({ index }: ReactorThread): StateFeed {
    return this.feeds[index] ?? new StateFeed(this.deps.snapshot)
  }

  private postAll(message: ToReactor): void {
    for (const thread of this.threads) thread.post(message)
  }

  /** A reactor has ended. Its connections are gone; what it had counted and reported stays. */
  private ended(thread: ReactorThread): void {
    if (this.limits) forgetThread(this.limits, thread.index)
    this.dataPath.noteDeath(thread.index)
    this.leases.died(thread.index, (id, pool) => this.dataPath.countedBefore(id, pool))
    this.tls?.reactorDied(thread.index)
    if (this.lead === thread) this.elect(this.threads.find((each) => each.isRunning))
    this.closeBells()
  }

  private elect(thread: ReactorThread | undefined): void {
    this.lead = thread
    if (!thread) return
    thread.post({ type: 'lead' })
    this.ports.announce()
  }

  /** After the last reactor has ended: they wake each other. */
  private closeBells(): void {
    if (!this.isStopping || this.threads.some((thread) => thread.isRunning)) return
    for (const thread of this.threads) thread.closeBell()
  }

  /** Sends a new reactor everything it needs. */
  private brief(thread: ReactorThread): void {
    this.publish()
    thread.post({ type: 'policy', policy: this.policy })
    thread.post({ type: 'speeds', speeds: this.speeds })
    if (this.isRefused) thread.post({ type: 'refused', yes: true })
    if (this.isDraining) thread.post({ type: 'drain' })
    thread.post({ type: 'main-port', port: this.ports.mainPort })
    for (const change of this.feedOf(thread).whole()) thread.post({ type: 'state', change })
    for (const report of this.exits.values()) thread.post({ type: 'exit-state', report })
    this.tls?.brief(thread.index)
    if (!this.lead) this.elect(thread)
  }

  /** Publishes clock skew and last contact, and sends policy and speeds that changed. */
  private publish(): void {
    const { deps } = this
    for (const { memory } of this.threads) {
      memory.skewMs = deps.clock() - Date.now()
      memory.lastContactAt = deps.lastContactAt()
    }
    const policy = deps.policy()
    if (policy !== this.policy) this.postAll({ type: 'policy', policy })
    this.policy = policy
    const speeds = deps.speeds?.() ?? noLimit
    if (speeds !== this.speeds) this.postAll({ type: 'speeds', speeds })
    this.speeds = speeds
  }

  private take(thread: ReactorThread, message: FromReactor): void {
    const { deps } = this
    if (message.type === 'ask') void this.ask(thread, message)
    else if (message.type === 'look-up') void this.lookUp(thread, message)
    else if (message.type === 'ask-place') void this.askPlace(thread, message)
    else if (message.type === 'active-places') deps.places?.touch(message.active)
    else if (message.type === 'counts') {
      this.dataPath.take(thread.index, message)
      if (message.isUrgent) deps.agent.noteNow()
    } else if (message.type === 'want-lease') this.leases.want(thread.index, message.id, message.pool, message.left)
    else if (message.type === 'give-back' || message.type === 'reclaimed') {
      this.leases.reduced(thread.index, message, message.type === 'give-back')
    } else if (message.type === 'unlistened') this.ports.close(message.descriptor)
    else if (message.type === 'tls') this.tls?.takeMessages(thread.index, message.messages)
    else if (message.type === 'hop') this.takeHop(thread, message)
    else if (message.type === 'exit') this.noteExit(thread, message.report)
    else if (message.type === 'fault') deps.onFault(message.fault)
    else if (message.type === 'stopped') this.noteStopped()
    else thread.terminate()
  }

  private noteStopped(): void {
    this.unstopped -= 1
    if (this.unstopped === 0) this.onStopped()
  }

  /** All reactors judge an exit by the latest state that one of them has found. */
  private noteExit(finder: ReactorThread, report: ExitReport): void {
    this.exits.set(report.id, report)
    for (const thread of this.threads) if (thread !== finder) thread.post({ type: 'exit-state', report })
    this.deps.onExit(report)
  }

  private takeHop(thread: ReactorThread, { gateway: id, descriptor, memory: shared }: HopMessage): void {
    const own = this.kernel.duplicate(descriptor)
    thread.post({ type: 'hop-taken', descriptor })
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

  private async ask(
    thread: ReactorThread,
    { ticket, question, source }: Extract<FromReactor, { type: 'ask' }>,
  ): Promise<void> {
    const reply = thread.replyTo()
    let isAnswered = false
    try {
      isAnswered = (await this.deps.ask(question, source)) === 'answered'
    } catch (fault) {
      this.deps.onFault(fault)
    }
    // Without an answer too: another reactor may have looked the login up while the shop was reached.
    reply({ type: 'answer', ticket, known: this.deps.snapshot.knownOf(question), isAnswered })
  }

  private async askPlace(
    thread: ReactorThread,
    { ticket, of }: Extract<FromReactor, { type: 'ask-place' }>,
  ): Promise<void> {
    const reply = thread.replyTo()
    let isAdmitted = true
    try {
      isAdmitted = (await this.deps.places?.ask(of)) ?? true
    } catch (fault) {
      this.deps.onFault(fault)
    }
    reply({ type: 'place', ticket, isAdmitted })
  }

  private async lookUp(
    thread: ReactorThread,
    { ticket, name, version }: Extract<FromReactor, { type: 'look-up' }>,
  ): Promise<void> {
    const reply = thread.replyTo()
    try {
      reply({ type: 'looked-up', ticket, answer: await this.lookup(name, version) })
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      reply({ type: 'looked-up', ticket, answer: { code } })
    }
  }
}

const maxAtOnce = 1000

/** Keeps a reactor's snapshot equal to this thread's: everything once, then changes. */
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
    for (const devices of slices([...this.snapshot.devices.values()])) yield { devices }
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
    for (const ids of slices(change.devices ?? [])) {
      const [devices, goneDevices] = split(ids, this.snapshot.devices)
      yield { devices, gone: { devices: goneDevices } }
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
