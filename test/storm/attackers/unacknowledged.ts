import { bytesOf } from '../books.ts'
import { Shopper } from '../shopper.ts'
import type { AttackDeps, Attacker } from './attacker.ts'

/**
 * A client with a TCP of its own, in user space: it fetches so many bytes through the gateway without acknowledging
 * them as a system would, and tells how many of them it has.
 */
export type StealthyClient = {
  fetch(ask: {
    readonly gatewayPort: number
    readonly username: string
    readonly password: string
    readonly target: string
    readonly firstLine: string
    readonly bytes: number
    readonly how: 'silent' | 'selective'
  }): Promise<{ readonly taken: number }>
  close(): Promise<void>
}

/** Bytes that arrive and are never acknowledged, or only selectively: what was taken less what was billed. */
export async function openUnacknowledged(
  { world, origin, dice }: AttackDeps,
  client: StealthyClient,
): Promise<Attacker> {
  const { token } = await world.addAccount('acknowledges nothing', 10_000n)
  const shopper = new Shopper(world, token)
  const pool = 'datacenter'
  await shopper.post('/premium/traffic/buy', { pool_type: pool, gb: 10 }, { key: 'first' })
  const { data: secret } = await shopper.get('/premium/password')
  let tried = 0
  let taken = 0
  return {
    name: 'bytes not acknowledged',
    unit: 'bytes taken and not billed',
    everyMs: 2_000,
    async step() {
      tried += 1
      const firstLine = `stealthy-${tried}`
      origin.expect({ id: firstLine, up: 1, down: 2_000_000, afterwards: 'stay' })
      try {
        const got = await client.fetch({
          gatewayPort: world.gatewayPort,
          username: `${secret.login}-pool-${pool}`,
          password: secret.password,
          target: origin.host,
          firstLine,
          bytes: 2_000_000,
          how: dice(2) === 0 ? 'silent' : 'selective',
        })
        taken += got.taken
      } finally {
        origin.finish(firstLine)
        origin.forget(firstLine)
      }
    },
    async count() {
      await Bun.sleep(5_000)
      const { data } = await shopper.get(`/premium/traffic/balance?pool_type=${pool}`)
      const billed = bytesOf(data.used_gb ?? 0)
      return { tried, gained: Math.max(0, taken - billed), note: `${taken} taken, ${billed} billed` }
    },
    stop: () => void client.close(),
  }
}
