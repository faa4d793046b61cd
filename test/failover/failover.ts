import { openByteOrigin } from '../harness/byte-origin.ts'
import { createDice } from '../harness/dice.ts'
import { introduce } from '../providers/shop.ts'
import { openActors } from '../storm/actor.ts'
import { netAddresses } from '../storm/fleet/net.ts'
import { FleetWorld } from '../storm/fleet/world.ts'
import { Gate, Quality } from '../storm/quality.ts'
import { settleMoney, settleTraffic } from '../storm/settle.ts'
import { countErrors, verifyAll } from '../storm/storm.ts'
import { Cluster } from './cluster.ts'
import { beginFault, type DatabaseFault, databaseFaults } from './faults.ts'
import { Buyer, DirectWriters } from './load.ts'

export type FailoverOptions = {
  readonly rounds: number
  readonly seed: number
  readonly only?: readonly DatabaseFault[]
  readonly print: (line: string) => void
}

type Round = { readonly what: DatabaseFault; readonly resumedMs: number; readonly problems: readonly string[] }
export type FailoverOutcome = {
  readonly rounds: readonly Round[]
  readonly purchases: number
  readonly payments: number
  readonly usedBytes: number
  readonly directWrites: number
  /** Error lines of the processes, by event. */
  readonly logged: Record<string, number>
  readonly problems: readonly string[]
}

const shops = 2
const size = { gateways: 2, shops, ranges: 40 }
const customers = 4
/** Purchases and repeats a second, of all customers together. */
const perSecond = 6
/** Purchases resume within this time after the fault, or after its end where no other server may lead. */
const resumeWithinMs = 30_000
const healthyWithinMs = 120_000
const stillWithinMs = 120_000
/** Between two faults, so that there is something to lose. */
const calmMs = 2_000
/** The books are compared after so many rounds. */
const settleEvery = 10

/** Faults of the database under a load of purchases, payments and relayed bytes. */
export async function runFailover(options: FailoverOptions): Promise<FailoverOutcome> {
  let cluster: Cluster | undefined
  const world = await FleetWorld.open('postgres', size, {
    database: async () => {
      const opened = await Cluster.open(shops)
      cluster = opened
      const envs = opened.urls.map(({ primary, standby }) => ({
        TURNPIKE_DATABASE_URL: primary,
        TURNPIKE_DATABASE_READ_URL: standby,
      }))
      return { envs, stop: () => opened.close() }
    },
  })
  const origin = openByteOrigin(netAddresses.origin)
  const { side } = await world.operate((services) => introduce(services, 'crypto_pay'))
  try {
    if (!cluster) throw new Error('there is no cluster')
    return await new Failover(options, world, cluster, { origin, side }).run()
  } finally {
    origin.stop()
    await side.stop()
    await world.close()
  }
}

class Failover {
  private readonly gate = new Gate()
  private readonly rounds: Round[] = []
  private buyers: Buyer[] = []
  private usedBytes = 0

  constructor(
    private readonly options: FailoverOptions,
    private readonly world: FleetWorld,
    private readonly cluster: Cluster,
    private readonly others: Pick<ConstructorParameters<typeof Buyer>[2], 'origin' | 'side'>,
  ) {}

