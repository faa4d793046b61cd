import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { percentile } from '../../../bench/statistics.ts'
import { openByteOrigin } from '../../harness/byte-origin.ts'
import { openActors } from '../actor.ts'
import { netAddresses } from '../fleet/net.ts'
import { OriginNotes } from '../fleet/notes.ts'
import { Gate, Quality, type Service } from '../quality.ts'
import { settleMoney, settleTraffic } from '../settle.ts'
import { countErrors, verifyAll } from '../storm.ts'
import { SoakCustomer } from './customer.ts'
import { DatabaseReader, folderMb, readGauge, readProcess, readServer } from './readings.ts'
import { type SoakReading, toMinuteLine } from './table.ts'
import { happeningsOf } from './work.ts'
import { keepReadings, openSoakWorld, type SoakWorld, spareAddresses, tlsPort } from './world.ts'

export type SoakOptions = {
  readonly hours: number
  readonly seed: number
  readonly customers: number
  /** Transfers of all customers in a second; purchases and readings are a quarter of them. */
  readonly perSecond: number
  readonly print: (line: string) => void
}

export type SoakOutcome = {
  readonly seed: number
  readonly hours: number
  readonly readings: readonly SoakReading[]
  readonly customers: number
  readonly orders: number
  readonly payments: number
  readonly transfers: number
  readonly deviceTransfers: number
  readonly refusals: number
  readonly acknowledged: number
  readonly lost: number
  readonly doubled: number
  readonly billedBytes: number
  readonly events: number
  readonly messages: number
  readonly service: Service
  readonly faults: Readonly<Record<string, number>>
  readonly logged: Readonly<Record<string, number>>
  readonly problems: readonly string[]
}

const minuteMs = 60_000
const operatorReadsEveryMs = 2_000
/** The time between two things that happen to the shop: a short soak has each of them once. */
const happensEvery = { part: 1 / 9, mostMs: 300_000 } as const
/** The books are compared after each of so many parts. */
const parts = 4
const stillWithinMs = 150_000
const deliveredWithinMs = 120_000
const pollMs = 500

/** Everything at once for hours, at a tenth of the capacity: nothing may grow, get lost or be billed twice. */
export async function runSoak(options: SoakOptions): Promise<SoakOutcome> {
  const world = await openSoakWorld()
  const origin = openByteOrigin(netAddresses.origin)
  const database = new DatabaseReader(world.fleet.env['TURNPIKE_DATABASE_URL'] ?? '')
  try {
    return await new Soak(options, world, origin, database).run()
  } finally {
    await database.close()
    origin.stop()
    await world.close()
  }
}

class Soak {
  private readonly gate = new Gate()
  private readonly quality: Quality
  private readonly customers: SoakCustomer[] = []
  private readonly readings: SoakReading[] = []
  private readonly problems: string[] = []
  /** The last event of each customer before its endpoint was added. */
  private readonly firstEvents = new Map<string, number>()
  private readonly counts = { acknowledged: 0, lost: 0, doubled: 0, billedBytes: 0 }
  private startedMs = performance.now()
  private serverPid = 0
  private usedAddresses = 0
  private isOver = false

  constructor(
    private readonly options: SoakOptions,
    private readonly world: SoakWorld,
    private readonly origin: ReturnType<typeof openByteOrigin>,
    private readonly database: DatabaseReader,
  ) {
    this.quality = new Quality(world.fleet)
  }

  async run(): Promise<SoakOutcome> {
    this.serverPid = await this.database.findServer()
    await this.openCustomers()
    const wholeMs = this.options.hours * 3_600_000
    this.startedMs = performance.now()
    const busy = this.customers.flatMap((each) => [each.trade(), each.use(), each.watch()])
    const beside = [this.readAsOperator(), this.readEachMinute(wholeMs), this.letHappen(wholeMs)]
    for (let part = 1; part <= parts; part += 1) {
      await this.sleepUntil((wholeMs * part) / parts)
      await this.compare(part)
    }
    this.isOver = true
    this.gate.end()
    await Promise.all([...busy, ...beside])
    const { events, messages } = await this.compareMessages()
    const last = await verifyAll(this.world.fleet.env)
    if (last !== 'clean') this.note(`verify at the end: ${last}`)
    return this.conclude(events, messages)
  }

