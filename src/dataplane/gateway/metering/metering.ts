import { SwapRemoveSet } from '../../../core/swap-remove-set.ts'
import type { After } from '../../../core/time.ts'
import type { Carrier, CarrierAgent, ExitCounter, HostCount, ProxyCount, SubuserCount } from '../../agent/carrier.ts'
import { ByteAllowance, type Counted, type Subject } from './allowance.ts'
import { createLosses, maxLost } from './losses.ts'
import { noLimit, SpeedLimit, type Speeds } from './speed-limit.ts'
import { type CustomerEnd, Delivery, type DeliveryWatch, TunnelMeter } from './tunnel-meter.ts'

const noteEveryBytes = 1024 * 1024
const maxSources = 1000
/** An unused lease is returned after this long. */
const idleMs = 60_000

export type Metering<End extends CustomerEnd> = ReturnType<typeof createMetering<End>>

/** Accounts for all bytes. Without a `watch`, written bytes count as delivered. */
export function createMetering<End extends CustomerEnd>(deps: {
  agent: CarrierAgent
  watch: (end: End) => DeliveryWatch | undefined
  clock: () => number
  after: After
  speeds?: () => Speeds
}) {
  const { agent, clock } = deps
  const ofProxies = new Map<number, ByteAllowance>()
  const ofSubusers = new Map<string, Map<string, ByteAllowance>>()
  const ofGateways = new Map<string, ByteAllowance>()
  /** One per credential. */
  const speedLimits = new Map<string, SpeedLimit>()
  const changed = new Set<ByteAllowance>()
  /** Meters with undelivered bytes. */
  const moving = new SwapRemoveSet<'movingIndex', TunnelMeter>('movingIndex')
  const closing = new Set<Delivery>()
  const sources = new Map<string, { id: string; address: string }>()
  const exits = new Map<string, { readonly counted: Counted; told: number }>()
  const unusedAt = new Map<ByteAllowance, number>()
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

  function findAllowance(subject: Subject): ByteAllowance | undefined {
    if (subject.kind === 'proxy') return ofProxies.get(subject.id)
    return subject.kind === 'hop' ? ofGateways.get(subject.id) : ofSubusers.get(subject.id)?.get(subject.pool)
  }

  function poolsOf(id: string): Map<string, ByteAllowance> {
    const pools = ofSubusers.get(id) ?? new Map<string, ByteAllowance>()
    ofSubusers.set(id, pools)
    return pools
  }

  function allowanceOf(subject: Subject): ByteAllowance {
    const known = findAllowance(subject)
    if (known) return known
    const ask = () => subject.kind === 'subuser' && agent.wantLease(subject.id, subject.pool)
    const allowance = new ByteAllowance(subject, ask, clock, speedLimitOf(subject))
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
  function deliveryTo(end: End, allowance: ByteAllowance): Delivery {
    const delivery = end.delivery ?? new Delivery(end, settle)
    end.delivery = delivery
    if (allowance.subject.kind === 'subuser') delivery.follow(() => deps.watch(end))
    return delivery
  }

  function settle(delivery: Delivery): void {
    const isOver = delivery.settle(clock())
    for (const meter of delivery.meters) count(meter)
    if (!isOver) {
      closing.add(delivery)
      return
    }
    closing.delete(delivery)
    countLosses(delivery)
    for (const meter of delivery.meters) close(meter)
  }

  /** Losses beyond the bounds are counted as delivered. */
  function countLosses(delivery: Delivery): void {
    let bearable: number = maxLost.ofConnection
    for (const meter of delivery.meters) {
      const { lost, owner, allowance } = meter
      if (lost === 0) continue
      const borne = losses.bear(credentialOf(allowance.subject), owner, Math.min(lost, bearable))
      bearable -= borne
      if (lost > borne && meter.countLost(lost - borne) > 0) changed.add(allowance)
    }
  }

  function count(meter: TunnelMeter): void {
    if (meter.confirm() > 0) changed.add(meter.allowance)
  }

  /** Shared by all meters, to keep idle tunnels small. */
  function onTaken(meter: TunnelMeter, bytes: number): void {
    changed.add(meter.allowance)
    moving.add(meter)
    carried += bytes
    if (meter.allowance.subject.kind === 'hop') relayed += bytes
    sinceNoted += bytes
    if (sinceNoted < noteEveryBytes) return
    sinceNoted = 0
    agent.noteNow()
  }

  function close(meter: TunnelMeter): void {
    moving.delete(meter)
    if (meter.isClosed) return
    meter.isClosed = true
    meter.delivery.meters = meter.delivery.meters.filter((each) => each !== meter)
    meter.allowance.putBack(meter.undelivered)
  }

  return {
    allowanceOf,
    expectMore: (id: string, pool: string): void => findAllowance({ kind: 'subuser', id, pool })?.expectMore(),

    begin(allowance: ByteAllowance, end: End, owner: string, host: string | undefined, exit?: string): TunnelMeter {
      const delivery = deliveryTo(end, allowance)
      const meter = new TunnelMeter(
        allowance,
        end,
        delivery,
        host,
        owner,
        onTaken,
        exit === undefined ? undefined : ofExit(exit),
      )
      delivery.meters = [...delivery.meters, meter]
      unusedAt.delete(allowance)
      allowance.users += 1
      return meter
    },

    /** The tunnel ended; unacknowledged bytes are still awaited. */
    finish(meter: TunnelMeter): void {
      if (meter.isOver) return
      meter.isOver = true
      moving.add(meter)
      meter.allowance.users -= 1
      if (meter.allowance.users === 0) unusedAt.set(meter.allowance, clock())
    },

    noteSource: (id: string, address: string): void => {
      if (sources.size < maxSources) sources.set(`${id} ${address}`, { id, address })
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
      moving.forEach((meter) => {
        count(meter)
        if (meter.undelivered > 0) return
        moving.delete(meter)
        if (meter.isOver) close(meter)
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
      const through: ExitCounter[] = []
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
