import { readPrefix } from '../../core/address.ts'
import { readCountry } from '../../core/country.ts'
import { kopecks } from '../../core/money.ts'
import type { Customers } from '../../domains/customers/index.ts'
import type { Fleet } from '../../domains/fleet/index.ts'
import type { Ledger } from '../../domains/ledger/index.ts'
import type { Operators } from '../../domains/operators/index.ts'
import type { Premium } from '../../domains/premium/index.ts'
import type { Pricing } from '../../domains/pricing/index.ts'
import type { SignIn } from '../../domains/signin/index.ts'
import type { Stock } from '../../domains/stock/index.ts'
import type { Ipv } from '../../domains/stock/rules.ts'
import type { Transacting } from '../jobs.ts'
import { sandboxExits } from './exits.ts'

type SandboxServices = {
  readonly db: Transacting
  readonly customers: Customers
  readonly fleet: Fleet
  readonly ledger: Ledger
  readonly premium: Premium
  readonly pricing: Pricing
  readonly stock: Stock
}

/** The first token's text until its owner has seen it, written before the row: a failed start loses nothing. */
export type UnshownToken = {
  find(): string | undefined
  /** The text that is there, or one that is made now. */
  take(make: () => string): string
}

/** 100,000 roubles. */
const startingBalance = kopecks(10_000_000n)

/**
 * Opens an empty shop as a sandbox: prices, exits, a VPN node, and one customer with money and a token (`fixedToken` if
 * given). Returns the token's text if this call opened the sandbox or its owner has not seen it yet. An opened shop
 * keeps its mode; a sandbox whose first start was interrupted is completed.
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
    // Until a VPN node runs, a subscription shows its node as offline.
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

const countries = ['DE', 'FR', 'GB', 'NL', 'RU', 'US'].flatMap((code) => readCountry(code) ?? [])

/**
 * Stock on loopback addresses, which every machine can bind, and on a unique local IPv6 prefix. IPv4 blocks are `/22`,
 * of 1,024 addresses; tests use smaller ones. If the last block exists, all were added.
 */
export async function stockSandbox(stock: Stock, length4 = 22): Promise<void> {
  const blocksOf = (ipv: Ipv, toPrefix: (index: number) => string) =>
    countries.map((country, index) => ({ prefix: readPrefix(toPrefix(index)), kind: { country, ipv } }))
  const blocks = [
    ...blocksOf(4, (index) => `127.${10 + index}.0.0/${length4}`),
    ...blocksOf(3, (index) => `127.${20 + index}.0.0/${length4}`),
    ...blocksOf(6, (index) => `fd74:7069:6b65:${index + 1}::/64`),
  ]
  const last = blocks.at(-1)?.prefix
  if (!last || (await stock.hasBlock(last))) return
  for (const { prefix, kind } of blocks) if (prefix) await stock.add(prefix, kind)
}

/** One-time links that open a sandbox as its customer and as its operator. */
type SandboxLinks = { readonly customer: string; readonly operator: string }

/** Makes both links at every start, for the terminal. Undefined for a shop that is not a sandbox. */
export async function makeSandboxLinks(deps: {
  readonly db: Transacting
  readonly customers: Customers
  readonly operators: Operators
  readonly signIn: SignIn
}): Promise<SandboxLinks | undefined> {
  const customer = await deps.customers.findSandboxCustomer()
  if (customer === undefined) return undefined
  const known = (await deps.operators.list()).find((each) => each.name === 'sandbox')
  return deps.db.transact(async (tx) => {
    const operator = known ?? (await deps.operators.add(tx, 'sandbox', 'owner'))
    return {
      customer: deps.signIn.issueLink(tx, { kind: 'customer', owner: customer, purpose: 'enter' }).text,
      operator: deps.signIn.issueLink(tx, { kind: 'operator', owner: operator.id, purpose: 'enter' }).text,
    }
  })
}
