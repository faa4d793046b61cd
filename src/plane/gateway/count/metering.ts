import type { Agent, Carrier, HostCount, ProxyCount, SubuserCount } from '../../agent/carrier.ts'
import type { Side } from '../carry/portable/side.ts'
import type { Sockets } from '../carry/sockets.ts'
import { Account, type Subject } from './allowance.ts'
import { Delivery, Tally } from './tally.ts'

const noteEveryBytes = 1024 * 1024
const mostSources = 1000
/** An account that nobody uses gives back what it holds after this long. */
const idleMs = 60_000

export type Metering = ReturnType<typeof createMetering>

/** Every byte of every customer on this gateway: who may still carry how much, and what has been carried. */
export function createMetering(deps: { agent: Agent; sockets: Sockets; clock: () => number }) {
  const { agent, clock } = deps
  const accounts = new Map<string, Account>()
  const changed = new Set<Account>()
  const open = new Set<Tally>()
  /** Those of which something is on its way to the customer. */
  const moving = new Set<Tally>()
  const deliveries = new Map<Side, Delivery>()
  const closing = new Set<Delivery>()
  const sources = new Map<string, { id: string; address: string }>()
  const idleSince = new Map<Account, number>()
  let sinceNoted = 0
  let carried = 0

  function accountOf(subject: Subject): Account {
    const key = keyOf(subject)
    let account = accounts.get(key)
    if (!account) {
      const ask = () => subject.kind === 'subuser' && agent.wantLease(subject.id, subject.pool)
      account = new Account(subject, ask, clock)
      accounts.set(key, account)
    }
    return account
  }

  /** Only what is sold by the byte is followed to the customer's machine. */
  function deliveryTo(side: Side, account: Account): Delivery {
    const delivery = deliveries.get(side) ?? openDelivery(side)
    if (account.subject.kind === 'subuser') delivery.follow(() => deps.sockets.watch(side.descriptor))
    return delivery
  }

  function openDelivery(side: Side): Delivery {
    const delivery = new Delivery(side)
    deliveries.set(side, delivery)
    side.onClosed = () => {
      deliveries.delete(side)
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
    for (const tally of delivery.tallies) end(tally)
  }

  function count(tally: Tally): void {
    if (tally.confirm() > 0) changed.add(tally.account)
  }

  function end(tally: Tally): void {
    moving.delete(tally)
    if (!open.delete(tally)) return
    tally.delivery.tallies.delete(tally)
    tally.account.putBack(tally.undelivered)
  }

  return {
    accountOf,
    /** There may be more to have for somebody who was told that there is none. */
    hope: (id: string, pool: string): void => accounts.get(keyOf({ kind: 'subuser', id, pool }))?.hope(),

    /** Begins to count for one conversation on a customer's connection. */
    begin(account: Account, side: Side, host: string | undefined): Tally {
      const delivery = deliveryTo(side, account)
      const tally = new Tally(account, side, delivery, host, (bytes) => {
        changed.add(account)
        moving.add(tally)
        carried += bytes
        sinceNoted += bytes
        if (sinceNoted >= noteEveryBytes) {
          sinceNoted = 0
          agent.noteNow()
        }
      })
      delivery.tallies.add(tally)
      open.add(tally)
      idleSince.delete(account)
      account.users += 1
      return tally
    },

    /** The conversation is over; what the customer's machine has not acknowledged yet is waited for. */
    finish(tally: Tally): void {
      if (tally.isOver) return
      tally.isOver = true
      moving.add(tally)
      tally.account.users -= 1
      if (tally.account.users === 0) idleSince.set(tally.account, clock())
    },

    noteSource: (id: string, address: string): void => {
      if (sources.size < mostSources) sources.set(`${id} ${address}`, { id, address })
    },

    /** Looks after connections that are closed and not yet acknowledged, and gives back what nobody uses. */
    sweep(): void {
      for (const delivery of closing) settle(delivery)
      for (const [account, since] of idleSince) {
        if (clock() - since < idleMs) continue
        idleSince.delete(account)
        const { subject } = account
        if (subject.kind === 'proxy' || !account.hasSome) continue
        account.surrender()
        agent.giveBack(subject.id, subject.pool)
      }
    },

    takeChanged(): ReturnType<Carrier['takeChanged']> {
      for (const tally of moving) {
        count(tally)
        if (tally.undelivered > 0) continue
        moving.delete(tally)
        if (tally.isOver) end(tally)
      }
      sinceNoted = 0
      const proxies: ProxyCount[] = []
      const subusers: SubuserCount[] = []
      const hosts: HostCount[] = []
      for (const account of changed) {
        const { subject, counted } = account
        if (subject.kind === 'proxy') proxies.push({ id: subject.id, ...counted })
        else {
          const of = { id: subject.id, pool: subject.pool }
          subusers.push({ ...of, ...counted })
          for (const each of account.takeChangedHosts()) hosts.push({ ...of, ...each })
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

    noteAsked: (id: string, pool: string): number =>
      accounts.get(keyOf({ kind: 'subuser', id, pool }))?.noteAsked() ?? 0,

    allow(id: string, pool: string, upto: number): void {
      accountOf({ kind: 'subuser', id, pool }).allow(upto)
    },

    get carried(): number {
      return carried
    },
  }
}

const keyOf = (subject: Subject): string =>
  subject.kind === 'proxy' ? `proxy ${subject.id}` : `subuser ${subject.id} ${subject.pool}`
