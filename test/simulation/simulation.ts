import { join } from 'node:path'
import { Refusal } from '../../src/core/refusal.ts'
import { Customer } from './customer.ts'
import { Carried, Gateway } from './gateway.ts'
import { checkRows, readCounted } from './invariants.ts'
import { Network } from './network.ts'
import { type Action, type Fault, type Plan, parties } from './plan.ts'
import type { Process } from './process.ts'
import { Provider, providerHost } from './provider.ts'
import { Rewinds } from './rewind.ts'
import { openShop, type RunningShop, shopHost } from './shop.ts'
import { openStore, type Store } from './store.ts'
import { copyTemplate, pool, type Template } from './template.ts'
import { BrokenPromise, World } from './world.ts'

/** How a simulation went. */
export type Outcome = { readonly trace: readonly string[]; readonly purchases: number; readonly crashes: number }

/** Runs one plan to its end, and throws with its trace if a promise is broken. */
export async function simulate(template: Template, plan: Plan): Promise<Outcome> {
  const copy = await copyTemplate(template)
  const simulation = new Simulation(copy, template, plan)
  try {
    return await simulation.run()
  } catch (error) {
    throw withTrace(error, simulation.world.trace)
  } finally {
    await simulation.close()
    await copy.remove()
  }
}

/** The error of a simulation, with its trace as the message. */
function withTrace(error: unknown, trace: readonly string[]): Error {
  const message = error instanceof Error ? error.message : String(error)
  const found = error instanceof BrokenPromise ? `Broken: ${message}.` : `Failed: ${message}`
  return Object.assign(new Error(`${found}\n${trace.join('\n')}`), { cause: error })
}

/** Usage is reported and payments are asked for within this time. */
const settledMs = 12_000
const lookMs = 500
/** Nodes have taken their state this long after a rewind. */
const stateMs = 500
const payerMs = 3_000
const restartMs = 1_000
const trafficBytes = 8_000_000
/** A server may have so many shops. */
const maxShops = 2

/** A refusal of the database for a reason outside of the shop. */
const isOutside = (line: string): boolean =>
  /SQLITE_FULL|database_unavailable|database_busy|database cannot be written to/.test(line)

/** A connection that the server has ended, as a job has it. */
const isCut = (line: string): boolean => line.includes('with the same Idempotency-Key it has one effect at most')

/** Verifiers of the schema, which nothing here changes. */
const ofDatabase = ['schema', 'integrity']

const toText = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))

/** The first one has the data folder of the template. */
const shopNames = ['shop', 'second shop']

const answerOf = ({ toCustomers, toNodes }: RunningShop, request: Request): Promise<Response> =>
  request.url.includes('/node/v1/') ? toNodes(request) : toCustomers(request)

class Simulation {
  readonly world: World
  private readonly network: Network
  private readonly store: Store
  private readonly reader
  private readonly customers: readonly Customer[]
  private readonly provider
  private readonly gateways: readonly Gateway[]
  private readonly carried = new Carried()
  /** Shops on the database, by number; undefined while one does not run. */
  private readonly shops: (RunningShop | undefined)[]
  private readonly processes: Process[] = []
  private readonly rewinds
  private crashes = 0
  private shopSteps = 0
  private keys = 0
  private shopAheadMs = 0
  private isHealed = false
  /** Ends of crashed shops, which a new one waits for. */
  private closing: Promise<unknown> = Promise.resolve()
  private readonly log: string[] = []

