import type { PeerId } from '../../../src/core/ids.ts'
import type { Bill } from '../../providers/other-side.ts'
import type { Actor } from '../actor.ts'
import { ByteBooks, kopecksOf } from '../books.ts'
import { FleetCustomer, type FleetCustomerDeps } from '../fleet/customer.ts'
import { runLine } from '../lines.ts'
import type { Account } from '../world.ts'
import type { Operator } from './operator.ts'

/** A payment provider in this process, as the payer's side of it. */
export type PayerSide = {
  readonly bills: ReadonlyMap<string, Bill>
  pay(id: string): void
  notify(id: string): Promise<boolean>
}

export type SoakCustomerDeps = FleetCustomerDeps & {
  readonly operator: Operator
  readonly payer: PayerSide
  readonly tlsPort: number
  /** An address that is given back rests for longer than a soak: whether another one may be used up now. */
  readonly mayUseAddress: () => boolean
}

type Device = {
  readonly key: string
  readonly books: ByteBooks
  /** Gateways know its key from then on. */
  readonly fromMs: number
  /** Its open lines. */
  lines: number
}

/** So many goods are kept, so that a soak of any length has the same number of them. */
const maxProxies = 8
const minProxies = 4
/** Of a hundred transfers. */
const ofDevices = 25
const paidWithinMs = 60_000
const endedWithinMs = 90_000
const billedWithinMs = 90_000
const noticeEveryMs = 1_000
/** A change has reached the gateways after this time. */
const knownWithinMs = 3_000
const pollMs = 50

/** A customer of a fleet that buys and gives back every product, pays by a provider, and uses VPN devices. */
export class SoakCustomer extends FleetCustomer {
  readonly devices = new Map<string, Device>()
  payments = 0
  transfers = 0
  /** Of these, those of VPN devices. */
  deviceTransfers = 0
  /** The orders that paid for each proxy. */
  private readonly paidBy = new Map<number, string[]>()

  constructor(
    name: string,
    account: Account,
    protected override readonly deps: SoakCustomerDeps,
  ) {
    super(name, account, deps)
  }

  protected override async tradeOnce(): Promise<void> {
    const luck = this.deps.dice(100)
    if (luck < 25 && this.proxies.size < maxProxies) return this.buyProxies(1)
    if (luck < 40) return this.prolong()
    if (luck < 48 && this.proxies.size > 0 && this.deps.mayUseAddress()) return this.replace()
    if (luck < 58 && this.proxies.size >= minProxies && this.deps.mayUseAddress()) return this.endProxy()
    if (luck < 66) return this.pay()
    if (luck < 74) return this.buyDevice()
    if (luck < 80) return this.renewVpn()
    if (luck < 85) return this.endDevice()
    if (luck < 92) return this.read()
    return this.topUp()
  }

  protected override async useOnce(): Promise<void> {
    this.transfers += 1
    if (this.devices.size > 0 && this.deps.dice(100) < ofDevices) return this.useDevice()
    return super.useOnce()
  }

  protected override onBought({ path, text }: Parameters<Actor<FleetCustomerDeps>['onBought']>[0]): void {
    const { data } = JSON.parse(text) as {
      data: { order_id: string; proxies?: { id: number }[]; items?: { id: number }[] }
    }
    if (!path.startsWith('/dedicated/')) return
    for (const { id } of data.proxies ?? data.items ?? []) {
      this.paidBy.set(id, [...(this.paidBy.get(id) ?? []), data.order_id])
    }
  }

  /** Reads pages as a program does; the answers are not compared. */
  private async read(): Promise<void> {
    const path = this.pick([
      '/balance',
      '/transactions?limit=50',
      '/dedicated/list?limit=50',
      '/premium/usage',
      '/dedicated/count',
    ])
    if (path !== undefined) await this.untilAnswered(`GET ${path}`, () => this.shopper.get(path))
  }

  /** The operator ends its oldest proxy and refunds the unused time. */
  private async endProxy(): Promise<void> {
    const [[id, proxy] = []] = this.proxies
    if (id === undefined || !proxy) return
    this.proxies.delete(id)
    // The end explains the end of its lines.
    proxy.changedAtMs = performance.now()
    const refund = { orders: this.paidBy.get(id) ?? [], confirmed: undefined as bigint | undefined }
    this.paidBy.delete(id)
    this.money.refunds.push(refund)
    const key = `${this.name}-end-${id}`
    const giveUpAt = performance.now() + endedWithinMs
    const ask = () => this.deps.operator.post(`/proxies/${id}/end`, { note: 'a soak' }, key)
    let answer = await this.untilAnswered('the end of a proxy', ask)
    // Under its key it has one effect, however often it is repeated.
    while (answer.code === 'unavailable' && performance.now() < giveUpAt) {
      await Bun.sleep(noticeEveryMs)
      answer = await this.untilAnswered('the end of a proxy', ask)
    }
    if (answer.status === 200) refund.confirmed = kopecksOf(answer.data.amount_rub)
    else this.problems.push(`the end of proxy ${id}: ${answer.text.slice(0, 200)}`)
  }

