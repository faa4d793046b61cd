import { kopecks } from '../../core/money.ts'
import type { Customers } from '../../domains/customers/index.ts'
import type { Fleet } from '../../domains/fleet/index.ts'
import type { Ledger } from '../../domains/ledger/index.ts'
import type { Premium } from '../../domains/premium/index.ts'
import type { Pricing } from '../../domains/pricing/index.ts'
import type { Stock } from '../../domains/stock/index.ts'
import type { Transacting } from '../chores.ts'
import { sandboxExits } from './exits.ts'
import { stockSandbox } from './stock.ts'

export type SandboxServices = {
  readonly db: Transacting
  readonly customers: Customers
  readonly fleet: Fleet
  readonly ledger: Ledger
  readonly premium: Premium
  readonly pricing: Pricing
  readonly stock: Stock
}

/**
 * Where the text of the first token is until its owner has seen it: it is written down before the database hears of
 * it, so that a start which fails half-way loses nothing.
 */
export type UnshownToken = {
  find(): string | undefined
  /** The text that is there, or one that is made now. */
  take(make: () => string): string
}

/** What a sandbox's customer starts with: 100,000 roubles. */
const startingBalance = kopecks(10_000_000n)

/**
 * Opens an empty shop as a sandbox: prices, exits, a VPN node, and one customer with money and a token, which is
 * `fixedToken` if there is one. Returns the token's text when this call opened it, or when nobody has seen it yet. A
 * shop that has been opened stays what it is; a sandbox whose first start was cut short is made good.
 */
export async function openSandbox(
  services: SandboxServices,
  catalogue: unknown,
  fixedToken: string | undefined,
  unshown: UnshownToken,
): Promise<string | undefined> {
  const { db, customers, ledger, pricing, fleet, premium, stock } = services
  const isNew = (await customers.mode()) === undefined
  const text = fixedToken ?? (isNew ? unshown.take(customers.makeSandboxToken) : unshown.find())
  const isOpened = await db.transact(async (tx) => {
    if (text === undefined || !(await customers.decideMode(tx, 'sandbox'))) return false
    await pricing.apply(tx, catalogue)
    premium.exits.add(tx, sandboxExits())
    // Nobody runs it yet: what is bought is real and says that its node is offline.
    await fleet.add(tx, { kind: 'vpn', name: 'local', location: 'local' })
    const customer = await customers.addCustomer(tx, 'sandbox')
    await ledger.credit(tx, customer.id, startingBalance, 'sandbox', 'sandbox money')
    customers.giveSandboxToken(tx, customer.id, text)
    return true
  })
  if ((await customers.mode()) === 'sandbox') await stockSandbox(stock)
  if (fixedToken !== undefined) await customers.admitSandboxToken(fixedToken)
  if (isOpened) return text
  return fixedToken === undefined && text !== undefined && (await customers.isToken(text)) ? text : undefined
}
