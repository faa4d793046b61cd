import type { Log } from '../core/log.ts'
import { runningSince, type Stalls } from '../core/stall-monitor.ts'
import { type Clock, toIso } from '../core/time.ts'
import type { Customers } from '../domains/customers/index.ts'
import type { DedicatedUpkeep, OutageWatch } from '../domains/dedicated/index.ts'
import { lookEveryMs } from '../domains/dedicated/outages/rules.ts'
import type { Events } from '../domains/events/index.ts'
import type { Fleet } from '../domains/fleet/index.ts'
import type { Node } from '../domains/fleet/rules.ts'
import type { Ledger, LedgerAudit } from '../domains/ledger/index.ts'
import type { Orders } from '../domains/orders/index.ts'
import type { PaymentWatch, Purchases } from '../domains/payments/index.ts'
import type { Premium } from '../domains/premium/index.ts'
import type { Erasing, Retaining } from '../domains/privacy/index.ts'
import type { RequestLog } from '../domains/requests/index.ts'
import type { SignIn } from '../domains/signin/index.ts'
import type { Stock } from '../domains/stock/index.ts'
import type { Traffic } from '../domains/traffic/index.ts'
import type { Vpn } from '../domains/vpn/index.ts'
import type { Webhooks } from '../domains/webhooks/index.ts'
import { batchJob, type Job, type JobLog } from './jobs.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** A node reports every second. Silence excludes time in which this process did not run. */
const silentMs = 15 * secondMs

/** Logs nodes that appear and disappear. A node that never joined is ignored. */
export function fleetJobs(
  deps: { readonly fleet: Pick<Fleet, 'nodes'>; readonly clock: Clock; readonly stalls: Stalls },
  log: Pick<Log, 'info' | 'warn'>,
): readonly Job[] {
  const since = runningSince(deps)
  const there = new Map<string, boolean>()

  function look(node: Node): void {
    if (node.lastSeenAt === null || node.joinedAt === null) return
    const isThere = node.state === 'open' && since(node.lastSeenAt) <= silentMs
    const was = there.get(node.id)
    there.set(node.id, isThere)
    const fields = { node: node.id, name: node.name, kind: node.kind }
    if (isThere && was !== true) log.info('node came', { ...fields, version: node.version ?? '' })
    if (isThere || was === false) return
    log.warn('node gone', { ...fields, state: node.state, silent_ms: since(node.lastSeenAt) })
  }

  async function work(): Promise<void> {
    for (const kind of ['gateway', 'vpn'] as const) for (const node of await deps.fleet.nodes(kind)) look(node)
  }
  return [{ name: 'tell of nodes', everyMs: 5 * secondMs, work }]
}

/** The days of some months are summed at once after an update. */
const daysAtOnce = 20

/** Writes a checkpoint to a place outside this database. */
type KeepCheckpoint = (made: {
  readonly number: number
  readonly hash: string
  readonly madeAt: string
}) => Promise<void>

export const moneyJobs = (
  services: {
    ledger: Pick<Ledger, 'sumDays'>
    orders: Orders
    ledgerAudit: LedgerAudit
    keepCheckpoint: KeepCheckpoint
  },
  log: JobLog,
): readonly Job[] => [
  {
    name: 'checkpoint',
    everyMs: hourMs,
    async work() {
      const made = await services.ledgerAudit.makeCheckpoint()
      if (!made) return
      const hash = made.hash.toHex()
      log.info('checkpoint', { number: made.number, postings: made.postings, hash })
      await services.keepCheckpoint({ number: made.number, hash, madeAt: toIso(made.madeAt) })
    },
  },
  batchJob('sum days', 10 * minuteMs, daysAtOnce, async (limit) =>
    Math.max(await services.ledger.sumDays(limit), await services.orders.sumDays(limit)),
  ),
  batchJob('forget answers', 10 * minuteMs, 1000, (limit) => services.orders.forgetAnswers(limit)),
]

/** Ends and renews proxies, and offers addresses for sale after their rest or an interrupted addition. */
export const dedicatedJobs = (
  { dedicatedUpkeep, stock }: { dedicatedUpkeep: DedicatedUpkeep; stock: Stock },
  log: Pick<Log, 'info'>,
): readonly Job[] => [
  batchJob('release proxies', 5 * secondMs, 200, (limit) => dedicatedUpkeep.release(limit), 20),
  batchJob('end rest', minuteMs, 200, (limit) => stock.endRest(limit), 20),
  {
    name: 'adopt stock',
    everyMs: minuteMs,
    async work() {
      for (const { begunAt, slots, prefix } of await stock.ranges.unfinished.adoptStill()) {
        log.info('half added stock is sold', { begun_at: toIso(begunAt), slots, first_range: prefix })
      }
    },
  },
  { name: 'renew proxies', everyMs: 30 * secondMs, work: () => dedicatedUpkeep.renew(200) },
  batchJob('announce ends', 10 * secondMs, 200, (limit) => dedicatedUpkeep.announce(limit), 20),
  batchJob('forget days of proxies', hourMs, 500, (limit) => dedicatedUpkeep.forgetDays(limit)),
]

/** Opens and closes outages of sold proxies. */
export const outageJobs = (
  { outageWatch }: { outageWatch: OutageWatch },
  log: Pick<Log, 'info' | 'warn'>,
): readonly Job[] => [
  {
    name: 'look for outages',
    everyMs: lookEveryMs,
    async work() {
      const { interrupted, ...over } = await outageWatch.look()
      if (interrupted > 0) log.warn('proxies interrupted', { interrupted })
      if (over.restored + over.replaced + over.moved > 0) log.info('proxies resumed', over)
    },
  },
]

