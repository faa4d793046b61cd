import type { Services } from '../src/main/services.ts'

/** What is measured of premium proxies: how it is called, and what a run of it does. */
export type Measurement = {
  readonly name: string
  /** How many times it is run for one figure. */
  readonly runs: number
  /** How many of them are under way at once. */
  readonly atOnce: number
  readonly run: () => Promise<void>
}

type Shop = { readonly url: string; readonly token: string | undefined; readonly services: Services }

/**
 * The premium figures, over HTTP against a sandbox that is open: a list of a thousand proxies (promised under 50 ms), a purchase
 * of traffic, and a node's report with a wish, which is what a gateway costs the shop for every lease that it uses up.
 */
export async function premiumMeasurements(shop: Shop): Promise<readonly Measurement[]> {
  const call = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${shop.url}/api/v1${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${shop.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  const [customer] = await shop.services.customers.list('', 1)
  if (!customer) throw new Error('the sandbox has no customer')
  const { premium } = shop.services
  const { id: subuser } = await premium.subusers.load(customer.id, undefined)
  await call('/premium/traffic/buy', { pool_type: 'datacenter', gb: 500 })
  const pool = 'datacenter'
  let node = 0
  return [
    {
      name: 'generate 1,000 sticky proxies',
      runs: 200,
      atOnce: 1,
      run: async () =>
        void (await call('/premium/proxies/generate', { pool_type: 'residential', countries: ['US'], quantity: 1000 })),
    },
    {
      name: 'buy traffic',
      runs: 2000,
      atOnce: 32,
      run: async () => void (await call('/premium/traffic/buy', { pool_type: 'datacenter', gb: 0.1 })),
    },
    {
      name: 'a node’s report with a lease',
      runs: 2000,
      atOnce: 32,
      async run() {
        node += 1
        await premium.intake.report({
          node: `bench-${node % 32}`,
          boot: 'b',
          counts: [{ subuser, pool, received: BigInt(node), sent: 0n }],
          wishes: [{ subuser, pool, turn: node, want: 'lease' }],
        })
      },
    },
  ]
}

/** Runs one measurement and tells its rate and its times, in milliseconds. */
export async function measure(of: Measurement): Promise<{ name: string; perSecond: number; p50: number; p99: number }> {
  const times: number[] = []
  let started = 0
  const startedMs = performance.now()
  const worker = async (): Promise<void> => {
    while (started < of.runs) {
      started += 1
      const beforeMs = performance.now()
      await of.run()
      times.push(performance.now() - beforeMs)
    }
  }
  await Promise.all(Array.from({ length: of.atOnce }, worker))
  const tookMs = performance.now() - startedMs
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  return { name: of.name, perSecond: (times.length / tookMs) * 1000, p50: at(0.5), p99: at(0.99) }
}
