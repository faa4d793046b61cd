import type { Services } from '../src/app/shop/services.ts'
import type { CustomerId, TokenId } from '../src/core/ids.ts'
import { kopecks } from '../src/core/money.ts'
import catalogue from '../src/domains/pricing/catalogue.yaml'

/** A customer of a bench. Its id contains a number, so that pgbench can name the same customer. */
export type Person = {
  readonly customer: CustomerId
  readonly token: {
    readonly id: TokenId
    readonly cap: null
    /** As after authentication. */
    readonly seen: { readonly expiresAt: null; readonly revocationEpoch: 0 }
  }
}

const idOf = (prefix: string, number: number): string => `${prefix}_${String(number).padStart(26, '0')}`

/** The same id in SQL. */
export const customerIdSql = (number: string): string => `'cus_' || lpad(CAST(${number} AS text), 26, '0')`
export const tokenIdSql = (number: string): string => `'tok_' || lpad(CAST(${number} AS text), 26, '0')`

/** Enough for every purchase of the longest run: a hundred million roubles. */
const money = kopecks(10_000_000_000n)

/** Customers number 1 to `count`, each with enough money, in a shop that has prices. */
export async function addPeople(services: Services, count: number): Promise<Person[]> {
  const { db, customers, ledger, pricing } = services
  await db.transact(async (tx) => {
    await customers.decideMode(tx, 'production')
    await pricing.apply(tx, catalogue)
  })
  const people = Array.from({ length: count }, (_, index) => personNumber(index + 1))
  for (const { customer, token } of people) {
    await db.transact(async (tx) => {
      tx.send('INSERT INTO customers (id, name, created_at, blocked_at) VALUES ($1, $2, $3, NULL)', [
        customer,
        'bench',
        Date.now(),
      ])
      tx.send(
        `INSERT INTO tokens (id, customer_id, digest, hint, name, scopes, allowed_from, created_at)
         VALUES ($1, $2, $3, 'tp_live_', 'bench', 'read trade', '', $4)`,
        [token.id, customer, new TextEncoder().encode(token.id), Date.now()],
      )
      ledger.open(tx, customer)
      await ledger.credit(tx, customer, money, 'operator', 'bench')
    })
  }
  return people
}

export const personNumber = (number: number): Person => ({
  customer: idOf('cus', number) as CustomerId,
  token: { id: idOf('tok', number) as TokenId, cap: null, seen: { expiresAt: null, revocationEpoch: 0 } },
})

/** A token for each customer, as text. Each is its own row, so that shops do not look up one cached token. */
export async function issueTokens(services: Services, count: number): Promise<string[]> {
  const texts: string[] = []
  for (let number = 1; number <= count; number += 1) {
    const { text } = await services.customers.issueToken(personNumber(number).customer, { name: 'bench' })
    texts.push(text)
  }
  return texts
}