export const premiumJobs = (
  { premium, traffic }: { premium: Premium; traffic: Traffic },
  log: JobLog,
): readonly Job[] => [
  {
    name: 'lapse leases',
    everyMs: minuteMs,
    async work() {
      const silent = await traffic.leases.lapse()
      if (silent > 0) log.info('leases lapsed', { boots: silent })
    },
  },
  batchJob('expire traffic', 5 * minuteMs, 500, (limit) => traffic.accounts.expire(limit)),
  { name: 'pass traffic on', everyMs: 5 * minuteMs, work: () => premium.passOn() },
  batchJob('announce traffic', minuteMs, 100, (limit) => premium.traffic.announceLow(limit), 20),
  batchJob('forget hosts', hourMs, 500, (limit) => premium.metering.forgetHosts(limit)),
]

/** Reports nodes that claim more traffic than their link can carry, and nodes at their limit of leased bytes. */
export function trafficJobs(
  deps: {
    traffic: { counts: Pick<Traffic['counts'], 'refusals'>; leases: Pick<Traffic['leases'], 'held'> }
    clock: Clock
  },
  log: JobLog,
): readonly Job[] {
  let reportedUntilAt = deps.clock()
  async function work(): Promise<void> {
    for (const { node, bytes, at } of await deps.traffic.counts.refusals(reportedUntilAt)) {
      log.error('a node reported more bytes than its link can have relayed', { node, refused_bytes: Number(bytes) })
      reportedUntilAt = Math.max(reportedUntilAt, at)
    }
    for (const [node, { bytes, accountsAtLimit }] of await deps.traffic.leases.held()) {
      if (accountsAtLimit === 0) continue
      const fields = { node, held_bytes: Number(bytes), accounts_at_limit: accountsAtLimit }
      log.error('a node holds as much of accounts as one node may', fields)
    }
  }
  return [{ name: 'tell of claims', everyMs: minuteMs, work }]
}

export const vpnJobs = ({ vpn }: { vpn: Vpn }, log: JobLog): readonly Job[] => [
  {
    name: 'renew vpn',
    everyMs: minuteMs,
    async work() {
      for (;;) {
        const { renewed, refused, more } = await vpn.renewDue()
        if (renewed + refused > 0) log.info('vpn renewed', { renewed, refused })
        if (!more) return
        await Bun.sleep(50)
      }
    },
  },
  batchJob('announce vpn ends', 10 * secondMs, 200, (limit) => vpn.announceEnds(limit), 20),
  batchJob('announce vpn traffic', minuteMs, 100, (limit) => vpn.announceLow(limit), 20),
  batchJob('make keys of devices', minuteMs, 100, (limit) => vpn.makeMissingKeys(limit)),
  batchJob('forget vpn machines', minuteMs, 500, (limit) => vpn.forgetPlaces(limit)),
  batchJob('end vpn slots', minuteMs, 100, (limit) => vpn.endSlots(limit)),
  batchJob('sweep vpn', 10 * minuteMs, 1, () => vpn.sweep()),
]

/** Asks providers about open payments, closes those not paid in time, and carries out paid purchases. */
export const paymentJobs = (
  { paymentWatch, purchases }: { paymentWatch: PaymentWatch; purchases: Purchases },
  log: Pick<Log, 'warn'>,
): readonly Job[] => [
  batchJob('ask for payments', 5 * secondMs, 20, async (limit) => {
    const { polled, silent } = await paymentWatch.pollDue(limit)
    if (silent.length > 0) log.warn('payment provider does not answer', { providers: silent })
    return polled
  }),
  batchJob('buy what was paid for', 10 * secondMs, 20, (limit) => purchases.fulfilAll(limit)),
]

/** Writes token use down, deletes what is past its retention, and resumes interrupted erasures. */
export const retentionJobs = (
  deps: {
    customers: Customers
    events: Events
    webhooks: Pick<Webhooks, 'forget'>
    requests: Pick<RequestLog, 'write' | 'forget'>
    fleet: Pick<Fleet, 'forgetSamples'>
    signIn: SignIn
    erasing: Erasing
    retaining: Retaining
    deleteBuckets: (limit: number) => Promise<number>
  },
  log: JobLog,
): readonly Job[] => [
  { name: 'uses of tokens', everyMs: 30 * secondMs, work: () => deps.customers.noteUses(), isOwn: true },
  { name: 'note requests', everyMs: secondMs, work: () => deps.requests.write(), isOwn: true },
  batchJob('forget requests', 10 * minuteMs, 1000, (limit) => deps.requests.forget(limit)),
  batchJob('forget sessions', 10 * minuteMs, 500, (limit) =>
    deps.signIn.forgetEnded(deps.retaining.retention.sessionDays * dayMs, limit),
  ),
  batchJob('forget events', 10 * minuteMs, 500, (limit) => deps.events.forget(limit)),
  batchJob('forget deliveries', 10 * minuteMs, 500, (limit) => deps.webhooks.forget(limit)),
  batchJob('forget node samples', hourMs, 500, (limit) => deps.fleet.forgetSamples(limit)),
  batchJob('forget rates', 10 * minuteMs, 1000, deps.deleteBuckets),
  batchJob('forget sources', hourMs, 500, (limit) => deps.retaining.forgetSources(limit)),
  batchJob('fold hours', 6 * hourMs, 100, (limit) => deps.retaining.foldHours(limit)),
  {
    name: 'finish erasures',
    everyMs: 10 * minuteMs,
    async work() {
      const { finished, refused } = await deps.erasing.resume()
      if (finished > 0) log.info('erasures finished', { count: finished })
      for (const fault of refused) log.error('erasure not finished', { fault })
    },
  },
]
