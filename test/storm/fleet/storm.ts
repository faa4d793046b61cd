import { openByteOrigin } from '../../harness/byte-origin.ts'
import type { Engine } from '../../harness/database.ts'
import { createDice } from '../../harness/dice.ts'
import { openActors } from '../actor.ts'
import { Gate, Quality, type Service } from '../quality.ts'
import { settleMoney, settleTraffic } from '../settle.ts'
import { countErrors, type PartEnd, type StormSettings, verifyAll } from '../storm.ts'
import type { Rates } from './balancer.ts'
import { type FirstBytes, FleetCustomer } from './customer.ts'
import { netAddresses } from './net.ts'
import { type Leased, OriginNotes } from './notes.ts'
import { type FleetFault, injectFleetFaults } from './weather.ts'
import { type FleetSize, FleetWorld } from './world.ts'

export type FleetStormOptions = StormSettings & {
  /** The faults; all by default. */
  readonly only?: readonly FleetFault[]
  /** The sizes; three gateways and two shops by default. */
  readonly gateways?: number
  readonly shops?: number
}

export type FleetOutcome = {
  readonly engine: Engine
  readonly seed: number
  readonly minutes: number
  readonly parts: readonly PartEnd[]
  readonly faults: Record<string, number>
  readonly first: FirstBytes
  readonly honest: Service & {
    readonly customers: number
    readonly orders: number
    readonly refusals: number
    readonly usedBytes: number
    /** Lines whose owner and address the origin recorded. */
    readonly noted: number
  }
  readonly requestRates: readonly Rates[]
  readonly logged: Record<string, number>
  readonly problems: readonly string[]
}

const longestPartMs = 240_000
const stillWithinMs = 150_000
/** All proxies work again this long after the last fault. */
const calmMs = 20_000
const settledWithinMs = 90_000
/** The number of actions per second of all customers together. */
const perSecond = 6
/** The maximum requests per second of a node, over ten seconds. */
const maxRequestRate = 5
/** The maximum calls from its addresses, besides one or two from each at its start. */
const maxCalls = { perSecond: 5, atStart: 2 } as const
/** So many ranges of eight addresses are used up in so many minutes. */
const rangesUsed = { ranges: 36, minutes: 4, max: 48 } as const
const leastRanges = 2

function sizeOf({ minutes, gateways = 3, shops = 2 }: FleetStormOptions): FleetSize {
  const used = Math.ceil(minutes / rangesUsed.minutes) * rangesUsed.ranges
  // A large fleet has no more addresses than it takes to sell: each one is proven to the shops.
  const ranges = (gateways > 6 ? Math.min(used, rangesUsed.max) : used) / gateways
  return { gateways, shops, ranges: Math.max(leastRanges, Math.ceil(ranges)) }
}

/** Customers of a fleet with faults: every sold product works or is compensated, and the books are exact. */
export async function runFleetStorm(options: FleetStormOptions): Promise<FleetOutcome> {
  const world = await FleetWorld.open(options.engine, sizeOf(options))
  const origin = openByteOrigin(netAddresses.origin)
  try {
    return await new FleetStorm(options, world, origin).run()
  } finally {
    origin.stop()
    await world.close()
  }
}

class FleetStorm {
  private readonly gate = new Gate()
  private readonly notes = new OriginNotes()
  private readonly quality: Quality
  private readonly customers: FleetCustomer[] = []
  private readonly parts: PartEnd[] = []
  private usedBytes = 0
  private readonly openedMs = performance.now()

  constructor(
    private readonly options: FleetStormOptions,
    private readonly world: FleetWorld,
    private readonly origin: ReturnType<typeof openByteOrigin>,
  ) {
    this.quality = new Quality(world)
  }

  async run(): Promise<FleetOutcome> {
    const { minutes, seed } = this.options
    await this.openCustomers()
    const busy = this.customers.flatMap((each) => [each.trade(), each.use(), each.watch()])
    const wholeMs = minutes * 60_000
    const endMs = performance.now() + wholeMs
    const dice = createDice(seed)
    do await this.part(dice, Math.min(longestPartMs, wholeMs))
    while (performance.now() < endMs - longestPartMs / 2)
    this.gate.end()
    await Promise.all(busy)
    return this.conclude(await this.findShared())
  }

  private print(line: string): void {
    this.options.print?.(line)
  }

  private async openCustomers(): Promise<void> {
    const { world, origin, gate, quality, notes } = this
    const { customers: count = 4, seed } = this.options
    const opened = await openActors(
      { count, seed, perSecond, world },
      (name, account, own) => new FleetCustomer(name, account, { world, origin, gate, quality, notes, ...own }),
    )
    this.customers.push(...opened)
  }