  constructor(
    private readonly copy: { readonly folder: string; readonly address: string },
    template: Template,
    private readonly plan: Plan,
  ) {
    this.world = new World(plan.entropy, plan.scheduler, () => this.check())
    this.network = new Network(this.world, plan.network)
    this.store = openStore(copy.address, this.world, plan.pace)
    this.reader = this.store.reader
    const shops = this.store.url === undefined ? 1 : 1 + this.world.chance('shops beside the first', maxShops)
    this.shops = Array.from({ length: shops }, () => undefined)
    this.customers = template.customers.map(
      (account, index) => new Customer(this.world, `customer ${index + 1}`, account),
    )
    const isCalm = plan.faults.every(({ kind }) => kind === 'rewind' || kind === 'kill gateway')
    this.rewinds = new Rewinds(this.world, this.store, this.customers, this.carried, isCalm)
    this.provider = new Provider(this.world)
    for (const customer of this.customers) customer.onPayment = (payment) => this.letPay(payment)
    this.network.add(providerHost, {
      name: 'provider',
      find: () => ({ process: this.provider.process, answer: this.provider.answer }),
    })
    const usesGateways = plan.actions.some(({ what }) => what === 'use traffic')
    this.gateways = template.gateways.flatMap((key, index) => {
      const name = `gateway ${index + 1}`
      return usesGateways ? new Gateway(this.world, name, join(copy.folder, name), key, this.carried) : []
    })
    this.network.add(shopHost, {
      name: 'shop',
      find: () => {
        const open = this.openShops()
        const shop = open[this.world.chance('shop of a request', open.length)]
        return shop && { process: shop.process, answer: (request) => answerOf(shop, request) }
      },
    })
  }

  async run(): Promise<Outcome> {
    for (const index of this.shops.keys()) this.startShop(index)
    await this.world.run(() => this.areShopsOpen())
    this.world.crashesAt = (process) => this.crashesNow(process)
    for (const gateway of this.gateways) gateway.start()
    for (const action of this.plan.actions) {
      this.world.schedule(undefined, action.atMs, action.what, () => this.act(action))
    }
    for (const fault of this.plan.faults) {
      if (fault.kind !== 'crash') this.world.schedule(undefined, fault.atMs, fault.kind, () => this.strike(fault))
    }
    const end = { isOver: false }
    const lastMs = Math.max(...this.plan.actions.map(({ atMs }) => atMs))
    this.world.schedule(undefined, lastMs + 1, 'end of the actions', () => (end.isOver = true))
    await this.world.run(() => end.isOver)
    // From here on nothing fails any more, and everything that was begun must end.
    this.isHealed = true
    this.network.heal()
    this.world.crashesAt = () => false
    this.world.note('all faults end')
    this.store.setFault(false)
    for (const gateway of this.gateways) if (!gateway.isRunning) gateway.start()
    const actors = [...this.customers, this.provider]
    await this.world.run(() => this.areShopsOpen() && actors.every((each) => each.isIdle))
    await this.checkEnd()
    return {
      trace: this.world.trace,
      purchases: this.customers.reduce((sum, each) => sum + each.purchases.size, 0),
      crashes: this.crashes,
    }
  }

  async close(): Promise<void> {
    for (const shop of this.openShops()) shop.process.crash('at the end')
    for (const gateway of this.gateways) gateway.kill('at the end')
    await this.closing
    this.network.close()
    await this.store.close()
  }

  private get hasRewind(): boolean {
    return this.plan.faults.some(({ kind }) => kind === 'rewind')
  }

  private openedShop(): RunningShop {
    const [shop] = this.openShops()
    if (!shop) throw new Error('no shop runs')
    return shop
  }

  private openShops(): RunningShop[] {
    return this.shops.filter((shop) => shop !== undefined)
  }

  private areShopsOpen(): boolean {
    return this.openShops().length === this.shops.length
  }