  private note(problem: string): void {
    this.problems.push(problem)
    this.options.print(`  WRONG ${problem}`)
  }

  private async sleepUntil(ms: number): Promise<void> {
    await Bun.sleep(Math.max(0, this.startedMs + ms - performance.now()))
  }

  private async openCustomers(): Promise<void> {
    const { world, origin, gate, quality } = this
    const { customers: count, seed, perSecond } = this.options
    const mayUseAddress = () => this.mayUseAddress()
    const deps = { ...world, origin, gate, quality, notes: new OriginNotes(), tlsPort, mayUseAddress }
    const opened = await openActors(
      { count, seed, perSecond: 2 * perSecond, world: world.fleet },
      (name, account, own) => new SoakCustomer(name, account, { ...deps, world: world.fleet, ...own }),
    )
    for (const each of opened) {
      const { status, text } = await each.shopper.post('/webhooks/add', { url: world.receiver.urlOf(each.name) })
      if (status !== 200) throw new Error(`an endpoint was refused: ${text}`)
      const noted = await listEvents(each.shopper, 0)
      this.firstEvents.set(each.name, noted.at(-1) ?? 0)
    }
    this.customers.push(...opened)
  }

  /** Spreads the addresses over the whole soak. */
  private mayUseAddress(): boolean {
    const part = (performance.now() - this.startedMs) / (this.options.hours * 3_600_000)
    if (this.usedAddresses >= spareAddresses * Math.min(1, part)) return false
    this.usedAddresses += 1
    return true
  }

  private async readAsOperator(): Promise<void> {
    while (!this.isOver) {
      await this.world.operator.read()
      await Bun.sleep(operatorReadsEveryMs)
    }
  }

  /** One thing after another happens, from the first ninth to the last. */
  private async letHappen(wholeMs: number): Promise<void> {
    const all = happeningsOf(this.world)
    const everyMs = Math.min(happensEvery.mostMs, wholeMs * happensEvery.part)
    for (let number = 0; (number + 1) * everyMs < wholeMs - everyMs / 2; number += 1) {
      await this.sleepUntil((number + 1) * everyMs)
      const happening = all[number % all.length]
      if (!happening) break
      const fromMs = performance.now()
      const problem = await happening.happen(number).catch((error: unknown) => `${happening.what}: ${String(error)}`)
      this.options.print(`  ${happening.what}, ${((performance.now() - fromMs) / 1000).toFixed(1)} s`)
      if (problem !== undefined) this.note(problem)
    }
  }

  private async readEachMinute(wholeMs: number): Promise<void> {
    const everyMs = Math.min(minuteMs, wholeMs / 20)
    for (let number = 0; number * everyMs <= wholeMs; number += 1) {
      await this.sleepUntil(number * everyMs)
      const reading = await this.read()
      const before = this.readings.at(-1)
      this.readings.push(reading)
      this.options.print(toMinuteLine(reading, before))
    }
  }

  private async read(): Promise<SoakReading> {
    const { fleet } = this.world
    const processes = [
      ...fleet.shops.map((each, at) => readProcess(`shop-${at + 1}`, each)),
      ...fleet.gateways.map((each) => readProcess(each.machine.name, each.process)),
    ].filter((each) => each !== undefined)
    const skews = await Promise.all(
      fleet.gateways.map(async ({ machine }) => {
        const seconds = await readGauge(this.world.metricsOf(machine), 'turnpike_clock_skew_seconds')
        return { name: machine.name, ms: seconds === undefined ? undefined : seconds * 1000 }
      }),
    )
    const waits = fleet.balancer.takeWaits()
    return {
      hours: (performance.now() - this.startedMs) / 3_600_000,
      processes,
      server: readServer(this.serverPid),
      database: await this.database.read(),
      folders: ['shop', ...fleet.gateways.map(({ machine }) => machine.name)].map((name) => {
        return { name, mb: folderMb(join(fleet.folder, name)) }
      }),
      skews: skews.flatMap(({ name, ms }) => (ms === undefined ? [] : [{ name, ms }])),
      orders: this.sum(({ money }) => money.charged.size),
      refusals: this.sum(({ refusals }) => refusals),
      transfers: this.sum(({ transfers }) => transfers),
      failedInFaults: this.quality.failedInFaults,
      failedOutside: this.quality.failedOutside,
      answers: waits.length,
      p99Ms: percentile(waits, 0.99),
      cores: availableParallelism(),
    }
  }