  private async part(dice: ReturnType<typeof createDice>, partMs: number): Promise<void> {
    const startedMs = performance.now()
    this.gate.reopen()
    const sold = () => this.customers.flatMap((each) => [...each.proxies.values()].map(({ exit }) => exit))
    const { only } = this.options
    await injectFleetFaults(this.world, dice, partMs, sold, {
      ...(only && { only }),
      print: (line) => this.print(line),
    })
    await Bun.sleep(calmMs)
    const problems: string[] = []
    if (!(await this.gate.close(stillWithinMs))) problems.push('customers did not come to rest')
    problems.push(...(await this.tryAll()))
    const bills = await this.settle(problems)
    const verify = await verifyAll(this.world.env)
    if (verify !== 'clean') problems.push(`verify: ${verify}`)
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    this.parts.push({ seconds, verify, ...bills, problems })
    this.print(`${seconds} s  verify ${verify}  bills exact ${bills.exactBills}, within bounds ${bills.boundedBills}`)
    for (const problem of problems) this.print(`  WRONG ${problem}`)
  }

  /** All listed products work without faults; an interrupted one may take a while to be restored. */
  private async tryAll(): Promise<string[]> {
    const giveUpAt = performance.now() + settledWithinMs
    const isInterrupted = () => this.customers.some((each) => [...each.proxies.values()].some((one) => !one.isServing))
    do {
      await Promise.all(this.customers.map((each) => each.refresh()))
      if (!isInterrupted()) break
      await Bun.sleep(1_000)
    } while (performance.now() < giveUpAt)
    return (await Promise.all(this.customers.map((each) => each.tryAll()))).flat()
  }

  private async settle(problems: string[]): Promise<Pick<PartEnd, 'exactBills' | 'boundedBills'>> {
    const bills = { exactBills: 0, boundedBills: 0 }
    this.usedBytes = 0
    for (const customer of this.customers) {
      const [money, traffic] = [await settleMoney(customer), await settleTraffic(customer, this.world)]
      const own = [...customer.problems.splice(0), ...money.problems, ...traffic.problems]
      problems.push(...own.map((each) => `${customer.name}: ${each}`))
      bills.exactBills += traffic.exact
      bills.boundedBills += traffic.bounded
      this.usedBytes += traffic.usedBytes
    }
    return bills
  }

  private async findShared(): Promise<string[]> {
    const rows = await this.world.read<{
      address: string
      customer_id: string
      proxy_id: bigint
      started_at: bigint
      ended_at: bigint | null
    }>(
      `SELECT s.address, p.customer_id, l.proxy_id, l.started_at, l.ended_at
       FROM leases l JOIN stock s ON s.id = l.slot_id JOIN proxies p ON p.id = l.proxy_id`,
    )
    const names = new Map(this.customers.map((each) => [each.account.customer as string, each.name]))
    const leases = rows.map(
      (row): Leased => ({
        address: row.address,
        owner: names.get(row.customer_id) ?? row.customer_id,
        proxy: Number(row.proxy_id),
        from: Number(row.started_at),
        until: row.ended_at === null ? Number.POSITIVE_INFINITY : Number(row.ended_at),
      }),
    )
    return this.notes.findShared(leases, new Set(this.world.net.machines.flatMap((each) => each.exits)))
  }

  private findAsking({ node, total, calls, worst }: Rates): string[] {
    const gateway = this.world.gateways.find(({ machine }) => machine.name === node)
    const addresses = this.world.net.machines.reduce((max, { prefixes }) => Math.max(max, prefixes.length * 8), 0)
    const seconds = (performance.now() - this.openedMs) / 1000
    const max = maxCalls.perSecond * seconds + maxCalls.atStart * addresses * (gateway?.process.starts ?? 1)
    return [
      ...(total > maxRequestRate ? [`${node} asked ${total} times a second: ${worst}`] : []),
      ...(calls > max ? [`${node} called ${calls} times from its addresses, of ${Math.round(max)}`] : []),
    ]
  }

  private conclude(shared: readonly string[]): FleetOutcome {
    const { quality, world, options } = this
    const requestRates = world.balancer.rates()
    const sum = (of: (each: FleetCustomer) => number) => this.customers.reduce((total, each) => total + of(each), 0)
    const problems = [
      ...this.parts.flatMap((part, number) => part.problems.map((each) => `part ${number + 1}: ${each}`)),
      ...shared,
      ...quality.failures.map((each) => `failed while nothing was amiss: ${each}`),
      ...requestRates.flatMap((each) => this.findAsking(each)),
      ...[...world.shops, ...world.gateways.map((each) => each.process)].flatMap(({ role, ownDeaths, logFile }) =>
        ownDeaths > 0 ? [`a ${role} died by itself ${ownDeaths} times (${logFile})`] : [],
      ),
    ]
    return {
      engine: options.engine,
      seed: options.seed,
      minutes: options.minutes,
      parts: this.parts,
      faults: world.faults.countOf(),
      first: {
        sold: sum(({ first }) => first.sold),
        atOnce: sum(({ first }) => first.atOnce),
        later: sum(({ first }) => first.later),
        madeGood: sum(({ first }) => first.madeGood),
        slowestMs: Math.round(Math.max(0, ...this.customers.map(({ first }) => first.slowestMs))),
      },
      honest: {
        customers: this.customers.length,
        orders: sum(({ money }) => money.charged.size),
        refusals: sum(({ refusals }) => refusals),
        ...quality.service,
        usedBytes: this.usedBytes,
        noted: this.notes.count,
      },
      requestRates,
      logged: countErrors([...world.shops, ...world.gateways.map((each) => each.process)].map((each) => each.logFile)),
      problems,
    }
  }
}