  private startShop(index: number): void {
    const { world, plan, store } = this
    const process = world.start(shopNames[index] ?? '')
    this.processes[index] = process
    process.clockAheadMs = this.shopAheadMs
    process.onCrash(() => {
      this.shops[index] = undefined
      // Ends after the transactions that the crash has rolled back.
      this.closing = world.real(store.ended())
    })
    const deps = {
      store,
      folder: index === 0 ? this.copy.folder : join(this.copy.folder, process.name),
      // What a rewind has lost is found again by jobs.
      runsJob: (name: string) => this.hasRewind || (hashOf(name) ^ plan.idleJobs) % 3 !== 0,
      openSender: () => ({ send: async () => ({ status: 200, problem: null, retryAfterMs: null }), close: () => {} }),
      log: this.log,
    }
    const open = async () => {
      const shop = await openShop(process, deps)
      world.note(`the ${process.name} is open`)
      this.shops[index] = shop
    }
    process.run(open).catch((error: unknown) => {
      if (!process.isAlive) return
      if (!(error instanceof Refusal && error.code === 'unavailable')) return world.fail(error)
      // It writes what a rewind has lost, which a full disk refuses; its supervisor starts it again.
      process.crash('by itself, because it cannot write')
      world.schedule(undefined, restartMs, 'start of the shop', () => this.startShop(index))
    })
  }

  /** Most payers pay within seconds, some never or not after all. */
  private letPay(payment: string): void {
    const luck = this.world.chance('what a payer does', 10)
    if (luck === 0) return
    const delayMs = this.world.chance('time of a payer', payerMs)
    this.world.schedule(undefined, delayMs, 'a payer acts', () => {
      this.provider.change(payment, luck === 1 ? 'cancel' : 'pay')
    })
  }

  /** Lets simulated time pass. */
  private async pass(ms: number): Promise<void> {
    const end = { isOver: false }
    this.world.schedule(undefined, ms, 'time passes', () => (end.isOver = true))
    await this.world.run(() => end.isOver)
  }

  private strike(fault: Exclude<Fault, { kind: 'crash' }>): void {
    const { world } = this
    if (this.isHealed) return
    if (fault.kind === 'kill gateway') {
      const gateway = this.gateways[fault.gateway]
      if (!gateway?.isRunning) return
      gateway.kill('')
      world.schedule(undefined, fault.downMs, 'start of a gateway', () => {
        if (!gateway.isRunning) gateway.start()
      })
    } else if (fault.kind === 'cut') {
      const [from = 'shop', to = 'shop'] = [parties[fault.from], parties[fault.to]]
      if (from === to) return
      this.network.setCut(from, to, true)
      world.schedule(undefined, fault.forMs, 'a link is mended', () => this.network.setCut(from, to, false))
    } else if (fault.kind === 'clock') {
      world.note(`the clock of ${fault.of === 0 ? 'the shop' : `gateway ${fault.of}`} is set ${fault.aheadMs} ms ahead`)
      if (fault.of > 0) this.gateways[fault.of - 1]?.setClock(fault.aheadMs)
      else {
        this.shopAheadMs = fault.aheadMs
        for (const shop of this.openShops()) shop.process.clockAheadMs = fault.aheadMs
      }
    } else if (fault.kind === 'rewind') {
      // The key of a gateway that has not joined would end.
      if (this.gateways.some(({ hasJoined }) => !hasJoined)) return
      void world.real(this.rewinds.copy()).catch((error: unknown) => world.fail(error))
      world.schedule(undefined, fault.forMs, 'the database goes back', () => this.goBack())
    } else {
      this.store.setFault(true)
      world.schedule(undefined, fault.forMs, 'space on the disk', () => this.store.setFault(false))
    }
  }

  /** A file is replaced while its shop is stopped; shops on a server run on. */
  private goBack(): void {
    if (this.isHealed) return
    const { world } = this
    const stopped = this.store.url === undefined ? this.processes.filter(({ isAlive }) => isAlive) : []
    for (const process of stopped) process.crash('for a restore')
    const restore = async (): Promise<void> => {
      await this.closing
      await this.rewinds.goBack()
    }
    const done = world.real(restore()).catch((error: unknown) => world.fail(error))
    this.closing = done
    for (const { name } of stopped) {
      world.schedule(undefined, 0, 'start of the shop', () => this.startShop(shopNames.indexOf(name)))
    }
    world.schedule(undefined, stateMs, 'other nodes take the state', () => this.letOthersTakeState())
  }

