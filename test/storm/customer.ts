import type { OrderId } from '../../src/core/ids.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { Actor, type ActorDeps, type Answered } from './actor.ts'
import { ByteBooks, bytesOf, kopecksOf } from './books.ts'
import { runLine } from './lines.ts'
import type { ShopAnswer } from './shopper.ts'
import type { Account, World } from './world.ts'

export type CustomerDeps = ActorDeps & { readonly world: World }

type Proxy = {
  username: string
  password: string
  portType: string
  ip: string
  ipv: number
  expiresAt: string
  /** Its addresses before replacements, and the time of the last replacement's answer. */
  former: string[]
  replacedAtMs: number
  /** The number of changes begun, and whether one is still running. */
  changes: number
  isChanging: boolean
  /** False once a change was requested whose outcome is unknown. */
  isSure: boolean
}
type Line = { readonly subuser: string; readonly login: string; readonly password: string }

const pools = ['datacenter', 'residential'] as const
const maxKeptKeys = 40
/** A change has reached the gateway after this time. */
const appliedWithinMs = 1_000
const lowBytes = 200_000_000
const countries = ['DE', 'FR', 'GB', 'NL', 'RU', 'US']

/**
 * Refusals that are expected for an honest customer whose request cannot be fulfilled now. They have no effect and are
 * no failure.
 */
const expectedCodes = new Set(['out_of_stock', 'conflict', 'not_found', 'nothing_unused'])

/**
 * An honest customer's program: it buys every product, retries unanswered requests, uses its products, and keeps books.
 */
export class Customer extends Actor<CustomerDeps> {
  readonly proxies = new Map<number, Proxy>()
  readonly lines: Line[] = []
  private readonly keys: Answered[] = []
  /** Orders that do not change, so that the operator may refund them. */
  private readonly refundable: string[] = []
  private readonly replaced = new Set<number>()

  constructor(name: string, account: Account, deps: CustomerDeps) {
    super(name, account, deps, { expectedCodes })
  }

  /** Before the storm: a second sub-user, and traffic for both. */
  async prepare(): Promise<void> {
    const { data: made } = await this.shopper.post('/premium/subusers', { name: `${this.name} second` })
    const { data: first } = await this.shopper.get('/premium/password')
    this.lines.push({ subuser: first.subuser.subuser_id, login: first.login, password: first.password })
    this.lines.push({ subuser: made.subuser.subuser_id, login: made.subuser.login, password: made.password })
    for (const { subuser } of this.lines) {
      for (const pool of pools) {
        this.bytes.set(`${subuser} ${pool}`, new ByteBooks())
        await this.buyTraffic(subuser, pool)
      }
    }
    await this.buyProxies(4)
  }

  /** Trades until the storm is over, one action after another. */
  async trade(): Promise<void> {
    await this.loop(this.deps.everyMs, () => this.tradeOnce())
  }

  /** Uses its products until the storm is over. */
  async use(): Promise<void> {
    await this.loop(this.deps.everyMs, () => this.useOnce())
  }

  private async tradeOnce(): Promise<void> {
    const { dice } = this.deps
    const luck = dice(100)
    if (luck < 18) return this.buyProxies([3, 4, 6][dice(3)] ?? 4)
    if (luck < 32) return this.prolong()
    if (luck < 37) return this.replace()
    if (luck < 41) return this.changeProtocol()
    if (luck < 46) return this.renewByItself()
    if (luck < 58) return this.topUp()
    if (luck < 66) return this.moveTraffic()
    if (luck < 72) return this.buyVpn()
    if (luck < 78) return this.renewVpn()
    if (luck < 81) return this.deleteVpn()
    if (luck < 86) return this.changeDevice()
    if (luck < 91) return this.askForRefund()
    return this.repeat()
  }

  protected override onBought(answered: Answered): void {
    this.keys.push(answered)
    if (this.keys.length > maxKeptKeys) this.keys.shift()
  }

  /** Repeats a key with its fields in another order: the answer must be the first one, byte for byte. */
  private async repeat(): Promise<void> {
    const known = this.pick(this.keys)
    if (!known) return
    const body = Object.fromEntries(Object.entries(known.body).toReversed())
    const answer = await this.untilAnswered('a repeat', () => this.shopper.post(known.path, body, { key: known.key }))
    if (answer.text !== known.text)
      this.problems.push(`the repeat of ${known.key} differs: ${answer.text.slice(0, 200)}`)
    if (answer.status === 200 && !answer.replayed)
      this.problems.push(`the repeat of ${known.key} is not said to be one`)
  }

