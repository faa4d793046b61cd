import { readFileSync } from 'node:fs'
import { openByteOrigin } from '../harness/byte-origin.ts'
import type { Engine } from '../harness/database.ts'
import { createDice } from '../harness/dice.ts'
import { runTurnpike } from '../harness/turnpike.ts'
import { openActors } from './actor.ts'
import { attacks } from './attackers/all.ts'
import type { AttackDeps, Attacker } from './attackers/attacker.ts'
import { openUnacknowledged, type StealthyClient } from './attackers/unacknowledged.ts'
import type { Purchases } from './books.ts'
import { type AttackName, bounds } from './bounds.ts'
import { Customer } from './customer.ts'
import { Gate, Quality, type Service } from './quality.ts'
import { type Settled, settle } from './settle.ts'
import { type FaultMix, faultMixes, injectFaults } from './weather.ts'
import { World } from './world.ts'

/** Settings of every storm. */
export type StormSettings = {
  readonly engine: Engine
  readonly minutes: number
  readonly seed: number
  readonly customers?: number
  readonly print?: (line: string) => void
}

export type StormOptions = StormSettings & {
  /** The faults of the processes, part after part, repeated; all in turn by default. */
  readonly faultMixes?: readonly FaultMix[]
  /** All attackers by default. */
  readonly attackers?: readonly AttackName[]
  /** With a user-space TCP client, unacknowledged bytes are tried too. */
  readonly openStealthyClient?: () => StealthyClient
}

/** One attacker's line of the summary. */
type AttackRow = {
  readonly attacker: AttackName
  readonly tried: number
  readonly gained: number
  readonly bound: number
  readonly unit: string
  readonly note: string
  /** Errors of steps without a fault of the processes: the attack itself may be broken. */
  readonly errors: readonly string[]
}

/** The result of one part of a storm. */
export type PartEnd = {
  readonly seconds: number
  readonly verify: string
  readonly exactBills: number
  readonly boundedBills: number
  readonly problems: readonly string[]
}

type PartRow = PartEnd & {
  readonly faultMix: FaultMix
  readonly unbilledBytes: number
  readonly shopMb: number
  readonly gatewayMb: number
  readonly gatewayDescriptors: number
}

/** One honest customer's line of the summary, at the last comparison of the books. */
type HonestRow = Purchases & {
  readonly customer: string
  readonly exactBills: number
  readonly boundedBills: number
  readonly relayedMin: number
  readonly relayedMax: number
  readonly billedBytes: number
}

export type StormOutcome = {
  readonly engine: Engine
  readonly seed: number
  readonly minutes: number
  readonly parts: readonly PartRow[]
  readonly attackers: readonly AttackRow[]
  readonly faults: Record<string, number>
  readonly honest: Service & {
    readonly customers: number
    readonly orders: number
    readonly usedBytes: number
    readonly rows: readonly HonestRow[]
  }
  /** How often the machine was overloaded, and the longest delay. */
  readonly machine: { readonly lateTimes: number; readonly longestMs: number; readonly busySeconds: number }
  /** Error lines in the logs of shop and gateway, by text. */
  readonly logged: Record<string, number>
  /** Everything beyond its bound. Empty means success. */
  readonly problems: readonly string[]
  /** The result of verify after all actors have stopped. */
  readonly lastVerify: string
}

/** The number of actions per second of all honest actors together. */
const honestPerSecond = 20
const longestPartMs = 150_000
const shortestPartMs = 6_000
const partsWanted = 8
const stillWithinMs = 100_000
const maxErrorsKept = 5
/** The limit for an overloaded machine; the database of an hour has some hundred thousand rows. */
const verifyWithinMs = 900_000

/** Runs attackers beside honest customers on a real shop and gateway with faults, and then compares the books. */
export async function runStorm(options: StormOptions): Promise<StormOutcome> {
  const world = await World.open(options.engine)
  const origin = openByteOrigin()
  try {
    return await new Storm(options, world, origin).run()
  } finally {
    origin.stop()
    await world.close()
  }
}

type Origin = ReturnType<typeof openByteOrigin>

class Storm {
  private readonly gate = new Gate()
  private readonly quality: Quality
  private readonly dice
  private readonly customers: Customer[] = []
  private readonly attackers: { readonly attacker: Attacker; readonly errors: string[] }[] = []
  private readonly parts: PartRow[] = []
  private readonly openedMs = performance.now()
  private readonly settled = new Map<Customer, Settled & { allExact: number; allBounded: number }>()
  private isOver = false

  constructor(
    private readonly options: StormOptions,
    private readonly world: World,
    private readonly origin: Origin,
  ) {
    this.quality = new Quality(world)
    this.dice = createDice(options.seed)
  }

