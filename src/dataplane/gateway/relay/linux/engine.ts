import type { NodeExit } from '../../../../node-protocol/state.ts'
import type { Carrier } from '../../../agent/carrier.ts'
import type { Changed, Snapshot } from '../../../agent/snapshot.ts'
import { createLookup } from '../../dial/resolve.ts'
import { noLimit, type Speeds } from '../../metering/speed-limit.ts'
import type { Engine, EngineDeps } from '../engine.ts'
import { createSockets } from '../sockets.ts'
import { createMirror } from './counts.ts'
import { createKernel, openKernel } from './kernel.ts'
import { openLibc } from './libc.ts'
import type { FromReactor, StateChange } from './messages.ts'
import { createPorts } from './ports.ts'
import { openRouteLookup } from './routes.ts'
import type { Processor } from './structures.ts'
import { createThread, type ReactorThread } from './thread.ts'
import { createTlsLines } from './tls-lines.ts'

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
export function createLinuxEngine(
  deps: LinuxEngineDeps,
): Engine & { readonly thread: Pick<ReactorThread, 'terminate'> } {
  const { snapshot, agent } = deps
  const kernel = openKernel()
  const lookup = deps.lookup ?? createLookup()
  const mirror = createMirror()
  const feed = createStateFeed(snapshot)
  const thread = createThread({
    kernel,
    limits: deps.limits,
    hop: deps.hop,
    isStrict: deps.isStrict ?? false,
    onMessage: (message) => take(message),
    onDeath(fault) {
      carriedBefore += thread.memory.carried
      relayedBefore += thread.memory.relayed
      mirror.restart()
      lines.reactorDied()
      deps.onRestart?.(fault)
    },
    onBirth: () => brief(),
  })
  const lines = createTlsLines({ kernel, thread, sockets: createSockets(process.platform) })
  const ports = createPorts(kernel, thread, deps.limits.ports)
  let policy = deps.policy()
  let speeds: Speeds = noLimit
  let isShutOut = false
  /** By earlier reactors. */
  let carriedBefore = 0
  let relayedBefore = 0
  let hasStarted = false
  let isStopping = false
  let isDraining = false
  let ticker: ReturnType<typeof setInterval> | undefined
  let onStopped: () => void = () => {}

  /** Sends a new reactor everything it needs. */
  function brief(): void {
    lookAround()
    thread.post({ type: 'policy', policy })
    thread.post({ type: 'speeds', speeds })
    if (isShutOut) thread.post({ type: 'shut-out', yes: true })
    if (isDraining) thread.post({ type: 'drain' })
    for (const change of feed.whole()) thread.post({ type: 'state', change })
    ports.announce()
  }

  /** Publishes clock skew, last contact, policy and speeds. */
  function lookAround(): void {
    thread.memory.skewMs = deps.clock() - Date.now()
    thread.memory.lastContactAt = deps.lastContactAt()
    const now = deps.policy()
    if (now !== policy) thread.post({ type: 'policy', policy: now })
    policy = now
    const fast = deps.speeds?.() ?? noLimit
    if (fast !== speeds) thread.post({ type: 'speeds', speeds: fast })
    speeds = fast
  }

  function take(message: FromReactor): void {
    if (message.type === 'ask') void ask(message)
    else if (message.type === 'look-up') void lookUp(message)
    else if (message.type === 'counts') {
      mirror.take(message)
      if (message.isUrgent) agent.noteNow()
    } else if (message.type === 'want-lease') agent.wantLease(message.id, message.pool)
    else if (message.type === 'give-back') agent.giveBack(message.id, message.pool)
    else if (message.type === 'unlistened') ports.close(message.descriptor)
    else if (message.type === 'tls-taken') lines.taken(message.descriptor)
    else if (message.type === 'exit') deps.onExit(message.word)
    else if (message.type === 'fault') deps.onFault(message.fault)
    else if (message.type === 'stopped') onStopped()
    else thread.terminate()
  }

  async function ask({ ticket, question, source }: Extract<FromReactor, { type: 'ask' }>): Promise<void> {
    const reply = thread.replyTo()
    try {
      const asked = await deps.ask(question, source)
      reply({ type: 'asked', ticket, answer: asked === 'unasked' ? asked : snapshot.knownOf(question) })
    } catch (fault) {
      deps.onFault(fault)
      reply({ type: 'asked', ticket, answer: 'unasked' })
    }
  }

  async function lookUp({ ticket, name, version }: Extract<FromReactor, { type: 'look-up' }>): Promise<void> {
    const reply = thread.replyTo()
    try {
      reply({ type: 'looked-up', ticket, answer: await lookup(name, version) })
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      reply({ type: 'looked-up', ticket, answer: { code } })
    }
  }

  const carrier: Carrier = {
    takeChanged: () => mirror.takeChanged(),
    takeSources: () => mirror.takeSources(),
    noteAsked: (id, pool) => mirror.movingOf(id, pool),
    paceOf: (id, pool) => mirror.paceOf(id, pool),
    allow: (id, pool, upto) => thread.post({ type: 'allow', id, pool, upto: mirror.uptoOf(id, pool, upto) }),
    get health() {
      const { tunnels, dialling } = thread.memory.status
      const { carried, relayed } = thread.memory
      return { tunnels: tunnels + dialling, carried: carriedBefore + carried, relayed: relayedBefore + relayed }
    },
  }

  return {
    carrier,
    thread,

    takeTls: (tls) => lines.take(tls),

    start(at) {
      const port = ports.openMain(at.hostname, at.port, at.inherited)
      hasStarted = true
      thread.start()
      ticker = setInterval(lookAround, tickMs)
      return port
    },

    changed(change, onPortFailure) {
      if (!hasStarted) return
      lookAround()
      for (const each of feed.changed(change)) thread.post({ type: 'state', change: each })
      if (change.ports && !isStopping && !isDraining) ports.openThese(new Set(snapshot.ports()), onPortFailure)
    },

    shutOut(yes) {
      isShutOut = yes
      thread.post({ type: 'shut-out', yes })
    },

    listeners: () => ports.list(),

    async drain() {
      isDraining = true
      thread.post({ type: 'drain' })
      ports.closeAll()
      while (ports.closing > 0 && thread.isRunning) await Bun.sleep(closeStepMs)
    },

    async stop(drainMs) {
      isStopping = true
      clearInterval(ticker)
      thread.post({ type: 'begin-stop' })
      ports.closeAll()
      if (!thread.isRunning) {
        thread.retire()
        return
      }
      const giveUpAt = performance.now() + drainMs
      // The reactor may not have started to stop yet, so sleep first.
      do await Bun.sleep(Math.min(drainMs, drainStepMs))
      while (thread.memory.status.tunnels > 0 && performance.now() < giveUpAt)
      const stopped = new Promise<void>((resolve) => {
        onStopped = resolve
      })
      thread.retire()
      thread.post({ type: 'end-stop' })
      await Promise.race([stopped, Bun.sleep(stopWithinMs)])
      lines.stop()
    },

    get status() {
      return { ...thread.memory.status, listeners: ports.count }
    },
  }
}

