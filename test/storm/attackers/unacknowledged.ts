import { maxLost } from '../../../src/dataplane/gateway/metering/losses.ts'
import { bytesOf } from '../books.ts'
import { Shopper } from '../shopper.ts'
import type { AttackDeps, Attacker } from './attacker.ts'

export type StealthyFetch = {
  readonly gatewayPort: number
  readonly username: string
  readonly password: string
  readonly target: string
  readonly firstLine: string
  readonly bytes: number
  readonly how: 'silent' | 'selective'
}

/**
 * A client with a user-space TCP: it fetches bytes through the gateway without normal acknowledgements, and returns how
 * many it has received.
 */
export type StealthyClient = {
  fetch(ask: StealthyFetch): Promise<{ readonly taken: number }>
  close(): Promise<void>
}

const pool = 'datacenter'
const atOnce = 4
const bytesEach = 1_000_000
/** Longer than the gateway's report interval; and longer than a process is down or paused. */
const billWithinMs = 2_500
const billAtLastWithinMs = 25_000

/** Fetches bytes that are never acknowledged, or only selectively: received bytes minus billed bytes. */
export async function openUnacknowledged(
  { world, origin, dice }: AttackDeps,
  client: StealthyClient,
): Promise<Attacker> {
  const { token } = await world.addAccount('acknowledges nothing', 10_000n)
  const shopper = new Shopper(world, token)
  await shopper.post('/premium/traffic/buy', { pool_type: pool, gb: 20 }, { key: 'first' })
  const { data: secret } = await shopper.get('/premium/password')
  /** Unbilled bytes by process of the gateway. */
  const gains = new Map<number, number>()
  const sums = { tried: 0, taken: 0, billed: 0, inKills: 0 }

  async function fetchOne(how: StealthyFetch['how']): Promise<number> {
    sums.tried += 1
    const firstLine = `stealthy-${sums.tried}`
    origin.expect({ id: firstLine, up: 1, down: bytesEach, afterwards: 'stay' })
    try {
      const { taken } = await client.fetch({
        gatewayPort: world.gatewayPort,
        username: `${secret.login}-pool-${pool}`,
        password: secret.password,
        target: origin.host,
        firstLine,
        bytes: bytesEach,
        how,
      })
      return taken + Math.max(0, origin.arrived(firstLine))
    } finally {
      origin.finish(firstLine)
      origin.forget(firstLine)
    }
  }

  async function readBilled(): Promise<number | undefined> {
    const { status, data } = await shopper.get(`/premium/traffic/balance?pool_type=${pool}`)
    return status === 200 ? bytesOf(data.used_gb) : undefined
  }

  const here = () => ({ bytes: 0, kills: world.faults.gatewayKills.length, gatewayPid: world.gateway.pid ?? 0 })
  /** Bytes fetched since the last known bill, and the gateway process that sent them. */
  let pending = here()

  async function holdAgainstBill(): Promise<void> {
    const giveUpAt = performance.now() + billAtLastWithinMs
    await Bun.sleep(billWithinMs)
    let billed = await readBilled()
    // Negative if a late bill of an earlier step has arrived.
    const gainBy = (bill: number) => pending.bytes - (bill - sums.billed)
    // More than these connections, or this gateway process, may leave unbilled: the bill may only be late.
    const isTooMuch = (bill: number): boolean =>
      gainBy(bill) > atOnce * maxLost.ofConnection ||
      (gains.get(pending.gatewayPid) ?? 0) + gainBy(bill) > maxLost.ofOwner
    while (performance.now() < giveUpAt && (billed === undefined || isTooMuch(billed))) {
      await Bun.sleep(500)
      billed = await readBilled()
    }
    if (billed === undefined) return
    const { kills, gatewayPid } = pending
    // Losses by a kill are bounded elsewhere, by the losses of honest customers.
    if (world.faults.gatewayKills.length > kills) sums.inKills += gainBy(billed)
    else gains.set(gatewayPid, (gains.get(gatewayPid) ?? 0) + gainBy(billed))
    sums.billed = billed
    pending = here()
  }

  return {
    name: 'bytes not acknowledged',
    unit: "bytes taken and not billed in one gateway's life",
    everyMs: 4_000,
    async step() {
      if (pending.bytes === 0) pending = here()
      const how = dice(2) === 0 ? 'silent' : 'selective'
      const taken = await Promise.allSettled(Array.from({ length: atOnce }, () => fetchOne(how)))
      const sum = taken.reduce((total, each) => total + (each.status === 'fulfilled' ? each.value : 0), 0)
      sums.taken += sum
      pending.bytes += sum
      await holdAgainstBill()
    },
    async count() {
      await holdAgainstBill()
      const { tried, taken, billed, inKills } = sums
      const note = `${taken} taken, ${billed} billed, ${inKills} of the rest lost in kills`
      return { tried, gained: Math.max(0, ...gains.values()), note }
    },
    stop: () => void client.close(),
  }
}