  async run(): Promise<FailoverOutcome> {
    const { world, gate, cluster, others } = this
    const { seed, only = databaseFaults } = this.options
    const quality = new Quality(world)
    const open = { count: customers, seed, perSecond, world }
    this.buyers = await openActors(
      open,
      (name, account, own) => new Buyer(name, account, { world, gate, quality, ...others, ...own }),
    )
    const writers = new DirectWriters(cluster.nodes)
    const busy = this.buyers.flatMap((each) => [each.trade(), each.use(), each.pay()])
    const dice = createDice(seed)
    let left: DatabaseFault[] = []
    for (let number = 1; number <= this.options.rounds; number += 1) {
      // Each kind occurs once before any occurs twice.
      if (left.length === 0) left = [...only]
      const [what = 'leader killed'] = left.splice(dice(left.length), 1)
      await world.faults.during(what, () => this.round(number, what, writers))
    }
    const problems = await this.settle()
    gate.end()
    await Promise.all(busy)
    await writers.stop()
    const sum = (of: (each: Buyer) => number) => this.buyers.reduce((total, each) => total + of(each), 0)
    return {
      rounds: this.rounds,
      purchases: sum(({ money }) => money.charged.size),
      payments: sum(({ payments }) => payments),
      usedBytes: this.usedBytes,
      logged: countErrors([...world.shops, ...world.gateways.map((each) => each.process)].map((each) => each.logFile)),
      directWrites: writers.confirmed.length,
      problems,
    }
  }

  private async round(number: number, what: DatabaseFault, writers: DirectWriters): Promise<void> {
    const problems: string[] = []
    const fromMs = performance.now()
    const fault = await beginFault(this.cluster, what)
    if (!fault.resumesBefore) await fault.heal()
    const hurtMs = performance.now()
    const resumedMs = await this.untilSold(hurtMs)
    if (resumedMs > resumeWithinMs) problems.push(`purchases resumed after ${resumedMs} ms`)
    if (fault.resumesBefore) await fault.heal()
    if (!(await this.untilHealthy())) problems.push(`the cluster was not whole after ${healthyWithinMs} ms`)
    // All that was answered in this round is there, at the leader of now.
    for (const buyer of this.buyers) {
      const keys = buyer.answered.splice(0).map(({ key }) => key)
      await buyer.repeat(keys)
    }
    const leader = await this.cluster.findLeader()
    const lost = leader ? await writers.findLost(leader) : ['all: there is no leader']
    if (lost.length > 0)
      problems.push(`${lost.length} writes that a server confirmed are lost: ${lost.slice(0, 5).join()}`)
    if (number % settleEvery === 0) problems.push(...(await this.settle()))
    problems.push(...this.buyers.flatMap((each) => each.problems.splice(0).map((text) => `${each.name}: ${text}`)))
    this.rounds.push({ what, resumedMs, problems })
    const seconds = Math.round((performance.now() - fromMs) / 1000)
    this.options.print(
      `${number}  ${what}: sold again after ${(resumedMs / 1000).toFixed(1)} s, whole after ${seconds} s`,
    )
    for (const problem of problems) this.options.print(`  WRONG ${problem}`)
    await Bun.sleep(calmMs)
  }

  /** How long it takes until a purchase is answered whose request was sent after this time. */
  private async untilSold(sinceMs: number): Promise<number> {
    const isSold = () => this.buyers.some((each) => each.answered.some(({ beganMs }) => beganMs > sinceMs))
    while (!isSold() && performance.now() - sinceMs < 3 * resumeWithinMs) await Bun.sleep(50)
    return Math.round(performance.now() - sinceMs)
  }

  private async untilHealthy(): Promise<boolean> {
    const giveUpAt = performance.now() + healthyWithinMs
    while (performance.now() < giveUpAt) {
      if (await this.cluster.isHealthy()) return true
      await Bun.sleep(300)
    }
    return false
  }

  /** Compares the books of all customers with the shop's, and runs `verify`. */
  private async settle(): Promise<string[]> {
    const problems: string[] = []
    if (!(await this.gate.close(stillWithinMs))) problems.push('customers did not come to rest')
    this.usedBytes = 0
    for (const buyer of this.buyers) {
      const [money, traffic] = [await settleMoney(buyer), await settleTraffic(buyer, this.world)]
      problems.push(...[...money.problems, ...traffic.problems].map((each) => `${buyer.name}: ${each}`))
      this.usedBytes += traffic.usedBytes
    }
    const verify = await verifyAll(this.world.env)
    if (verify !== 'clean') problems.push(`verify: ${verify}`)
    this.gate.reopen()
    return problems
  }
}