  async run(): Promise<StormOutcome> {
    await this.openCustomers()
    await this.openAttackers()
    const honest = this.customers.flatMap((each) => [each.trade(), each.use()])
    const hostile = this.attackers.map(({ attacker, errors }) => this.attack(attacker, errors))
    const wholeMs = this.options.minutes * 60_000
    const partMs = Math.min(longestPartMs, Math.max(shortestPartMs, wholeMs / partsWanted))
    const endMs = performance.now() + wholeMs
    const faultMixCycle = this.options.faultMixes ?? faultMixes
    for (let number = 0; number === 0 || performance.now() < endMs - partMs / 2; number += 1) {
      await this.runPart(faultMixCycle[number % faultMixCycle.length] ?? 'clear', partMs)
    }
    this.gate.end()
    await Promise.all(honest)
    this.isOver = true
    await Promise.all(hostile)
    const rows = await this.countAttackers()
    // Once more without any actor: the attackers' data is verified too.
    const last = await verifyAll(this.world.env)
    return this.conclude(rows, last)
  }

  private print(line: string): void {
    this.options.print?.(line)
  }

  private async openCustomers(): Promise<void> {
    const { world, origin, gate, quality } = this
    const { customers: count = 5, seed } = this.options
    const opened = await openActors(
      { count, seed, perSecond: honestPerSecond, world },
      (name, account, own) => new Customer(name, account, { world, origin, gate, quality, ...own }),
    )
    this.customers.push(...opened)
  }

  private async openAttackers(): Promise<void> {
    const deps = (number: number): AttackDeps => ({
      world: this.world,
      origin: this.origin,
      dice: createDice(this.options.seed + 1_000_000 + number),
    })
    const names = this.options.attackers ?? (Object.keys(bounds) as AttackName[])
    const { openStealthyClient } = this.options
    for (const [number, name] of names.entries()) {
      if (name !== 'bytes not acknowledged') {
        this.attackers.push({ attacker: await attacks[name](deps(number)), errors: [] })
      } else if (openStealthyClient) {
        this.attackers.push({ attacker: await openUnacknowledged(deps(number), openStealthyClient()), errors: [] })
      }
    }
  }

