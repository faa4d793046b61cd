import type { Agent, Carrier, HostCount, ProxyCount, SubuserCount } from '../../agent/carrier.ts'
import { Allowance, type Subject } from './allowance.ts'
import { createLosses, mostLost } from './losses.ts'
import { type CustomerEnd, Delivery, Tally, type Watch } from './tally.ts'

const noteEveryBytes = 1024 * 1024
const mostSources = 1000
/** What nobody uses is given back after this long. */
const idleMs = 60_000

export type Metering<End extends CustomerEnd> = ReturnType<typeof createMetering<End>>

/**
 * Every byte of every customer on this gateway: who may still carry how much, and what has been carried. `watch`
 * follows what is written to a customer's end, where the system can tell; elsewhere what was written counts as
 * delivered.
 */
export function createMetering<End extends CustomerEnd>(deps: {
  agent: Agent
  watch: (end: End) => Watch | undefined
  clock: () => number
}) {
  const { agent, clock } = deps
  const ofProxies = new Map<number, Allowance>()
  const ofSubusers = new Map<string, Map<string, Allowance>>()
  const changed = new Set<Allowance>()
  const open = new Set<Tally>()
  /** Those of which something is on its way to the customer. */
  const moving = new Set<Tally>()
  const deliveries = new Map<End, Delivery>()
  const closing = new Set<Delivery>()
  const sources = new Map<string, { id: string; address: string }>()
  const unusedAt = new Map<Allowance, number>()
  const losses = createLosses(clock)
  let sinceNoted = 0
  let carried = 0

  function findAllowance(id: string, pool: string): Allowance | undefined {
    return ofSubusers.get(id)?.get(pool)
  }

  function allowanceOf(subject: Subject): Allowance {
    const known = subject.kind === 'proxy' ? ofProxies.get(subject.id) : findAllowance(subject.id, subject.pool)
    if (known) return known
    const ask = () => subject.kind === 'subuser' && agent.wantLease(subject.id, subject.pool)
    const allowance = new Allowance(subject, ask, clock)
    if (subject.kind === 'proxy') ofProxies.set(subject.id, allowance)
    else
      ofSubusers.set(
        subject.id,
        (ofSubusers.get(subject.id) ?? new Map<string, Allowance>()).set(subject.pool, allowance),
      )
    return allowance
  }

  /** Only what is sold by the byte is followed to the customer's machine. */
  function deliveryTo(end: End, allowance: Allowance): Delivery {
    const delivery = deliveries.get(end) ?? openDelivery(end)
    if (allowance.subject.kind === 'subuser') delivery.follow(() => deps.watch(end))
    return delivery
  }

  function openDelivery(end: End): Delivery {
    const delivery = new Delivery(end)
    deliveries.set(end, delivery)
    end.onClosed = () => {
      deliveries.delete(end)
      closing.add(delivery)
      settle(delivery)
    }
    return delivery
  }

  function settle(delivery: Delivery): void {
    const isOver = delivery.settle(clock())
    for (const tally of delivery.tallies) count(tally)
    if (!isOver) return
    closing.delete(delivery)
    countLosses(delivery)
    for (const tally of delivery.tallies) close(tally)
  }

  /** What was sent and never shown to have arrived is borne within bounds, and counts beyond them. */
  function countLosses(delivery: Delivery): void {
    let bearable: number = mostLost.ofConnection
    for (const tally of delivery.tallies) {
      const { lost, owner, allowance } = tally
      if (lost === 0) continue
      const borne = losses.bear(credentialOf(allowance.subject), owner, Math.min(lost, bearable))
      bearable -= borne
      if (lost > borne && tally.countLost(lost - borne) > 0) changed.add(allowance)
    }
  }

  function count(tally: Tally): void {
    if (tally.confirm() > 0) changed.add(tally.allowance)
  }

  /** One function for all of them: an idle connection is small. */
  function onTaken(tally: Tally, bytes: number): void {
    changed.add(tally.allowance)
    moving.add(tally)
    carried += bytes
    sinceNoted += bytes
    if (sinceNoted < noteEveryBytes) return
    sinceNoted = 0
    agent.noteNow()
  }

  function close(tally: Tally): void {
    moving.delete(tally)
    if (!open.delete(tally)) return
    tally.delivery.tallies = tally.delivery.tallies.filter((each) => each !== tally)
    tally.allowance.putBack(tally.undelivered)
  }

  return {
    allowanceOf,
    /** There may be more to have for somebody who was told that there is none. */
    expectMore: (id: string, pool: string): void => findAllowance(id, pool)?.expectMore(),

    /** Begins to count for one conversation on a customer's connection. */
    begin(allowance: Allowance, end: End, owner: string, host: string | undefined): Tally {
      const delivery = deliveryTo(end, allowance)
      const tally = new Tally(allowance, end, delivery, host, owner, onTaken)
      delivery.tallies = [...delivery.tallies, tally]
      open.add(tally)
      unusedAt.delete(allowance)
      allowance.users += 1
      return tally
    },

    /** The conversation is over; what the customer's machine has not acknowledged yet is waited for. */
    finish(tally: Tally): void {
      if (tally.isOver) return
      tally.isOver = true
      moving.add(tally)
      tally.allowance.users -= 1
      if (tally.allowance.users === 0) unusedAt.set(tally.allowance, clock())
    },

    noteSource: (id: string, address: string): void => {
      if (sources.size < mostSources) sources.set(`${id} ${address}`, { id, address })
    },

    /** Connections that are closed and not let go of: it is not sure yet what has arrived. */
    get settling(): number {
      return closing.size
    },

    /** Lets go of the one that has waited longest, whatever has arrived. False when there is none. */
    letGo(): boolean {
      for (const delivery of closing) {
        delivery.cut()
        settle(delivery)
        return true
      }
      return false
    },

    /** Looks after connections that are closed and not yet acknowledged, and gives back what nobody uses. */
    sweep(): void {
      for (const delivery of closing) settle(delivery)
      for (const [allowance, at] of unusedAt) {
        if (clock() - at < idleMs) continue
        unusedAt.delete(allowance)
        const { subject } = allowance
        if (subject.kind === 'proxy' || !allowance.hasSome) continue
        allowance.surrender()
        agent.giveBack(subject.id, subject.pool)
      }
    },

    takeChanged(): ReturnType<Carrier['takeChanged']> {
      for (const tally of moving) {
        count(tally)
        if (tally.undelivered > 0) continue
        moving.delete(tally)
        if (tally.isOver) close(tally)
      }
      sinceNoted = 0
      const proxies: ProxyCount[] = []
      const subusers: SubuserCount[] = []
      const hosts: HostCount[] = []
      for (const allowance of changed) {
        const { subject, counted } = allowance
        if (subject.kind === 'proxy') proxies.push({ id: subject.id, ...counted })
        else {
          const of = { id: subject.id, pool: subject.pool }
          subusers.push({ ...of, ...counted })
          for (const each of allowance.takeChangedHosts()) hosts.push({ ...of, ...each })
        }
      }
      changed.clear()
      return { proxies, subusers, hosts, peers: [] }
    },

    takeSources(): { id: string; address: string }[] {
      const taken = [...sources.values()]
      sources.clear()
      return taken
    },

    noteAsked: (id: string, pool: string): number => findAllowance(id, pool)?.noteAsked() ?? 0,

    paceOf: (id: string, pool: string): number => findAllowance(id, pool)?.pace ?? 0,

    allow(id: string, pool: string, upto: number): void {
      allowanceOf({ kind: 'subuser', id, pool }).allow(upto)
    },

    get carried(): number {
      return carried
    },
  }
}

/** Whoever has several pools has one bound for all of them. */
const credentialOf = ({ kind, id }: Subject): string => `${kind} ${id}`
