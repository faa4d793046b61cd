import { Roster } from '../../../core/roster.ts'
import type { After } from '../../../core/time.ts'
import type { Agent, Carrier, ExitCount, HostCount, ProxyCount, SubuserCount } from '../../agent/carrier.ts'
import { Allowance, type Counted, type Subject } from './allowance.ts'
import { createLosses, mostLost } from './losses.ts'
import { noLimit, SpeedLimit, type Speeds } from './speed-limit.ts'
import { type CustomerEnd, Delivery, Tally, type Watch } from './tunnel-meter.ts'

const noteEveryBytes = 1024 * 1024
const mostSources = 1000
/** An unused lease is returned after this long. */
const idleMs = 60_000

export type Metering<End extends CustomerEnd> = ReturnType<typeof createMetering<End>>

/**
 * Accounts for all customers' bytes. `watch` tracks acknowledgements on a client socket; where it cannot, written bytes
 * count as delivered.
 */
export function createMetering<End extends CustomerEnd>(deps: {
  agent: Agent
  watch: (end: End) => Watch | undefined
  clock: () => number
  after: After
  speeds?: () => Speeds
}) {
  const { agent, clock } = deps
  const ofProxies = new Map<number, Allowance>()
  const ofSubusers = new Map<string, Map<string, Allowance>>()
  const ofGateways = new Map<string, Allowance>()
  /** One per credential. */
  const speedLimits = new Map<string, SpeedLimit>()
  const changed = new Set<Allowance>()
  /** Meters with undelivered bytes. */
  const moving = new Roster<'placeAmongMoving', Tally>('placeAmongMoving')
  const closing = new Set<Delivery>()
  const sources = new Map<string, { id: string; address: string }>()
  const exits = new Map<string, { readonly counted: Counted; told: number }>()
  const unusedAt = new Map<Allowance, number>()
  const losses = createLosses(clock)
  let sinceNoted = 0
  let carried = 0
  let relayed = 0

  function ofExit(id: string): Counted {
    const known = exits.get(id)
    if (known) return known.counted
    const counted = { received: 0, sent: 0 }
    exits.set(id, { counted, told: 0 })
    return counted
  }

  function findAllowance(subject: Subject): Allowance | undefined {
    if (subject.kind === 'proxy') return ofProxies.get(subject.id)
    return subject.kind === 'hop' ? ofGateways.get(subject.id) : ofSubusers.get(subject.id)?.get(subject.pool)
  }

  function poolsOf(id: string): Map<string, Allowance> {
    const pools = ofSubusers.get(id) ?? new Map<string, Allowance>()
    ofSubusers.set(id, pools)
    return pools
  }

  function allowanceOf(subject: Subject): Allowance {
    const known = findAllowance(subject)
    if (known) return known
    const ask = () => subject.kind === 'subuser' && agent.wantLease(subject.id, subject.pool)
    const allowance = new Allowance(subject, ask, clock, speedLimitOf(subject))
    if (subject.kind === 'proxy') ofProxies.set(subject.id, allowance)
    else if (subject.kind === 'hop') ofGateways.set(subject.id, allowance)
    else poolsOf(subject.id).set(subject.pool, allowance)
    return allowance
  }

  function speedLimitOf(subject: Subject): SpeedLimit {
    const credential = credentialOf(subject)
    const known = speedLimits.get(credential)
    if (known) return known
    const rate = (): number =>
      subject.kind === 'hop' ? Number.POSITIVE_INFINITY : (deps.speeds?.() ?? noLimit)[subject.kind]
    const limit = new SpeedLimit(rate, clock, deps.after)
    speedLimits.set(credential, limit)
    return limit
  }

  /** Only leased (prepaid) bytes are tracked to the client's machine. */
  function deliveryTo(end: End, allowance: Allowance): Delivery {
    const delivery = end.delivery ?? new Delivery(end, settle)
    end.delivery = delivery
    if (allowance.subject.kind === 'subuser') delivery.follow(() => deps.watch(end))
    return delivery
  }

  function settle(delivery: Delivery): void {
    const isOver = delivery.settle(clock())
    for (const tally of delivery.tallies) count(tally)
    if (!isOver) {
      closing.add(delivery)
      return
    }
    closing.delete(delivery)
    countLosses(delivery)
    for (const tally of delivery.tallies) close(tally)
  }

  /** Losses beyond the bounds are counted as delivered. */
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

  /** Shared by all meters, to keep idle tunnels small. */
  function onTaken(tally: Tally, bytes: number): void {
    changed.add(tally.allowance)
    moving.add(tally)
    carried += bytes
    if (tally.allowance.subject.kind === 'hop') relayed += bytes
    sinceNoted += bytes
    if (sinceNoted < noteEveryBytes) return
    sinceNoted = 0
    agent.noteNow()
  }

  function close(tally: Tally): void {
    moving.delete(tally)
    if (tally.isClosed) return
    tally.isClosed = true
    tally.delivery.tallies = tally.delivery.tallies.filter((each) => each !== tally)
    tally.allowance.putBack(tally.undelivered)
  }

  return {
    allowanceOf,
    expectMore: (id: string, pool: string): void => findAllowance({ kind: 'subuser', id, pool })?.expectMore(),

    begin(allowance: Allowance, end: End, owner: string, host: string | undefined, exit?: string): Tally {
      const delivery = deliveryTo(end, allowance)
      const tally = new Tally(
        allowance,
        end,
        delivery,
        host,
        owner,
        onTaken,
        exit === undefined ? undefined : ofExit(exit),
      )
      delivery.tallies = [...delivery.tallies, tally]
      unusedAt.delete(allowance)
      allowance.users += 1
      return tally
    },

    /** The tunnel ended; unacknowledged bytes are still awaited. */
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

    /** Closed connections that wait for acknowledgements. */
    get settling(): number {
      return closing.size
    },

    /** Settles the oldest closed connection at once. False if there is none. */
    letGo(): boolean {
      for (const delivery of closing) {
        delivery.cut()
        settle(delivery)
        return true
      }
      return false
    },

    /** Settles closed connections and returns unused leases. */
    sweep(): void {
      for (const delivery of closing) settle(delivery)
      for (const [allowance, at] of unusedAt) {
        if (clock() - at < idleMs) continue
        unusedAt.delete(allowance)
        const { subject } = allowance
        if (subject.kind !== 'subuser' || !allowance.hasSome) continue
        allowance.surrender()
        agent.giveBack(subject.id, subject.pool)
      }
    },

    takeChanged(): ReturnType<Carrier['takeChanged']> {
      moving.forEach((tally) => {
        count(tally)
        if (tally.undelivered > 0) return
        moving.delete(tally)
        if (tally.isOver) close(tally)
      })
      sinceNoted = 0
      const proxies: ProxyCount[] = []
      const subusers: SubuserCount[] = []
      const hosts: HostCount[] = []
      for (const allowance of changed) {
        const { subject, counted } = allowance
        if (subject.kind === 'proxy') proxies.push({ id: subject.id, ...counted })
        else if (subject.kind === 'subuser') {
          const of = { id: subject.id, pool: subject.pool }
          subusers.push({ ...of, ...counted })
          for (const each of allowance.takeChangedHosts()) hosts.push({ ...of, ...each })
        }
      }
      changed.clear()
      const through: ExitCount[] = []
      for (const [id, each] of exits) {
        const sum = each.counted.received + each.counted.sent
        if (sum === each.told) continue
        each.told = sum
        through.push({ id, ...each.counted })
      }
      return { proxies, subusers, hosts, peers: [], exits: through }
    },

    takeSources(): { id: string; address: string }[] {
      const taken = [...sources.values()]
      sources.clear()
      return taken
    },

    noteAsked: (id: string, pool: string): number => findAllowance({ kind: 'subuser', id, pool })?.noteAsked() ?? 0,

    paceOf: (id: string, pool: string): number => findAllowance({ kind: 'subuser', id, pool })?.pace ?? 0,

    allow(id: string, pool: string, upto: number): void {
      allowanceOf({ kind: 'subuser', id, pool }).allow(upto)
    },

    get carried(): number {
      return carried
    },
    get relayed(): number {
      return relayed
    },
  }
}

/** All pools of a credential share one speed limit and one loss bound. */
const credentialOf = ({ kind, id }: Subject): string => `${kind} ${id}`