  private async buyProxies(ipv: number): Promise<void> {
    const { dice } = this.deps
    const country = this.pick(countries) ?? 'DE'
    const [count, period] = [1 + dice(2), [1, 7][dice(2)] ?? 7]
    const query = `country_code=${country}&period=${period}&count=${count}&ipv=${ipv}`
    const quote = await this.untilAnswered('a quote', () => this.shopper.get(`/dedicated/quote?${query}`))
    const bought = await this.purchase('/dedicated/buy', { country_code: country, period, count, ipv })
    if (!bought) return
    if (quote.status === 200 && quote.data.price_rub !== bought.price_rub) {
      this.problems.push(`a quote of ${quote.data.price_rub} became ${bought.price_rub}`)
    }
    for (const proxy of bought.proxies) this.proxies.set(proxy.id, { ...toProxy(proxy), isSure: true })
    this.refundable.push(bought.order_id)
  }

  private async prolong(): Promise<void> {
    const id = this.pick([...this.proxies.keys()])
    if (id === undefined) return
    const done = await this.purchase('/dedicated/prolong', { ids: [id], period: 3 })
    const proxy = this.proxies.get(id)
    if (done && proxy) proxy.expiresAt = done.items[0].expires_at
  }

  private async replace(): Promise<void> {
    const known = [...this.proxies].filter(([each, { isSure }]) => isSure && !this.replaced.has(each))
    const [id, proxy] = this.pick(known) ?? []
    if (id === undefined || !proxy) return
    this.replaced.add(id)
    // Its address is unknown until it is answered, and permanently if it never is.
    proxy.isSure = false
    const answer = await this.changing(proxy, () =>
      this.untilAnswered('a replacement', () => this.shopper.post('/dedicated/replace', { id })),
    )
    // It has no key: a refusal may answer the second of two requests, of which the first was done.
    if (answer.status !== 200) return
    proxy.former.push(proxy.ip)
    proxy.replacedAtMs = performance.now()
    proxy.ip = answer.data.exit_ip
    proxy.isSure = true
  }

  /** While this runs, lines of the proxy may use the old or the new state. */
  private async changing(proxy: Proxy, ask: () => Promise<ShopAnswer>): Promise<ShopAnswer> {
    proxy.changes += 1
    proxy.isChanging = true
    try {
      return await ask()
    } finally {
      proxy.isChanging = false
    }
  }

  private async changeProtocol(): Promise<void> {
    const id = this.pick([...this.proxies.keys()])
    const proxy = id === undefined ? undefined : this.proxies.get(id)
    if (!proxy) return
    const portType = proxy.portType === 'http' ? 'socks' : 'http'
    const body = { ids: [id], port_type: portType }
    const answer = await this.changing(proxy, () =>
      this.untilAnswered('a protocol', () => this.shopper.post('/dedicated/protocol', body)),
    )
    if (answer.status === 200) proxy.portType = portType
  }

  /** A proxy for a day with automatic renewal: the shop renews it within a minute. */
  private async renewByItself(): Promise<void> {
    const renewPeriod = 7
    const body = { country_code: this.pick(countries), period: 1, count: 1, ipv: 6 }
    const bought = await this.purchase('/dedicated/buy', body)
    if (!bought) return
    const [proxy] = bought.proxies
    // From now on the shop decides its expiry.
    this.proxies.set(proxy.id, { ...toProxy(proxy), isSure: false })
    const query = `ids=${proxy.id}&period=${renewPeriod}`
    const quote = await this.untilAnswered('a quote', () => this.shopper.get(`/dedicated/prolong/quote?${query}`))
    if (quote.status !== 200) return
    this.money.renewals.set(proxy.id, kopecksOf(quote.data.total_price_rub))
    const request = { ids: [proxy.id], period: renewPeriod }
    await this.untilAnswered('a renewal', () => this.shopper.post('/dedicated/auto-renew', request))
  }

  private async topUp(): Promise<void> {
    const line = this.pick(this.lines)
    const pool = this.pick(pools)
    if (!line || !pool) return
    const query = `pool_type=${pool}&subuser_id=${line.subuser}`
    const answer = await this.untilAnswered('traffic', () => this.shopper.get(`/premium/traffic/balance?${query}`))
    if (answer.status === 200 && bytesOf(answer.data.traffic_gb) < lowBytes) await this.buyTraffic(line.subuser, pool)
  }

  private async buyTraffic(subuser: string, pool: string): Promise<void> {
    const body = { pool_type: pool, gb: 0.5, subuser_id: subuser }
    const bought = await this.purchase('/premium/traffic/buy', body)
    const books = this.bytes.get(`${subuser} ${pool}`)
    if (bought && books) books.purchased += bytesOf(bought.traffic_added_gb)
  }

