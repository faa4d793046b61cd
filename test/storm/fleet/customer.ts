import type { Pass, Via } from '../../harness/transfers.ts'
import { untilTrue } from '../../harness/turnpike.ts'
import { Actor, type ActorDeps } from '../actor.ts'
import { ByteBooks, bytesOf } from '../books.ts'
import { runLine } from '../lines.ts'
import type { Account } from '../world.ts'
import { rangeOf } from './net.ts'
import type { OriginNotes } from './notes.ts'
import { type Touched, touch } from './touch.ts'
import type { FleetFault } from './weather.ts'
import { type FleetWorld, type Gateway, gatewayPort, pool, soldIn } from './world.ts'

export type FleetCustomerDeps = ActorDeps & { readonly world: FleetWorld; readonly notes: OriginNotes }

/** A proxy as the customer's list last showed it. */
type Proxy = {
  readonly id: number
  host: string
  port: number
  exit: string
  via: Via
  username: string
  password: string
  isServing: boolean
  readonly soldAtMs: number
  changedAtMs: number
  failingSinceMs: number | undefined
  /** The time of the last event about this proxy. */
  notifiedAtMs: number
}

type Shown = {
  id: number
  ip: string
  port: number
  port_type: string
  username: string
  password: string
  exit_ip: string
  status: string
  state?: string
}

/** The outcomes of the first lines of sold proxies. */
export type FirstBytes = {
  sold: number
  atOnce: number
  later: number
  madeGood: number
  /** The slowest of those that worked at once. */
  slowestMs: number
}

/** A sold proxy relays its first byte within this time, without faults. */
const firstByteMs = 5_000
/** Or it is compensated within this time. */
const madeGoodMs = 60_000
/** An address that no gateway serves is sold no longer than this. */
const soldAfterMs = 15_000
/** Faults that stop relaying, besides those that delay the state of new customers. */
const stopping = [
  'gateway killed',
  'gateway paused',
  'machine unplugged',
  'address lost',
] as const satisfies FleetFault[]
const stopsRelaying = new Set<string>(stopping)
const watchEveryMs = 2_000
/** Uses per purchase. */
const tradeTimes = 4
const lowBytes = 200_000_000
const expectedCodes = new Set(['out_of_stock', 'conflict', 'not_found', 'unavailable'])
/** After these refusals a customer retries later. */
const finalCodes = new Set(['unavailable'])

/** An honest customer of a fleet: it buys, uses each product at once and later, and keeps books. */
export class FleetCustomer extends Actor<FleetCustomerDeps> {
  readonly proxies = new Map<number, Proxy>()
  readonly first: FirstBytes = { sold: 0, atOnce: 0, later: 0, madeGood: 0, slowestMs: 0 }
  private login = ''
  private password = ''
  private subuser = ''
  private lastEvent = 0
  private isWatching = false

  constructor(name: string, account: Account, deps: FleetCustomerDeps) {
    super(name, account, deps, { expectedCodes, finalCodes, faultSites: ['shops'] })
  }

  async prepare(): Promise<void> {
    const { data } = await this.shopper.get('/premium/password')
    this.login = data.login
    this.password = data.password
    this.subuser = data.subuser.subuser_id
    this.bytes.set(`${this.subuser} ${pool}`, new ByteBooks())
    // Nothing is sold before a gateway has tried its exits.
    if (!(await untilTrue(() => this.buyTraffic()))) throw new Error('no traffic is sold')
  }

  async trade(): Promise<void> {
    await this.loop(tradeTimes * this.deps.everyMs, () => this.tradeOnce())
  }

  async use(): Promise<void> {
    await this.loop(this.deps.everyMs, () => this.useOnce())
  }

  /** Reads its list and its events at an interval, as a customer's program does. */
  async watch(): Promise<void> {
    await this.loop(watchEveryMs, () => this.refresh())
  }

  protected async tradeOnce(): Promise<void> {
    const luck = this.deps.dice(100)
    if (luck < 45) return this.buyProxies()
    if (luck < 60) return this.prolong()
    if (luck < 70) return this.replace()
    return this.topUp()
  }

  protected async buyProxies(count = 1 + this.deps.dice(2)): Promise<void> {
    const order = { country_code: soldIn, period: 7, count, ipv: 4 }
    const bought = await this.purchase('/dedicated/buy', order)
    if (!bought) return
    for (const shown of bought.proxies as Shown[]) {
      const proxy: Proxy = {
        id: shown.id,
        ...toListed(shown),
        soldAtMs: performance.now(),
        changedAtMs: performance.now(),
        failingSinceMs: undefined,
        notifiedAtMs: 0,
      }
      this.proxies.set(proxy.id, proxy)
      // In parallel: a proxy that does not work at once must not delay trading.
      void this.deps.gate.step(() => this.proveFirst(proxy))
    }
  }