const maxAtOnce = 1000

/** Keeps the reactor's snapshot equal to this thread's: everything once, then changes. */
function createStateFeed(snapshot: Snapshot) {
  let exits = new Map<string, NodeExit>()

  function* slices<Item>(items: readonly Item[]): Generator<Item[]> {
    for (let at = 0; at < items.length; at += maxAtOnce) yield items.slice(at, at + maxAtOnce)
  }

  function* changedExits(): Generator<StateChange> {
    const now = new Map([...snapshot.exits()].map((exit) => [exit.id, exit]))
    const gone = [...exits.keys()].filter((id) => !now.has(id))
    const fresh = [...now.values()].filter((exit) => exits.get(exit.id) !== exit)
    exits = now
    yield { goneExits: gone }
    for (const each of slices(fresh)) yield { exits: each }
  }

  return {
    *whole(): Generator<StateChange> {
      exits = new Map()
      // Gateways come before their exits.
      for (const gateways of slices([...snapshot.gateways()])) yield { gateways }
      yield* changedExits()
      for (const proxies of slices([...snapshot.proxies()])) yield { proxies }
      for (const subusers of slices([...snapshot.subusers()])) yield { subusers }
    },

    *changed(change: Changed): Generator<StateChange> {
      for (const ids of slices(change.gateways ?? [])) {
        const gateways = ids.flatMap((id) => snapshot.findGateway(id) ?? [])
        yield { gateways, goneGateways: ids.filter((id) => !snapshot.findGateway(id)) }
      }
      if (change.exits) yield* changedExits()
      for (const usernames of slices(change.proxies)) {
        const proxies = usernames.flatMap((username) => snapshot.findProxy(username) ?? [])
        const goneProxies = usernames.filter((username) => !snapshot.findProxy(username))
        yield { proxies, goneProxies }
      }
      for (const ids of slices(change.subusers)) {
        const subusers = ids.flatMap((id) => snapshot.findSubuser(id) ?? [])
        const goneSubusers = ids.filter((id) => !snapshot.findSubuser(id))
        yield { subusers, goneSubusers }
      }
    },
  }
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
  const kernel = createKernel(libc, processor)
  kernel.close(openRouteLookup(libc).descriptor)
  const [poll, bell] = [kernel.openPoll(), kernel.openBell()]
  const pipe = kernel.openPipe(0)
  const opened = typeof pipe === 'number' ? [poll, bell] : [poll, bell, pipe.readEnd, pipe.writeEnd]
  for (const descriptor of opened) if (descriptor >= 0) kernel.close(descriptor)
  if (poll < 0) return `epoll_create1 fails with ${-poll}`
  if (bell < 0) return `eventfd fails with ${-bell}`
  return typeof pipe === 'number' ? `pipe2 fails with ${-pipe}` : undefined
}
