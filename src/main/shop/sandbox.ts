import shippedCatalogue from '../../domains/pricing/catalogue.yaml'
import { kopecks } from '../../kernel/money.ts'
import { sandboxExits } from './sandbox-exits.ts'
import { stockSandbox } from './sandbox-stock.ts'
import type { Services } from './services.ts'

/** What a sandbox's customer starts with: 100,000 roubles. */
const startingBalance = kopecks(10_000_000n)

/**
 * Opens an empty shop as a sandbox: prices, a VPN node, and one customer with money and a token. Returns the token's text when this call opened
 * it. A shop that has been opened stays what it is.
 */
export async function openSandbox(services: Services, fixedToken: string | undefined): Promise<string | undefined> {
  const { db, customers, ledger, pricing, fleet, premium } = services
  const opened = await db.transact(async (tx) => {
    if (!(await customers.decideMode(tx, 'sandbox'))) return undefined
    await pricing.apply(tx, shippedCatalogue)
    premium.exits.add(tx, sandboxExits())
    // Nobody runs it yet: what is bought is real and says that its node is offline.
    await fleet.add(tx, { kind: 'vpn', name: 'local', location: 'local' })
    const customer = await customers.addCustomer(tx, 'sandbox')
    await ledger.credit(tx, customer.id, startingBalance, 'sandbox', 'sandbox money')
    return customers.giveSandboxToken(tx, customer.id, fixedToken)
  })
  if ((await customers.mode()) === 'sandbox') await stockSandbox(services)
  if (fixedToken !== undefined) await customers.admitSandboxToken(fixedToken)
  return opened
}

/** What a newcomer reads first. Every command works as it is, pasted into a shell. */
export function banner(baseUrl: string, token: string | undefined): string {
  const lines = [`Turnpike is open at ${baseUrl}`, `  docs  ${baseUrl}/docs`, `  API   ${baseUrl}/api/v1`]
  if (token === undefined) return `${lines.join('\n')}\n`
  return `${[
    ...lines,
    '',
    'This is a sandbox: a customer with 100,000 roubles that are not real. Its token, shown this once:',
    '',
    `  export TOKEN='${token.replaceAll("'", `'\\''`)}'`,
    '',
    'Try:',
    '',
    `  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/api/v1/balance`,
    `  curl -H "Authorization: Bearer $TOKEN" '${baseUrl}/api/v1/dedicated/quote?country_code=DE&period=30&count=2&ipv=4'`,
    `  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -H 'Idempotency-Key: first' \\`,
    `    -d '{"country_code":"DE","period":30,"count":2,"ipv":4}' ${baseUrl}/api/v1/dedicated/buy`,
  ].join('\n')}\n`
}