  /** Repeats the steps of one attacker. While the shop or the gateway is down there is nothing to attack. */
  private async attack(attacker: Attacker, errors: string[]): Promise<void> {
    while (!this.isOver) {
      const startedMs = performance.now()
      try {
        await attacker.step()
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error)
        const isOurs = !this.world.faults.hadFault(startedMs, performance.now())
        const line = why.replaceAll(/\s+/g, ' ').slice(0, 160)
        if (isOurs && errors.length < maxErrorsKept && !errors.includes(line)) errors.push(line)
      }
      await Bun.sleep(Math.max(20, attacker.everyMs - (performance.now() - startedMs)))
    }
  }

  /** One part of the storm, and then a pause of the honest customers in which all books are compared. */
  private async runPart(faultMix: FaultMix, partMs: number): Promise<void> {
    const startedMs = performance.now()
    this.gate.reopen()
    await injectFaults(this.world, faultMix, this.dice, partMs)
    const problems: string[] = []
    if (!(await this.gate.close(stillWithinMs))) problems.push('honest customers did not come to rest')
    const settled = await Promise.all(this.customers.map((each) => settle(each, this.world)))
    problems.push(...settled.flatMap((each) => each.problems), ...this.findShared())
    const sum = (of: (each: (typeof settled)[number]) => number) => settled.reduce((total, each) => total + of(each), 0)
    for (const [at, customer] of this.customers.entries()) this.keep(customer, settled[at])
    const verify = await verifyAll(this.world.env)
    if (verify !== 'clean') problems.push(`verify: ${verify}`)
    const part: PartRow = {
      faultMix,
      seconds: Math.round((performance.now() - startedMs) / 1000),
      verify,
      exactBills: sum((each) => each.exact),
      boundedBills: sum((each) => each.bounded),
      unbilledBytes: sum((each) => each.unbilledBytes),
      shopMb: this.world.shop.memoryMb,
      gatewayMb: this.world.gateway.memoryMb,
      gatewayDescriptors: this.world.gateway.descriptors,
      problems,
    }
    this.parts.push(part)
    this.print(
      `${faultMix.padEnd(8)} ${part.seconds} s  verify ${verify}  bills exact ${part.exactBills}, within bounds ${part.boundedBills}` +
        `  unbilled ${part.unbilledBytes}  shop ${part.shopMb} MB  gateway ${part.gatewayMb} MB, ${part.gatewayDescriptors} descriptors`,
    )
    for (const problem of problems) this.print(`  WRONG ${problem}`)
  }

  private keep(customer: Customer, last: Settled | undefined): void {
    if (!last) return
    const before = this.settled.get(customer)
    const allExact = (before?.allExact ?? 0) + last.exact
    const allBounded = (before?.allBounded ?? 0) + last.bounded
    this.settled.set(customer, { ...last, allExact, allBounded })
  }

  private toHonestRows(): HonestRow[] {
    return [...this.settled].map(([{ name, bytes }, { purchases, usedBytes, allExact, allBounded }]) => {
      const sum = (of: 'min' | 'max') => [...bytes.values()].reduce((total, each) => total + each.relayed[of], 0)
      return {
        customer: name,
        ...purchases,
        exactBills: allExact,
        boundedBills: allBounded,
        relayedMin: sum('min'),
        relayedMax: sum('max'),
        billedBytes: usedBytes,
      }
    })
  }

  /** Dedicated addresses that were sold to two honest customers. */
  private findShared(): string[] {
    const owner = new Map<string, string>()
    return this.customers.flatMap(({ name, proxies }) =>
      [...proxies.values()].flatMap(({ ip, ipv, isSure }) => {
        if (ipv === 3 || !isSure) return []
        const other = owner.get(ip) ?? name
        owner.set(ip, name)
        return other === name ? [] : [`${ip} is ${name}'s and ${other}'s`]
      }),
    )
  }

  private async countAttackers(): Promise<AttackRow[]> {
    const rows: AttackRow[] = []
    for (const { attacker, errors } of this.attackers) {
      const { tried, gained, note } = await attacker.count()
      const bound = bounds[attacker.name]((performance.now() - this.openedMs) / 60_000)
      rows.push({ attacker: attacker.name, tried, gained, bound, unit: attacker.unit, note: note ?? '', errors })
    }
    for (const { attacker } of this.attackers) attacker.stop?.()
    return rows
  }

  private conclude(attackers: readonly AttackRow[], lastVerify: string): StormOutcome {
    const { quality, world } = this
    const problems = [
      ...this.parts.flatMap((part, number) =>
        part.problems.map((each) => `part ${number + 1} (${part.faultMix}): ${each}`),
      ),
      ...attackers.flatMap((row) => [
        ...(row.gained > row.bound ? [`${row.attacker}: ${row.gained} ${row.unit}, of ${row.bound}`] : []),
        ...(row.tried === 0 ? [`${row.attacker}: nothing was tried; ${row.errors.join('; ')}`] : []),
      ]),
      ...(lastVerify === 'clean' ? [] : [`verify at the end: ${lastVerify}`]),
      ...(quality.failedOutside > 0 ? [`honest customers were refused ${quality.failedOutside} times`] : []),
      ...[world.shop, world.gateway].flatMap(({ role, ownDeaths }) =>
        ownDeaths > 0 ? [`the ${role} died by itself ${ownDeaths} times`] : [],
      ),
    ]
    return {
      engine: this.options.engine,
      seed: this.options.seed,
      minutes: this.options.minutes,
      parts: this.parts,
      attackers,
      faults: world.faults.countOf(),
      honest: {
        customers: this.customers.length,
        orders: this.customers.reduce((sum, each) => sum + each.money.charged.size, 0),
        ...quality.service,
        usedBytes: [...this.settled.values()].reduce((sum, each) => sum + each.usedBytes, 0),
        rows: this.toHonestRows(),
      },
      machine: {
        lateTimes: world.machine.lateTimes,
        longestMs: world.machine.longestMs,
        busySeconds: Math.round(world.machine.busyMs / 1000),
      },
      logged: countErrors([world.shop.logFile, world.gateway.logFile]),
      problems,
      lastVerify,
    }
  }
}

/** The result of `turnpike verify`: `clean`, or its output. */
export async function verifyAll(env: Record<string, string>): Promise<string> {
  const { exit, out, err } = await runTurnpike(['verify'], env, verifyWithinMs)
  return exit === 0 ? 'clean' : `${out}${err}`.trim().slice(0, 1500)
}

/** Error lines of the logs, counted by event, path and fault. */
export function countErrors(files: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const line of files.flatMap((file) => readFileSync(file, 'utf8').split('\n'))) {
    if (!line.includes('"level":"error"')) continue
    const entry = JSON.parse(line) as { event: string; path?: string; job?: string; fault?: { message?: string } }
    const parts = [entry.event, entry.path, entry.job, entry.fault?.message?.slice(0, 100)]
    const what = parts.filter((part) => part !== undefined).join(' ')
    counts[what] = (counts[what] ?? 0) + 1
  }
  return counts
}