  private sum(of: (each: SoakCustomer) => number): number {
    return this.customers.reduce((total, each) => total + of(each), 0)
  }

  /** All customers rest, and their books are compared with the shop's. */
  private async compare(part: number): Promise<void> {
    const fromMs = performance.now()
    if (!(await this.gate.close(stillWithinMs))) this.note('customers did not come to rest')
    const sums = { acknowledged: 0, lost: 0, doubled: 0, billedBytes: 0 }
    for (const customer of this.customers) {
      const [money, traffic] = [await settleMoney(customer), await settleTraffic(customer, this.world.fleet)]
      const devices = await customer.settleDevices(this.world.fleet.faults.gatewayKills)
      const own = [...customer.problems.splice(0), ...money.problems, ...traffic.problems, ...devices]
      for (const problem of own) this.note(`part ${part}: ${customer.name}: ${problem}`)
      sums.acknowledged += money.purchases.acknowledged
      sums.lost += money.purchases.lost
      sums.doubled += money.purchases.doubled
      sums.billedBytes += traffic.usedBytes
    }
    Object.assign(this.counts, sums)
    for (const problem of this.world.operator.problems.splice(0)) this.note(`the operator: ${problem}`)
    const seconds = Math.round((performance.now() - fromMs) / 1000)
    this.options.print(
      `  books compared in ${seconds} s: ${sums.acknowledged} purchases, ${sums.lost} lost, ${sums.doubled} doubled, ${sums.billedBytes} bytes billed`,
    )
    if (part < parts) this.gate.reopen()
  }

  /** Every event of every customer reached its endpoint at least once. */
  private async compareMessages(): Promise<{ events: number; messages: number }> {
    const giveUpAt = performance.now() + deliveredWithinMs
    let result = { events: 0, messages: 0, missing: 1 }
    while (result.missing > 0 && performance.now() < giveUpAt) {
      const received = await this.world.receiver.read()
      result = { events: 0, messages: 0, missing: 0 }
      for (const { name, shopper } of this.customers) {
        const own = received[name] ?? { messages: 0, events: [] }
        const there = new Set(own.events)
        const numbers = await listEvents(shopper, this.firstEvents.get(name) ?? 0)
        result.events += numbers.length
        result.messages += own.messages
        result.missing += numbers.filter((each) => !there.has(each)).length
      }
      if (result.missing > 0) await Bun.sleep(pollMs)
    }
    if (result.missing > 0) this.note(`${result.missing} events did not reach their endpoints`)
    return result
  }

  private conclude(events: number, messages: number): SoakOutcome {
    const { quality, options, world, readings } = this
    const { fleet } = world
    const roles = [...fleet.shops, ...fleet.gateways.map((each) => each.process)]
    const problems = [
      ...this.problems,
      ...quality.failures.map((each) => `failed while nothing was amiss: ${each}`),
      ...roles.flatMap(({ role, ownDeaths, logFile }) =>
        ownDeaths > 0 ? [`a ${role} died by itself ${ownDeaths} times (${logFile})`] : [],
      ),
    ]
    if (process.env['TURNPIKE_STORM_KEEP'] !== undefined) keepReadings(fleet.folder, readings)
    return {
      seed: options.seed,
      hours: options.hours,
      readings,
      customers: this.customers.length,
      orders: this.sum(({ money }) => money.charged.size),
      payments: this.sum((each) => each.payments),
      transfers: this.sum((each) => each.transfers),
      deviceTransfers: this.sum((each) => each.deviceTransfers),
      refusals: this.sum(({ refusals }) => refusals),
      ...this.counts,
      events,
      messages,
      service: quality.service,
      faults: fleet.faults.countOf(),
      logged: countErrors(roles.map((each) => each.logFile)),
      problems,
    }
  }
}

/** The numbers of a customer's events after one of them. */
async function listEvents(shopper: SoakCustomer['shopper'], first: number): Promise<number[]> {
  const numbers: number[] = []
  for (let after = first; ; ) {
    const { status, data } = await shopper.get(`/events?limit=500&after=${after}`)
    const page = status === 200 ? (data.events as { id: number }[]) : []
    if (page.length === 0) return numbers
    numbers.push(...page.map(({ id }) => id))
    after = Math.max(...numbers.slice(-page.length))
  }
}