  /** Tops its balance up: the payer pays at the provider, which notifies the shop until that accepts. */
  private async pay(): Promise<void> {
    this.payments += 1
    const amount = 100 + this.deps.dice(900)
    const key = `${this.name}-pay-${this.payments}`
    const body = { amount_rub: amount, method: 'card' }
    const begun = await this.untilAnswered('a payment', () => this.shopper.post('/payments', body, { key }))
    if (begun.status !== 200) {
      this.problems.push(`a payment: ${begun.text.slice(0, 200)}`)
      return
    }
    const id = begun.data.payment_id as string
    const giveUpAt = performance.now() + paidWithinMs
    let isPaid = false
    while (!isPaid && performance.now() < giveUpAt) {
      const bill = [...this.deps.payer.bills.values()].find(({ mark }) => mark === id)
      if (bill?.status === 'waiting') this.deps.payer.pay(bill.id)
      if (bill) await this.deps.payer.notify(bill.id)
      const { status, data } = await this.shopper.get(`/payments/${id}`)
      isPaid = status === 200 && data.status === 'paid'
      if (!isPaid) await Bun.sleep(noticeEveryMs)
    }
    if (isPaid) this.money.credited += kopecksOf(amount)
    else this.problems.push(`payment ${id} was paid and is not credited`)
  }

  private async buyDevice(): Promise<void> {
    const before = new Set(this.subscriptions.keys())
    await this.buyVpn()
    for (const uuid of this.subscriptions.keys()) {
      if (before.has(uuid)) continue
      const { data } = await this.untilAnswered('a subscription', () => this.shopper.get(`/vpn/info?uuid=${uuid}`))
      const device = data.devices?.[0]?.id as PeerId | undefined
      const keys = device && (await this.deps.world.operate(({ vpn }) => vpn.accessKeys(device)))
      if (keys)
        this.devices.set(uuid, {
          key: keys.uuid,
          books: new ByteBooks(),
          fromMs: performance.now() + knownWithinMs,
          lines: 0,
        })
      else this.problems.push(`subscription ${uuid} has no device with keys`)
    }
  }

  /** Deletes the oldest subscription. Its bytes are compared first. */
  private async endDevice(): Promise<void> {
    const [uuid] = this.subscriptions.keys()
    const device = uuid === undefined ? undefined : this.devices.get(uuid)
    if (uuid === undefined || !device) return
    this.devices.delete(uuid)
    while (device.lines > 0) await Bun.sleep(pollMs)
    const used = await this.usedOf(uuid)
    const excess = used === undefined ? 0 : device.books.excess(used)
    if (excess > 0) this.problems.push(`subscription ${uuid} is billed ${excess} bytes that it did not carry`)
    await this.deleteVpn(uuid)
  }

  private async usedOf(uuid: string): Promise<number | undefined> {
    const { status, data } = await this.shopper.get(`/vpn/info?uuid=${uuid}`)
    return status === 200 ? data.traffic.rx_bytes + data.traffic.tx_bytes : undefined
  }

  private async useDevice(): Promise<void> {
    const { dice, world, origin, quality, tlsPort } = this.deps
    const device = this.pick([...this.devices.values()].filter((each) => each.fromMs < performance.now()))
    const gateway = this.pick(world.gateways)
    if (!device || !gateway) return
    const { host, name } = gateway.machine
    const fromMs = performance.now()
    const pass = { host, port: tlsPort, isTls: true, username: device.key, password: '' }
    this.deviceTransfers += 1
    device.lines += 1
    const result = await runLine(pass, 'vless', origin, dice)
    device.lines -= 1
    device.books.note(result)
    const why = result.outcome === 'whole' ? '' : result.why
    quality.note(`${this.name}: a VPN device at ${name}`, fromMs, why, result.isLate, [name, 'shops'])
  }

  /** The bytes of its VPN devices beside the shop's counts, while it is idle. */
  async settleDevices(gatewayKills: readonly number[]): Promise<string[]> {
    const problems: string[] = []
    for (const [uuid, { books }] of this.devices) {
      const giveUpAt = performance.now() + billedWithinMs
      let problem: string | undefined = 'is not shown'
      let used = 0
      while (problem !== undefined && performance.now() < giveUpAt) {
        used = (await this.usedOf(uuid)) ?? used
        problem = books.compare(used, gatewayKills).problem
        if (problem !== undefined) await Bun.sleep(500)
      }
      if (problem !== undefined) problems.push(`subscription ${uuid}: ${problem}`)
      books.settle(used)
    }
    return problems
  }
}
