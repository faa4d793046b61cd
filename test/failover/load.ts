import { shippedLimits } from '../../src/db/pool.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import type { Database } from '../../src/db/transaction.ts'
import { untilTrue } from '../harness/turnpike.ts'
import type { OtherSide } from '../providers/other-side.ts'
import { Actor, type ActorDeps, type Answered } from '../storm/actor.ts'
import { ByteBooks, bytesOf } from '../storm/books.ts'
import { type FleetWorld, gatewayPort, pool, soldIn } from '../storm/fleet/world.ts'
import { runLine } from '../storm/lines.ts'
import type { ShopAnswer } from '../storm/shopper.ts'
import type { Account } from '../storm/world.ts'
import type { DatabaseNode } from './cluster.ts'

type BuyerDeps = ActorDeps & { readonly world: FleetWorld; readonly side: OtherSide }

/** A refusal of an order that nothing can be done about. All others are repeated under the same key. */
const expectedCodes = new Set(['out_of_stock', 'not_found', 'conflict'])
const lowBytes = 200_000_000
const methods = ['connect', 'socks'] as const

/** A customer that buys, pays, relays bytes and repeats its keys, through every failover. */
export class Buyer extends Actor<BuyerDeps> {
  /** Purchases that were answered since the last look, with the time of the request that was answered. */
  readonly answered: { readonly beganMs: number; readonly key: Answered }[] = []
  payments = 0
  private login = { name: '', password: '', subuser: '' }
  /** When the request was sent that an answer is of. */
  private readonly sentMs = new Map<string, number>()

  constructor(name: string, account: Account, deps: BuyerDeps) {
    super(name, account, deps, { expectedCodes })
  }

  async prepare(): Promise<void> {
    const { data } = await this.shopper.get('/premium/password')
    this.login = { name: data.login, password: data.password, subuser: data.subuser.subuser_id }
    this.bytes.set(`${this.login.subuser} ${pool}`, new ByteBooks())
    if (!(await untilTrue(() => this.buyTraffic()))) throw new Error('no traffic is sold')
  }

  async trade(): Promise<void> {
    await this.loop(this.deps.everyMs, () => this.tradeOnce())
  }

  async use(): Promise<void> {
    await this.loop(2 * this.deps.everyMs, () => this.relay())
  }

  async pay(): Promise<void> {
    await this.loop(8 * this.deps.everyMs, () => this.payOnce())
  }

  /** Repeats the keys of these purchases: each answer is the first one, byte for byte. */
  async repeat(keys: readonly Answered[]): Promise<void> {
    for (const { path, body, key, text } of keys) {
      const answer = await this.untilAnswered('a repeat', () => this.shopper.post(path, body, { key }))
      if (answer.text === text && answer.replayed) continue
      this.problems.push(`the repeat of ${key} differs from ${text.slice(0, 120)}: ${answer.text.slice(0, 200)}`)
    }
  }

  protected override onBought(key: Answered): void {
    this.answered.push({ beganMs: this.sentMs.get(key.text) ?? 0, key })
    this.sentMs.clear()
  }

  protected override async untilAnswered(what: string, ask: () => Promise<ShopAnswer>): Promise<ShopAnswer> {
    let sentMs = 0
    const answer = await super.untilAnswered(what, () => {
      sentMs = performance.now()
      return ask()
    })
    this.sentMs.set(answer.text, sentMs)
    return answer
  }

  private async tradeOnce(): Promise<void> {
    const luck = this.deps.dice(100)
    if (luck < 50) await this.purchase('/dedicated/buy', { country_code: soldIn, period: 7, count: 1, ipv: 4 })
    else if (luck < 85) await this.buyTraffic()
    else {
      const known = this.answered.at(-1)
      if (known) await this.repeat([known.key])
    }
  }

  private async buyTraffic(): Promise<boolean> {
    const { subuser } = this.login
    const bought = await this.purchase('/premium/traffic/buy', { pool_type: pool, gb: 0.1, subuser_id: subuser })
    const books = this.bytes.get(`${subuser} ${pool}`)
    if (bought && books) books.purchased += bytesOf(bought.traffic_added_gb)
    return bought !== undefined
  }

  private async relay(): Promise<void> {
    const gateway = this.pick(this.deps.world.gateways)
    if (!gateway) return
    const pass = {
      host: gateway.machine.host,
      port: gatewayPort,
      username: `${this.login.name}-pool-${pool}`,
      password: this.login.password,
    }
    const via = methods[this.deps.dice(methods.length)] ?? 'connect'
    const result = await runLine(pass, via, this.deps.origin, this.deps.dice)
    this.bytes.get(`${this.login.subuser} ${pool}`)?.note(result)
    const query = `pool_type=${pool}&subuser_id=${this.login.subuser}`
    const { status, data } = await this.shopper.get(`/premium/traffic/balance?${query}`)
    if (status === 200 && bytesOf(data.traffic_gb) < lowBytes) await this.buyTraffic()
  }

  /** Pays, and notifies the shop until it has answered that the payment is taken. Then notifies it once more. */
  private async payOnce(): Promise<void> {
    const { side, world } = this.deps
    const amount = 100 + this.deps.dice(50)
    const begun = await this.untilAnswered('a payment', () =>
      this.shopper.post('/payments', { amount_rub: amount, method: 'crypto' }, { key: `pay-${crypto.randomUUID()}` }),
    )
    if (begun.status !== 200) return
    const bill = [...side.bills.values()].find(({ mark }) => mark === begun.data.payment_id)
    if (!bill) {
      this.problems.push(`payment ${begun.data.payment_id} has no bill`)
      return
    }
    side.pay(bill.id)
    this.money.credited += BigInt(amount) * 100n
    const notify = async (): Promise<boolean> => {
      const { headers, body } = side.notificationOf(bill.id)
      const url = `${world.url}/api/v1/payments/notify/crypto_pay`
      const signal = AbortSignal.timeout(12_000)
      const answer = await fetch(url, { method: 'POST', headers, body, signal }).catch(() => undefined)
      return answer?.status === 200
    }
    for (let times = 0; times < 2; times += 1) await untilTrue(notify, 500)
    this.payments += 1
  }
}

/** Writes to each database server itself, past HAProxy: a former leader must not confirm a write. */
export class DirectWriters {
  readonly confirmed: string[] = []
  private isOver = false
  private readonly databases: readonly Database[]
  private readonly running: readonly Promise<void>[]

  constructor(nodes: readonly DatabaseNode[]) {
    this.databases = nodes.map((node) => openPostgres(node.url('probe'), 2, { ...shippedLimits, silentMs: 4_000 }))
    this.running = this.databases.map((db, at) => this.write(db, at + 1))
  }

  /** The confirmed writes that a server lacks. */
  async findLost(node: DatabaseNode): Promise<string[]> {
    const known = new Set((await node.ask('SELECT id FROM written', 'probe')).map((row) => row['id']))
    return this.confirmed.filter((id) => !known.has(id))
  }

  async stop(): Promise<void> {
    this.isOver = true
    await Promise.all(this.running)
    await Promise.all(this.databases.map((db) => db.close()))
  }

  private async write(db: Database, number: number): Promise<void> {
    for (let count = 0; !this.isOver; count += 1) {
      const id = `${number}-${count}`
      await db
        .transact((tx) => tx.run('INSERT INTO written VALUES ($1)', [id]))
        .then(
          () => void this.confirmed.push(id),
          () => {},
        )
      await Bun.sleep(300)
    }
  }
}