  /** The nodes of the template that are not simulated. */
  private letOthersTakeState(): void {
    for (const { process, services } of this.openShops().slice(0, 1)) {
      const sql = `UPDATE nodes SET awaits_state = 0 WHERE name IN ('stock-gateway', 'vpn-1')`
      process.run(() => services.db.transact((tx) => tx.run(sql))).catch(() => {})
    }
  }

  /** A crash comes at its step, counted over all runs of all shops. */
  private crashesNow({ name }: Process): boolean {
    const index = shopNames.indexOf(name)
    if (index < 0) return false
    this.shopSteps += 1
    const fault = this.plan.faults.find((each) => each.kind === 'crash' && each.step === this.shopSteps)
    if (fault?.kind !== 'crash') return false
    this.crashes += 1
    this.world.schedule(undefined, fault.downMs, 'start of the shop', () => {
      void this.world.real(this.closing).then(() => this.startShop(index))
    })
    return true
  }

  private act(action: Action): void {
    const customer = this.customers[action.customer]
    if (!customer) return
    const { what, size, isImpatient } = action
    const key = `key-${(this.keys += 1)}`
    const order = (path: string, body: Readonly<Record<string, unknown>>) => {
      this.world.note(`${customer.name}: ${what} (POST ${path} ${JSON.stringify(body)}, key ${key})`)
      customer.begin(() => customer.buy(key, path, body, isImpatient))
    }
    const country_code = size === 0 ? 'NL' : 'DE'
    if (what === 'buy proxies') order('/dedicated/buy', { country_code, period: 7, count: 1 + size, ipv: 4 })
    if (what === 'buy traffic') order('/premium/traffic/buy', { pool_type: 'datacenter', gb: 0.5 })
    if (what === 'move traffic')
      order('/premium/traffic/move', { pool_type: pool, gb: (1 + size) / 10, to_subuser_id: customer.secondSubuser })
    if (what === 'buy vpn') order('/vpn/buy', { period: 1 })
    const uuid = customer.pick('a subscription', customer.subscriptions)
    if (what === 'renew vpn' && uuid !== undefined) order('/vpn/renew', { uuid, period: 1 })
    const id = customer.pick('a proxy', customer.proxies)
    if (what === 'prolong' && id !== undefined) order('/dedicated/prolong', { ids: [id], period: 7 })
    if (what === 'replace' && id !== undefined) order('/dedicated/replace', { id })
    if (what === 'top up') order('/payments', { amount_rub: 50 + size, method: 'card' })
    const purchase = { product: 'dedicated', country_code, period: 7, count: 1, ipv: 4 }
    if (what === 'pay and buy') order('/payments', { amount_rub: 100, method: 'card', purchase })
    const payment = customer.pick('a payment', customer.payments)
    if (what === 'charge back' && payment !== undefined) this.provider.change(payment, 'charge back')
    const gateway = this.gateways[size % Math.max(1, this.gateways.length)]
    if (what === 'use traffic' && gateway) {
      this.world.note(`${customer.name} uses ${gateway.name}`)
      gateway.carry(customer.login, pool, (1 + size) * trafficBytes)
    }
    const known = customer.pick('a purchase', [...customer.purchases.values()])
    if (what === 'repeat a purchase' && known) {
      this.world.note(`${customer.name}: ${what} (key ${known.key})`)
      customer.begin(() => customer.buy(known.key, known.path, known.body, isImpatient))
    }
  }

  /** After every commit. */
  private async check(): Promise<void> {
    await checkRows(this.reader)
    if (this.gateways.length > 0) await this.checkBytes()
    for (const { orders, name } of this.customers) {
      const found = await this.reader.all<{ id: string }>(
        `SELECT id FROM orders WHERE id IN (${orders.map((_, index) => `$${index + 1}`).join() || 'NULL'})`,
        orders,
      )
      if (found.length !== new Set(orders).size) {
        throw new BrokenPromise(`an acknowledged purchase is never lost: not so for an order of ${name}`)
      }
    }
  }

