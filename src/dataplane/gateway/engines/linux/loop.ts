import { readlinkSync } from 'node:fs'
import { receiveMessageOnPort } from 'node:worker_threads'
import { GarbageCollection } from '../../../../core/garbage-collection.ts'
import type { LeaseAgent } from '../../../agent/meter.ts'
import { openOwnHeap } from '../../../agent/own-heap.ts'
import { Snapshot } from '../../../agent/snapshot.ts'
import type { CommonState } from '../../access/common-state.ts'
import type { AskPlaces } from '../../access/machines.ts'
import type { Policy } from '../../access/policy.ts'
import type { Lookup } from '../../dial/resolve.ts'
import { noLimit } from '../../metering/speed-limit.ts'
import type { SideAround } from '../../sides/side.ts'
import { Descriptors, PipePool } from '../../system/descriptors.ts'
import { Kernel } from '../../system/kernel.ts'
import { makeDirect, openLibc } from '../../system/libc.ts'
import { EPOLLET, EPOLLIN } from '../../system/numbers.ts'
import { openRouteLookup } from '../../system/routes.ts'
import type { Processor } from '../../system/structures.ts'
import { GatewayCore, tickMs } from '../shared/core.ts'
import { takeTlsClient } from '../shared/take-tls-client.ts'
import { type Accepting, PortListener } from './channel.ts'
import { createReports } from './counts.ts'
import { DatagramBatch } from './datagrams.ts'
import type { FromReactor, ReactorTerms, StateChange, ToReactor } from './messages.ts'
import { createMovement } from './movement.ts'
import { createAccepting, Peers } from './peers.ts'
import { Reactor } from './reactor.ts'
import { openSharedState } from './shared-limits.ts'
import { type SharedMemory, viewMemory } from './shared-memory.ts'
import { TlsClients } from './tls-clients.ts'

/** Time for lingering connections after a stop. */
const lingerMs = 35_000

/** Events between two ticks of a reactor that is quiet. */
const maxWhenQuiet = 20

/** Pending questions to the main thread. */
class PendingQuestions<Answer> {
  private readonly waiting = new Map<number, (answer: Answer) => void>()
  private last = 0

  ask(send: (ticket: number) => void): Promise<Answer> {
    this.last += 1
    const ticket = this.last
    return new Promise((resolve) => {
      this.waiting.set(ticket, resolve)
      send(ticket)
    })
  }