  protected async prolong(): Promise<void> {
    const id = this.pick([...this.proxies.keys()])
    if (id !== undefined) await this.purchase('/dedicated/prolong', { ids: [id], period: 3 })
  }

  protected async replace(): Promise<void> {
    const proxy = this.pick([...this.proxies.values()])
    if (!proxy) return
    const ask = () => this.shopper.post('/dedicated/replace', { id: proxy.id })
    const answer = await this.untilAnswered('a replacement', ask)
    if (answer.status !== 200) return
    this.see(proxy, answer.data as Shown)
  }

  protected async topUp(): Promise<void> {
    const query = `pool_type=${pool}&subuser_id=${this.subuser}`
    const answer = await this.untilAnswered('traffic', () => this.shopper.get(`/premium/traffic/balance?${query}`))
    if (answer.status === 200 && bytesOf(answer.data.traffic_gb) < lowBytes) await this.buyTraffic()
  }

  private async buyTraffic(): Promise<boolean> {
    const bought = await this.purchase('/premium/traffic/buy', { pool_type: pool, gb: 0.5, subuser_id: this.subuser })
    const books = this.bytes.get(`${this.subuser} ${pool}`)
    if (bought && books) books.purchased += bytesOf(bought.traffic_added_gb)
    return bought !== undefined
  }

  private see(proxy: Proxy, shown: Shown): void {
    const listed = toListed(shown)
    if (listed.exit !== proxy.exit || listed.host !== proxy.host) proxy.changedAtMs = performance.now()
    Object.assign(proxy, listed)
  }

  /** Reads its list, and the events since the last call. Failures while shops are down are ignored. */
  async refresh(): Promise<void> {
    if (this.isWatching) return
    this.isWatching = true
    const startedMs = performance.now()
    const shown = await this.shopper.list<Shown>('/dedicated/list', 'proxies')
    for (const each of shown ?? []) {
      const proxy = this.proxies.get(each.id)
      // An answer that was in flight during a change is older than the known state.
      if (proxy && proxy.changedAtMs < startedMs) this.see(proxy, each)
    }
    const { status, data } = await this.shopper.get(`/events?limit=500&after=${this.lastEvent}`)
    for (const event of status === 200 ? data.events : []) {
      this.lastEvent = Math.max(this.lastEvent, event.id)
      const proxy = this.proxies.get(Number(event.data.proxy_id))
      if (proxy) proxy.notifiedAtMs = performance.now()
    }
    this.isWatching = false
  }

  private async touch(proxy: Proxy): Promise<Touched> {
    const { host, port, username, password, exit } = proxy
    const touched = await touch({ host, port, username, password }, proxy.via, this.deps.origin, firstByteMs)
    this.noteLine(touched.from, proxy.id)
    if (touched.why === '') this.judgeExit(proxy, exit, touched.from)
    return touched
  }

  private noteLine(address: string, proxy: number | null): void {
    if (address !== '') this.deps.notes.add({ address, owner: this.name, proxy, at: Date.now() })
  }

  private judgeExit(proxy: Proxy, listed: string, seen: string): void {
    // The origin does not know the address of a line that was closed before it was asked.
    if (
      seen === '' ||
      seen === listed ||
      proxy.exit !== listed ||
      performance.now() - proxy.changedAtMs < watchEveryMs + 3_000
    )
      return
    this.problems.push(`proxy ${proxy.id} leaves from ${seen}, and its list says ${listed}`)
  }

  private faultSitesOf(proxy: Proxy): string[] {
    return this.deps.world.faultSitesOf(proxy.exit, rangeOf(proxy.exit))
  }

  /** The promise: the first byte comes at once, or soon during a fault of its path, or the proxy is compensated. */
  private async proveFirst(proxy: Proxy): Promise<void> {
    const { world, quality } = this.deps
    this.first.sold += 1
    // It may be ended meanwhile.
    for (let attempt = 1; this.proxies.has(proxy.id); attempt += 1) {
      const fromMs = performance.now()
      const touched = await this.touch(proxy)
      if (touched.why === '') {
        if (attempt > 1) this.first.later += 1
        else {
          this.first.atOnce += 1
          this.first.slowestMs = Math.max(this.first.slowestMs, touched.tookMs)
        }
        return
      }
      if (attempt === 1) {
        const faultSites = [...this.faultSitesOf(proxy), 'shops']
        quality.note(`${this.name}: the first line of proxy ${proxy.id}`, fromMs, touched.why, false, faultSites)
        const old = world.faults.all.find(
          ({ what, where, ...each }) =>
            stopsRelaying.has(what) &&
            faultSites.includes(where ?? '') &&
            each.fromMs < proxy.soldAtMs - soldAfterMs &&
            each.toMs > proxy.soldAtMs,
        )
        if (old) {
          const seconds = Math.round((proxy.soldAtMs - old.fromMs) / 1000)
          this.problems.push(
            `proxy ${proxy.id} (${proxy.exit}) was sold ${seconds} s after: ${old.what} ${old.where}: ${touched.why}`,
          )
        }
      }
      if (proxy.notifiedAtMs > proxy.soldAtMs) {
        this.first.madeGood += 1
        return
      }
      if (performance.now() - proxy.soldAtMs > madeGoodMs) {
        this.problems.push(`proxy ${proxy.id} (${proxy.exit}) carried nothing for a minute: ${touched.why}`)
        return
      }
      await Bun.sleep(500)
    }
  }