  /** What every purchase and the whole shop must look like once everything has ended. */
  private async checkEnd(): Promise<void> {
    await this.repeatAll()
    await this.check()
    this.checkLog()
    await this.rewinds.check()
    for (let leftMs = settledMs; ; ) {
      const problem = (await this.findUnbilled()) ?? (await this.findUnpaid())
      if (problem === undefined) break
      if (leftMs <= 0) throw new BrokenPromise(problem)
      // The bytes of an open tunnel are always billed later than they are carried.
      if (!this.gateways.some(({ isBusy }) => isBusy)) leftMs -= lookMs
      await this.pass(lookMs)
    }
    const { verifiers } = this.openedShop().services
    for (const { verify, name } of verifiers) {
      if (ofDatabase.includes(name)) continue
      const { findings } = await this.inShop(verify)
      const [found] = findings
      if (found) throw new BrokenPromise(`verify finds nothing: it finds ${toText(found)}`)
    }
  }

  /** Every acknowledged purchase is replayed under its key. The customer compares the answers. */
  private async repeatAll(): Promise<void> {
    for (const customer of this.customers) {
      const answered = [...customer.purchases.values()].filter(({ answer }) => answer !== undefined)
      for (const { key, path, body } of answered) customer.begin(() => customer.buy(key, path, body, false))
    }
    await this.world.run(() => this.customers.every((each) => each.isIdle))
  }

  /** A fault is a bug, also where no caller sees it. A full disk is none. */
  private checkLog(): void {
    const endsConnections = this.plan.faults.some(({ kind }) => kind === 'disk full' || kind === 'rewind')
    const isExpected = (line: string): boolean => isOutside(line) || (endsConnections && isCut(line))
    const isFault = /"event":"(fault|job failed|delivery failed)"/
    const fault = this.log.find((line) => isFault.test(line) && !isExpected(line))
    if (fault !== undefined) throw new BrokenPromise(`no job and no request meets a fault: ${fault.slice(0, 600)}`)
  }

  private async checkBytes(): Promise<void> {
    for (const [subject, bytes] of await readCounted(this.reader)) {
      if (bytes > this.carried.of(subject))
        throw new BrokenPromise(`no byte is billed that was not carried: ${bytes} of ${subject}`)
    }
  }

  /** Carried bytes that are not billed, beyond those that kills may lose. */
  private async findUnbilled(): Promise<string | undefined> {
    const counted = await readCounted(this.reader)
    for (const key of this.carried.keys()) {
      const missing = this.carried.of(key) - (counted.get(key) ?? 0)
      if (missing > this.carried.lostOf(key)) return `carried bytes are billed: ${missing} of ${key} are not`
    }
    return undefined
  }

  /** A payment whose money is not on the balance as payers have paid it, and not taken it back. */
  private async findUnpaid(): Promise<string | undefined> {
    // Then a payment is asked for again only at its next poll.
    if (await this.rewinds.isUnnoted()) return undefined
    for (const { id, credited, debited } of await this.reader.all<{ id: string; credited: bigint; debited: bigint }>(
      'SELECT id, credited, debited FROM payments',
    )) {
      if (Number(credited - debited) !== this.provider.paidFor(id))
        return `a payment is credited as it was paid: not so for ${id}`
    }
    return undefined
  }

  /** Runs work in the shop's process to its end. */
  private async inShop<Result>(work: () => Promise<Result>): Promise<Result> {
    const done: { result?: Result } = {}
    const start = async () => {
      done.result = await work()
    }
    this.openedShop()
      .process.run(start)
      .catch((error: unknown) => this.world.fail(error))
    await this.world.run(() => 'result' in done)
    return done.result as Result
  }
}

function hashOf(text: string): number {
  let sum = 7
  for (const character of text) sum = (Math.imul(sum, 31) + (character.codePointAt(0) ?? 0)) >>> 0
  return sum
}