  answer(ticket: number, answer: Answer): void {
    this.waiting.get(ticket)?.(answer)
    this.waiting.delete(ticket)
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
export class ReactorLoop {
  private readonly memory: SharedMemory
  private readonly bell: number
  private readonly accepting: Accepting
  private readonly kernel: Kernel
  private readonly descriptors: Descriptors
  private readonly reactor: Reactor
  private maxHeld = 0
  private readonly around: SideAround
  private readonly snapshot: Snapshot
  private readonly asking = new PendingQuestions<'answered' | 'unanswered'>()
  private readonly askingPlaces = new PendingQuestions<boolean>()
  private readonly askPlaces: AskPlaces = {
    ask: (of) => this.askingPlaces.ask((ticket) => this.post({ type: 'ask-place', ticket, of })),
    touch: (active) => this.post({ type: 'active-places', active }),
  }
  private readonly lookingUp = new PendingQuestions<Awaited<ReturnType<Lookup>> | { code: string }>()
  private readonly listeners = new Map<number, PortListener>()
  /** Lease messages, sent after the turn, outside the relay's call stack. */
  private readonly leaseMessages: FromReactor[] = []
  private readonly core: GatewayCore
  private readonly tls: TlsClients
  private readonly reports: ReturnType<typeof createReports>
  private readonly garbage: GarbageCollection
  private eventsAtTick = 0
  private policy = nothingAllowed
  private speeds = noLimit
  private endAt: number | undefined
  /** Value of `memory.posted` when the inbox was last read. */
  private readUpTo = 0

  constructor(
    private readonly terms: ReactorTerms,
    private readonly post: (message: FromReactor) => void,
  ) {
    this.snapshot = new Snapshot(terms.hop.node)
    const reactors = terms.reactors.map(({ memory, bell }) => ({ memory: viewMemory(memory), bell }))
    const self = reactors[terms.thread]
    if (!self) throw new Error(`there is no reactor ${terms.thread}`)
    this.memory = self.memory
    this.bell = self.bell
    const processor = process.arch as Processor
    const libc = makeDirect(openLibc(), processor)
    const kernel = new Kernel(libc, processor)
    this.kernel = kernel
    this.descriptors = new Descriptors(this.memory.owned, (descriptor) => kernel.close(descriptor), terms.isStrict)
    const routes = openRouteLookup(libc)
    this.descriptors.own(routes.descriptor)
    this.reactor = new Reactor(kernel, this.descriptors, this.onFault)
    const room = { connections: terms.limits.connections, threads: reactors.length }
    const pipes = new PipePool((bytes) => kernel.openPipe(bytes), this.descriptors, terms.isStrict, room)
    const peers = reactors.length > 1 ? new Peers(reactors, self, (bell) => kernel.ring(bell), Math.random) : undefined
    const { after } = this.reactor.timers
    this.around = { after, noteHeld: (bytes) => void (this.maxHeld = Math.max(this.maxHeld, bytes)) }
    const movement = createMovement(
      this.reactor,
      pipes,
      this.around,
      this.clock,
      routes.isDeliveredHere,
      new DatagramBatch(libc),
      post,
    )
    this.core = new GatewayCore({
      ...movement,
      snapshot: this.snapshot,
      agent: this.createLeaseAgent(),
      ask: (question, source) => this.asking.ask((ticket) => post({ type: 'ask', ticket, question, source })),
      lookup: (name, version) => this.lookUp(name, version),
      policy: () => this.policy,
      speeds: () => this.speeds,
      limits: terms.limits,
      hop: terms.hop,
      clock: this.clock,
      lastContactAt: () => this.memory.lastContactAt,
      sha256: (text) => Bun.SHA256.hash(text) as Uint8Array,
      random: Math.random,
      onAdmitted: (source) => this.tls.noteAdmitted(source),
      onExit: (report) => post({ type: 'exit', report }),
      onFault: this.onFault,
      common: this.openCommon(peers),
      places: this.askPlaces,
      onInUse: (count) => {
        this.memory.inUse = count
      },
    })
    this.accepting = createAccepting(this.reactor, this.around, this.core, peers, self)
    this.tls = this.createTlsClients(movement)
    this.reports = createReports(this.core.metering, post, () => this.reactor.nowMs)
    this.garbage = new GarbageCollection(() => performance.now(), openOwnHeap())
  }

  private createTlsClients(movement: ReturnType<typeof createMovement>): TlsClients {
    return new TlsClients({
      ...movement,
      reactor: this.reactor,
      memory: this.memory,
      snapshot: this.snapshot,
      take: (client) => takeTlsClient(client, this.core, this.around),
      post: (messages) => this.post({ type: 'tls', messages }),
      onFault: this.onFault,
    })
  }

  private createLeaseAgent(): LeaseAgent {
    return {
      wantLease: (id, pool) => {
        const { left } = this.core.metering.leaseOf(id, pool)
        this.leaseMessages.push({ type: 'want-lease', id, pool, left })
      },
      giveBack: (id, pool) =>
        void this.leaseMessages.push({ type: 'give-back', id, pool, ...this.core.metering.leaseOf(id, pool) }),
      noteNow: () => this.reports.hurry(),
    }
  }

  /** Undefined for a single reactor. */
  private openCommon(peers: Peers | undefined): CommonState | undefined {
    const { shared, thread } = this.terms
    if (!shared || !peers) return undefined
    const state = openSharedState(shared, thread, Date.now, () => this.snapshot.exits.keys())
    return { ...state, others: peers }
  }

  /** Returns when stopped and nothing is open. */
  run(): void {
    const { bell } = this
    this.memory.taskId = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    this.readInbox()
    this.memory.isServing = true
    // Edge-triggered: each ring is an event, and the count is never read.
    this.reactor.watch(bell, { onEvents() {}, onFault() {} }, EPOLLIN | EPOLLET)
    this.tick()
    while (this.endAt === undefined || (this.core.status.open > 0 && performance.now() <= this.endAt)) {
      this.memory.isAsleep = true
      this.reactor.turn(this.readInbox, this.wake)
      this.publish()
    }
    this.reports.send()
    this.post({ type: 'ended' })
  }

  private readonly wake = (): void => {
    this.memory.isAsleep = false
  }

  private readonly onFault = (fault: unknown): void => this.post({ type: 'fault', fault: toPlain(fault) })

  private readonly clock = (): number => this.reactor.wallMs + this.memory.skewMs

  private async lookUp(name: string, version: 4 | 6): ReturnType<Lookup> {
    const answer = await this.lookingUp.ask((ticket) => this.post({ type: 'look-up', ticket, name, version }))
    if ('code' in answer) throw Object.assign(new Error('the name was not found'), answer)
    return answer
  }

  private apply(change: StateChange): void {
    const { proxies = [], subusers = [], exits = [], gateways = [], devices = [], gone = {} } = change
    const changed = this.snapshot.apply({ proxies, subusers, exits, gateways, devices })
    const forgotten = this.snapshot.forget(gone)
    this.core.changed({
      proxies: [...changed.proxies, ...forgotten.proxies],
      subusers: [...changed.subusers, ...forgotten.subusers],
      exits: changed.exits || forgotten.exits,
      ports: false,
      gateways: [...(changed.gateways ?? []), ...(forgotten.gateways ?? [])],
      devices: [...(changed.devices ?? []), ...(forgotten.devices ?? [])],
    })
  }

  /** Applied at once; the waiting client continues after newer messages are read. */
  private takeAnswer({ ticket, known, isAnswered }: Extract<ToReactor, { type: 'answer' }>): void {
    this.snapshot.learn(known)
    this.asking.answer(ticket, isAnswered ? 'answered' : 'unanswered')
  }

  private take(message: ToReactor): void {
    if (message.type === 'answer') this.takeAnswer(message)
    else if (message.type === 'place') this.askingPlaces.answer(message.ticket, message.isAdmitted)
    else if (message.type === 'machines-refused') this.core.refuseMachines(message.places)
    else if (message.type === 'looked-up') this.lookingUp.answer(message.ticket, message.answer)
    else if (message.type === 'allow') this.core.metering.allow(message.id, message.pool, message.upto)
    else if (message.type === 'state') this.apply(message.change)
    else if (message.type === 'policy') this.policy = message.policy
    else if (message.type === 'speeds') this.speeds = message.speeds
    else if (message.type === 'refused') this.core.setRefused(message.yes)
    else if (message.type === 'tls') for (const each of message.messages) this.tls.takeMessage(each)
    else if (message.type === 'hop-taken') this.descriptors.release(message.descriptor)
    else if (message.type === 'unlisten') {
      this.listeners.get(message.descriptor)?.close()
      this.listeners.delete(message.descriptor)
      this.post({ type: 'unlistened', descriptor: message.descriptor })
    } else if (message.type === 'listen') {
      const { descriptor, port } = message
      this.listeners.set(descriptor, new PortListener(this.reactor, descriptor, port, this.accepting))
    } else if (message.type === 'lead') this.core.lead()
    else if (message.type === 'exit-state') this.core.adoptExit(message.report)
    else if (message.type === 'reclaim') this.reclaim(message.id, message.pool)
    else if (message.type === 'main-port') this.core.mainPort = message.port
    else if (message.type === 'drain') this.core.isDraining = true
    else if (message.type === 'begin-stop') this.core.beginStop()
    else {
      this.core.endStop()
      this.endAt = performance.now() + lingerMs
      this.reports.send()
      this.post({ type: 'stopped' })
    }
  }

  /** The counts of the same instant go out first. */
  private reclaim(id: string, pool: string): void {
    this.core.metering.spare(id, pool)
    this.leaseMessages.push({ type: 'reclaimed', id, pool, ...this.core.metering.leaseOf(id, pool) })
  }

  /** Connections that the accepting reactor has passed on, and evictions that others want. */
  private takeFromPeers(): void {
    const { memory, accepting } = this
    memory.takeArrivals((descriptor, port, words, at) => {
      try {
        accepting.begin(descriptor, port, this.kernel.sourceIn(words, at))
      } catch (fault) {
        this.onFault(fault)
      }
    })
    memory.takeTlsArrivals((descriptor, _port, words, at) => {
      this.tls.takeArrival(descriptor, this.kernel.sourceIn(words, at))
    })
    if (memory.evictions === 0) return
    for (const which of ['crowd', 'any'] as const)
      for (let left = memory.takeEvictions(which); left > 0; left -= 1) this.core.makeRoom(which)
  }

  /** Returns whether there was anything. Messages come first: a connection may depend on one that was sent before. */
  private readonly readInbox = (): boolean => {
    const hasMessages = this.readMessages()
    if (this.memory.arrivalCount === 0 && this.memory.evictions === 0) return hasMessages
    this.takeFromPeers()
    return true
  }

  private readMessages(): boolean {
    if (this.memory.posted === this.readUpTo) return false
    this.readUpTo = this.memory.posted
    for (let got = receiveMessageOnPort(this.terms.inbox); got; got = receiveMessageOnPort(this.terms.inbox)) {
      try {
        this.take(got.message as ToReactor)
      } catch (fault) {
        this.onFault(fault)
      }
    }
    return true
  }

  private readonly tick = (): void => {
    this.reactor.timers.after(tickMs, this.tick)
    this.core.tick()
    this.memory.oldestAt = this.core.oldestAt
    const { eventCount } = this.reactor
    this.garbage.collectIfWorth(eventCount - this.eventsAtTick < maxWhenQuiet)
    this.eventsAtTick = eventCount
  }

  /** Lease requests go out with the counts of the same instant. */
  private publish(): void {
    this.tls.flush()
    if (this.leaseMessages.length > 0) {
      this.reports.send()
      for (const message of this.leaseMessages.splice(0)) this.post(message)
    } else this.reports.sendIfDue(this.reactor.timers.after)
    // Field by field: spreading an object of unknown shape is too slow for every turn.
    const { open, connections, tunnels, dialling, settling, spared, turnedAway, starved } = this.core.status
    const { maxHeld } = this
    this.memory.status = { open, connections, tunnels, dialling, settling, maxHeld, spared, turnedAway, starved }
    this.memory.totalBytes = this.core.metering.totalBytes
    this.memory.hopBytes = this.core.metering.hopBytes
  }
}

/** Errors cross threads as message and stack. */
function toPlain(fault: unknown): unknown {
  return fault instanceof Error ? Object.assign(new Error(fault.message), { stack: fault.stack }) : fault
}
