import { createVault } from '../../src/adapters/crypto.ts'
import { createServices, realRuntime } from '../../src/app/shop/services.ts'
import type { CustomerId, SubuserId } from '../../src/core/ids.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { openDatabase } from '../../src/db/open.ts'
import { shippedTerms } from '../../src/domains/premium/rules.ts'

/**
 * A shop that sells traffic until it is killed. It prints each answered order, and `relayed` each time relayed bytes
 * were booked.
 */
const [address = '', customer = '', from = '', to = '', run = ''] = process.argv.slice(2)
const { premium } = createServices(openDatabase(address), realRuntime, {
  vault: createVault(new Uint8Array(32).fill(7)),
  gateway: { host: 'gw.example.net', address: '198.51.100.1', port: 10_800 },
  premium: { ...shippedTerms, leaseBytes: 10_000_000n },
})
// No gateway reports the state of exits here.
premium.exits.isServed = async () => true
const by = { customer: customer as CustomerId, token: null }
const request = { by, key: undefined, toBody: (bought: { order: string }) => bought.order }

async function trade(): Promise<void> {
  for (;;) {
    const bought = await premium.traffic.buy(request, { pool: 'residential', tenths: 1, subuser: from as SubuserId })
    process.stdout.write(`${bought.body}\n`)
    const order = { pool: 'residential', tenths: 1, from: from as SubuserId, to: to as SubuserId }
    await premium.traffic.move(request, order).catch(expected)
  }
}

async function relay(node: string): Promise<void> {
  const subuser = to as SubuserId
  let relayed = 0n
  for (let turn = 1; ; turn += 1) {
    const want = turn % 5 === 0 ? ('return' as const) : ('lease' as const)
    const { allowances } = await premium.metering.takeReport({
      node,
      boot: run,
      counts: [{ subuser, pool: 'residential', received: relayed, sent: 0n }],
      leaseRequests: [{ subuser, pool: 'residential', turn, want }],
    })
    if (relayed > 0n) process.stdout.write('relayed\n')
    relayed = allowances[0]?.upto ?? relayed
  }
}

function expected(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}

await Promise.all([trade(), trade(), relay('k1'), relay('k2'), relay('k3')])
