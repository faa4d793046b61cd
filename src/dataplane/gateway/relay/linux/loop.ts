import { receiveMessageOnPort } from 'node:worker_threads'
import type { CarrierAgent } from '../../../agent/carrier.ts'
import { createSnapshot } from '../../../agent/snapshot.ts'
import type { Policy } from '../../access/policy.ts'
import type { Lookup } from '../../dial/resolve.ts'
import { noLimit } from '../../metering/speed-limit.ts'
import { createCore, tickMs } from '../core.ts'
import { createHeldGauge } from '../engine.ts'
import { patient, Side } from '../side.ts'
import { PortListener, TlsChannel } from './channel.ts'
import { createReports } from './counts.ts'
import { Descriptors, PipePool } from './descriptors.ts'
import { createKernel } from './kernel.ts'
import { makeDirect, openLibc } from './libc.ts'
import type { FromReactor, ReactorTerms, StateChange, ToReactor } from './messages.ts'
import { createMovement } from './movement.ts'
import { Reactor } from './reactor.ts'
import { openRouteLookup } from './routes.ts'
import { viewMemory, viewTlsMemory } from './shared-memory.ts'
import type { Processor } from './structures.ts'

/** Time for lingering connections after a stop. */
const lingerMs = 35_000

/** Collects garbage after a tick with few events, if many came since the last collection. */
const maxWhenIdle = 20
const minToCollect = 10_000

type Answers = { asked: 'asked' | 'unasked'; 'looked-up': Awaited<ReturnType<Lookup>> | { code: string } }

/** Pending questions to the main thread. */
function createQuestions<Kind extends keyof Answers>() {
  const waiting = new Map<number, (answer: Answers[Kind]) => void>()
  let last = 0
  return {
    ask(send: (ticket: number) => void): Promise<Answers[Kind]> {
      last += 1
      const ticket = last
      return new Promise((resolve) => {
        waiting.set(ticket, resolve)
        send(ticket)
      })
    },
    answer(ticket: number, answer: Answers[Kind]): void {
      waiting.get(ticket)?.(answer)
      waiting.delete(ticket)
    },
  }
}

/** Until the main thread sends the policy. */
const nothingAllowed: Policy = {
  allowLoopback: false,
  ownAddresses: [],
  denyPrefixes: [],
  denyNames: new Set(),
  ports: { allow: [], deny: new Set() },
}

/**
 * A gateway on a thread that never returns to its own event loop: it waits in epoll and polls its message port. Only
 * unknown credentials, names and leases need the main thread.
 */