  private async moveTraffic(): Promise<void> {
    const [from, to] = this.deps.dice(2) === 0 ? this.lines : this.lines.toReversed()
    const pool = this.pick(pools)
    if (!from || !to || !pool) return
    const body = { pool_type: pool, gb: 0.1, from_subuser_id: from.subuser, to_subuser_id: to.subuser }
    const moved = await this.purchase('/premium/traffic/move', body)
    if (!moved) return
    const bytes = bytesOf(moved.moved_gb)
    const [source, target] = [this.bytes.get(`${from.subuser} ${pool}`), this.bytes.get(`${to.subuser} ${pool}`)]
    if (source) source.purchased -= bytes
    if (target) target.purchased += bytes
  }

  private async changeDevice(): Promise<void> {
    const uuid = this.pick([...this.subscriptions.keys()])
    if (uuid === undefined) return
    const info = await this.untilAnswered('a subscription', () => this.shopper.get(`/vpn/info?uuid=${uuid}`))
    const devices = (info.data.devices ?? []) as { id: string }[]
    const last = devices.at(-1)
    if (devices.length > 1 && last) {
      const body = { uuid, device: last.id }
      await this.untilAnswered('a device', () => this.shopper.post('/vpn/devices/remove', body))
      return
    }
    const answer = await this.untilAnswered('a device', () => this.shopper.post('/vpn/devices', { uuid }))
    if (answer.status !== 200 && !expectedCodes.has(answer.code))
      this.problems.push(`a device: ${answer.text.slice(0, 200)}`)
  }

  /** Requests a refund from the operator. The statement shows the outcome of one that was requested during a fault. */
  private async askForRefund(): Promise<void> {
    const order = this.refundable.shift()
    if (order === undefined) return
    const refund = { orders: [order], confirmed: undefined as bigint | undefined }
    this.money.refunds.push(refund)
    try {
      const { posting } = await this.deps.world.operate(({ orders }) =>
        orders.refund(order as OrderId, 'all', 'asked for'),
      )
      refund.confirmed = posting.amount
    } catch (error) {
      const isDown = !(error instanceof Refusal) || error.kind === 'unavailable'
      if (!isDown) this.problems.push(`the refund of ${order}: ${error.message}`)
    }
  }

  private async useOnce(): Promise<void> {
    const { dice, world, origin, quality } = this.deps
    const port = world.gatewayPort
    const fromMs = performance.now()
    const line = this.pick(this.lines)
    const pool = this.pick(pools)
    if (dice(3) > 0 && line && pool) {
      const pass = { port, username: `${line.login}-pool-${pool}`, password: line.password }
      const result = await runLine(pass, dice(2) === 0 ? 'connect' : 'socks', origin, dice)
      this.bytes.get(`${line.subuser} ${pool}`)?.note(result)
      quality.note(`${this.name} by ${pool}`, fromMs, result.outcome === 'whole' ? '' : result.why, result.isLate)
      return
    }
    await this.useProxy()
  }

  private async useProxy(): Promise<void> {
    const { dice, world, origin, quality } = this.deps
    const [, proxy] = this.pick([...this.proxies].filter(([, each]) => each.ipv !== 6 && !each.isChanging)) ?? []
    if (!proxy) return
    const { ip, isSure, changes } = proxy
    const via = proxy.portType === 'http' ? 'connect' : 'socks'
    const pass = { port: world.gatewayPort, username: proxy.username, password: proxy.password }
    const fromMs = performance.now()
    const result = await runLine(pass, via, origin, dice)
    // The other loop of this program has changed the proxy meanwhile, which explains the end of the line.
    if (proxy.changes !== changes) return
    quality.note(`${this.name} by a proxy`, fromMs, result.outcome === 'whole' ? '' : result.why, result.isLate)
    if (result.outcome !== 'whole' || result.from === ip || !isSure) return
    // A gateway that has not read a replacement continues as before: the old address is in quarantine and leased to no
    // customer.
    const sinceMs = Math.round(fromMs - proxy.replacedAtMs)
    // The gateway has this much undisturbed time; a fault before the line began reduces it.
    const isPending = sinceMs < appliedWithinMs || world.faults.hadFault(fromMs - appliedWithinMs, performance.now())
    if (proxy.former.includes(result.from) && isPending) return
    this.problems.push(`a line of ${ip} came from ${result.from}, ${sinceMs} ms after it was replaced`)
  }
}

const toProxy = (shown: ShopAnswer['data']): Omit<Proxy, 'isSure'> => ({
  username: shown.username,
  password: shown.password,
  portType: shown.port_type,
  ip: shown.exit_ip,
  ipv: shown.ipv,
  former: [],
  replacedAtMs: 0,
  changes: 0,
  isChanging: false,
  expiresAt: shown.expires_at,
})