  protected async useOnce(): Promise<void> {
    if (this.deps.dice(2) === 0) return this.usePremium()
    const proxy = this.pick([...this.proxies.values()].filter((each) => each.isServing))
    if (!proxy || performance.now() - proxy.soldAtMs < madeGoodMs / 10) return
    const fromMs = performance.now()
    const { why } = await this.touch(proxy)
    // The proxy changed meanwhile, which explains the end of the line.
    if (proxy.changedAtMs > fromMs - watchEveryMs) return
    this.deps.quality.note(
      `${this.name}: proxy ${proxy.id} ${proxy.exit}`,
      fromMs,
      why,
      false,
      this.faultSitesOf(proxy),
    )
    this.judgeOutage(proxy, why)
  }

  /** A proxy that fails for more than a minute causes an event, whatever the compensation. */
  private judgeOutage(proxy: Proxy, why: string): void {
    if (why === '') proxy.failingSinceMs = undefined
    else proxy.failingSinceMs ??= performance.now()
    const sinceMs = proxy.failingSinceMs
    if (sinceMs === undefined || performance.now() - sinceMs < madeGoodMs || proxy.notifiedAtMs > sinceMs) return
    this.problems.push(`proxy ${proxy.id} (${proxy.exit}) could not be used for a minute, and nothing was said: ${why}`)
    proxy.failingSinceMs = undefined
  }

  private passAt({ machine }: Gateway, parts = ''): Pass {
    const username = `${this.login}-pool-${pool}${parts}`
    return { host: machine.host, port: gatewayPort, username, password: this.password }
  }

  protected async usePremium(): Promise<void> {
    const { dice, world, origin, quality } = this.deps
    const gateway = this.pick(world.gateways)
    if (!gateway) return
    const fromMs = performance.now()
    const result = await runLine(this.passAt(gateway), dice(2) === 0 ? 'connect' : 'socks', origin, dice)
    this.bytes.get(`${this.subuser} ${pool}`)?.note(result)
    this.noteLine(result.from, null)
    const { name } = gateway.machine
    const why = result.outcome === 'whole' ? '' : result.why
    // A line through another gateway ends with that gateway; a new line is never refused because of it.
    const others = result.outcome === 'cut' ? world.gateways.map((each) => each.machine.name) : []
    quality.note(`${this.name}: premium at ${name}`, fromMs, why, false, [name, 'shops', ...others])
  }

  /** Without faults: every listed proxy works at its listed address, and the login at every gateway and exit. */
  async tryAll(): Promise<string[]> {
    await this.refresh()
    const problems: string[] = []
    for (const proxy of this.proxies.values()) {
      if (!proxy.isServing) {
        problems.push(`proxy ${proxy.id} (${proxy.exit}) is still interrupted`)
        continue
      }
      const { why } = await this.touch(proxy)
      if (why !== '') problems.push(`proxy ${proxy.id} does not work at ${proxy.host} (${proxy.exit}): ${why}`)
    }
    for (const gateway of this.deps.world.gateways) {
      for (const parts of ['', ...this.deps.world.gateways.map((each) => `-country-${each.country.toLowerCase()}`)]) {
        const fromMs = performance.now()
        const { why, from } = await touch(this.passAt(gateway, parts), 'connect', this.deps.origin, firstByteMs)
        this.noteLine(from, null)
        const sent = why === '' ? { min: 128, max: 128 } : { min: 0, max: 128 }
        this.bytes.get(`${this.subuser} ${pool}`)?.note({ ...sent, fromMs, toMs: performance.now() })
        if (why !== '') problems.push(`premium${parts} does not work at ${gateway.machine.name}: ${why}`)
      }
    }
    return problems.map((each) => `${this.name}: ${each}`)
  }
}

const toListed = (shown: Shown) => ({
  host: shown.ip,
  port: shown.port,
  exit: shown.exit_ip,
  via: shown.port_type === 'http' ? ('connect' as const) : ('socks' as const),
  username: shown.username,
  password: shown.password,
  isServing: shown.status === 'active' && shown.state !== 'interrupted',
})