export function createLoop(terms: ReactorTerms, post: (message: FromReactor) => void) {
  const { inbox, bell, isStrict } = terms
  const memory = viewMemory(terms.memory)
  const onFault = (fault: unknown): void => post({ type: 'fault', fault: toPlain(fault) })
  const processor = process.arch as Processor
  const libc = makeDirect(openLibc(), processor)
  const kernel = createKernel(libc, processor)
  const descriptors = new Descriptors(memory.owned, kernel.close, isStrict)
  const routes = openRouteLookup(libc)
  descriptors.own(routes.descriptor)
  const reactor = new Reactor(kernel, descriptors, onFault)
  const pipes = new PipePool((bytes) => kernel.openPipe(bytes), descriptors, isStrict, terms.limits.connections)
  const held = createHeldGauge()
  const around = { after: reactor.timers.after, noteHeld: held.note }
  const snapshot = createSnapshot()
  const asking = createQuestions<'asked'>()
  const lookingUp = createQuestions<'looked-up'>()
  const listeners = new Map<number, PortListener>()
  let policy = nothingAllowed
  let speeds = noLimit
  let mainPort = 0
  let endAt: number | undefined
  let heard = 0

  const tidyUp = createTidyUp()
  const clock = (): number => reactor.wallMs + memory.skewMs
  /** Sent after the turn, outside the relay's call stack. */
  const wishes: FromReactor[] = []
  const agent: CarrierAgent = {
    wantLease: (id, pool) => void wishes.push({ type: 'want-lease', id, pool }),
    giveBack: (id, pool) => void wishes.push({ type: 'give-back', id, pool }),
    noteNow: () => reports.hurry(),
  }
  const core = createCore({
    ...createMovement(reactor, pipes, around, clock, routes.isDeliveredHere),
    snapshot,
    agent,
    ask: (question, source) => asking.ask((ticket) => post({ type: 'ask', ticket, question, source })),
    async lookup(name, version) {
      const answer = await lookingUp.ask((ticket) => post({ type: 'look-up', ticket, name, version }))
      if ('code' in answer) throw Object.assign(new Error('the name was not found'), answer)
      return answer
    },
    policy: () => policy,
    speeds: () => speeds,
    limits: terms.limits,
    hop: terms.hop,
    clock,
    lastContactAt: () => memory.lastContactAt,
    sha256: (text) => Bun.SHA256.hash(text) as Uint8Array,
    random: Math.random,
    onExit: (word) => post({ type: 'exit', word }),
    onFault,
  })
  const reports = createReports(core.carrier, post, () => reactor.nowMs)

  function apply(change: StateChange): void {
    const { proxies = [], subusers = [], exits = [], gateways = [] } = change
    const { goneProxies = [], goneSubusers = [], goneExits = [], goneGateways = [] } = change
    const changed = snapshot.apply({ proxies: [...proxies], subusers: [...subusers], exits: [...exits], gateways })
    const forgotten = snapshot.forget(goneProxies, goneSubusers, goneExits, goneGateways)
    core.changed({
      proxies: [...changed.proxies, ...forgotten.proxies],
      subusers: [...changed.subusers, ...forgotten.subusers],
      exits: changed.exits || forgotten.exits,
      ports: false,
      gateways: [...(changed.gateways ?? []), ...(forgotten.gateways ?? [])],
    })
  }

  function unlisten(descriptor: number): void {
    listeners.get(descriptor)?.close()
    listeners.delete(descriptor)
    post({ type: 'unlistened', descriptor })
  }

  function takeTls({ descriptor, source, memory: shared }: Extract<ToReactor, { type: 'tls' }>): void {
    const own = kernel.duplicate(descriptor)
    post({ type: 'tls-taken', descriptor })
    if (own < 0 || !descriptors.own(own)) return
    const side = new Side(patient, around)
    const channel = new TlsChannel(reactor, own, side, mainPort, () => core.departed(), viewTlsMemory(shared))
    side.attach(channel)
    core.accepted(side, source)
    if (!side.isClosed) channel.watch()
  }

  /** Applied at once; the waiting client continues after newer messages are read. */
  function hearAnswer({ ticket, answer }: Extract<ToReactor, { type: 'asked' }>): void {
    if (answer !== 'unasked') snapshot.learn(answer)
    asking.answer(ticket, answer === 'unasked' ? answer : 'asked')
  }

  function obey(message: ToReactor): void {
    if (message.type === 'asked') hearAnswer(message)
    else if (message.type === 'looked-up') lookingUp.answer(message.ticket, message.answer)
    else if (message.type === 'allow') core.carrier.allow(message.id, message.pool, message.upto)
    else if (message.type === 'state') apply(message.change)
    else if (message.type === 'policy') policy = message.policy
    else if (message.type === 'speeds') speeds = message.speeds
    else if (message.type === 'shut-out') core.shutOut(message.yes)
    else if (message.type === 'unlisten') unlisten(message.descriptor)
    else if (message.type === 'tls') takeTls(message)
    else if (message.type === 'listen') {
      if (message.isMain) {
        mainPort = message.port
        core.setMainPort(mainPort)
      }
      listeners.set(message.descriptor, new PortListener(reactor, message.descriptor, message.port, around, core))
    } else if (message.type === 'drain') core.drain()
    else if (message.type === 'begin-stop') core.beginStop()
    else {
      core.endStop()
      endAt = performance.now() + lingerMs
      reports.send()
      post({ type: 'stopped' })
    }
  }

  /** Returns whether there were messages. */
  function hear(): boolean {
    if (memory.posted === heard) return false
    heard = memory.posted
    for (let got = receiveMessageOnPort(inbox); got; got = receiveMessageOnPort(inbox)) {
      try {
        obey(got.message as ToReactor)
      } catch (fault) {
        onFault(fault)
      }
    }
    return true
  }

  function tick(): void {
    reactor.timers.after(tickMs, tick)
    core.tick()
    tidyUp(reactor.seen)
  }

  /** Lease requests go out with the counts of the same instant. */
  function tell(): void {
    if (wishes.length > 0) {
      reports.send()
      for (const wish of wishes.splice(0)) post(wish)
    } else reports.sendIfDue(reactor.timers.after)
    tellStatus()
    const { carried, relayed } = core.carrier.health
    memory.carried = carried
    memory.relayed = relayed ?? 0
  }

  /** Field by field: spreading an object of unknown shape is too slow for every turn. */
  function tellStatus(): void {
    const { open, connections, tunnels, dialling, settling, spared, turnedAway, starved } = core.status
    const { maxHeld } = held
    memory.status = { open, connections, tunnels, dialling, settling, maxHeld, spared, turnedAway, starved }
  }

  const isOver = (): boolean => endAt !== undefined && (core.status.open === 0 || performance.now() > endAt)

  return {
    /** Returns when stopped and nothing is open. */
    run(): void {
      reactor.watchLevel(bell, { onEvents: () => kernel.hush(bell), onFault() {} })
      tick()
      while (!isOver()) {
        memory.isAsleep = true
        reactor.turn(hear)
        memory.isAsleep = false
        tell()
      }
      reports.send()
      post({ type: 'ended' })
    },
  }
}

/** Bun collects garbage when its own loop is idle, which never happens on this thread. */
function createTidyUp(): (seen: number) => void {
  let last = 0
  let collected = 0
  return (seen) => {
    const isIdle = seen - last < maxWhenIdle
    last = seen
    if (!isIdle || seen - collected < minToCollect) return
    collected = seen
    Bun.gc(true)
  }
}

/** Errors cross threads as message and stack. */
function toPlain(fault: unknown): unknown {
  return fault instanceof Error ? Object.assign(new Error(fault.message), { stack: fault.stack }) : fault
}
