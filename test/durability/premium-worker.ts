import { createVault } from '../../src/adapters/vault.ts'
import { createServices, realRuntime } from '../../src/app/shop/services.ts'
import type { CustomerId, SubuserId } from '../../src/core/ids.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { openDatabase } from '../../src/db/open.ts'
import { shippedTerms } from '../../src/domains/premium/rules.ts'

/**
 * A shop that trades in bytes until it is killed. Prints each order once it has been answered, and `carried` each time
 * carried bytes were booked.
 */
const [address = '', customer = '', from = '', to = '', run = ''] = process.argv.slice(2)
const { premium } = createServices(openDatabase(address), realRuntime, {
  vault: createVault(new Uint8Array(32).fill(7)),
  gateway: { host: 'gw.example.net', address: '198.51.100.1', port: 10_800 },
  premium: { ...shippedTerms, leaseBytes: 10_000_000n },
})
// There are no gateways here that could say how exits are.
premium.exits.isCarried = async () => true
const by = { customer: customer as CustomerId, token: null }
const request = { by, key: undefined, toBody: (bought: { order: string }) => bought.order }

async function trade(): Promise<void> {
  for (;;) {
    const bought = await premium.traffic.buy(request, { pool: 'residential', tenths: 1, subuser: from as SubuserId })
    process.stdout.write(`${bought.body}\n`)
    const wish = { pool: 'residential', tenths: 1, from: from as SubuserId, to: to as SubuserId }
    await premium.traffic.move(request, wish).catch(expected)
  }
}

async function carry(node: string): Promise<void> {
  const subuser = to as SubuserId
  let carried = 0n
  for (let turn = 1; ; turn += 1) {
    const want = turn % 5 === 0 ? ('return' as const) : ('lease' as const)
    const { allowances } = await premium.metering.takeReport({
      node,
      boot: run,
      counts: [{ subuser, pool: 'residential', received: carried, sent: 0n }],
      wishes: [{ subuser, pool: 'residential', turn, want }],
    })
    if (carried > 0n) process.stdout.write('carried\n')
    carried = allowances[0]?.upto ?? carried
  }
}

function expected(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}

await Promise.all([trade(), trade(), carry('k1'), carry('k2'), carry('k3')])
