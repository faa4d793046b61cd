import type { Services } from '../src/app/shop/services.ts'
import { readPrefix } from '../src/core/address.ts'
import type { CountryCode } from '../src/core/country.ts'
import { toRequest } from './measure.ts'
import { addPeople, issueTokens } from './people.ts'
import { purchaseInput } from './reference-purchase.ts'
import type { ShopProcess } from './shop-process.ts'
import { type BenchDatabase, type Engine, engineName, type Stage, withServices } from './stage.ts'

export const people = 200
export const million = 1_048_576
/** A block that an operator adds with one command, a /21. */
export const blockSize = 2_048
export const tenThousand = 5 * blockSize

export type Stocked = {
  readonly database: BenchDatabase
  readonly shop: ShopProcess
  readonly tokens: readonly string[]
}

const kind = { country: purchaseInput.country as CountryCode, ipv: purchaseInput.ipv }

/** A shop with customers and so many addresses on sale, on a copy of a database that is filled once per run. */
export async function openStocked(
  stage: Stage,
  engine: Engine,
  addresses: number,
  say: (text: string) => void,
  env: Record<string, string> = {},
): Promise<Stocked> {
  const database = await stage.makePrepared(engine, String(addresses), async (services) => {
    const startedMs = performance.now()
    await addPeople(services, people)
    await restock(services, 0, addresses)
    const tookSeconds = ((performance.now() - startedMs) / 1000).toFixed(1)
    say(`  ${engineName[engine]}: ${addresses} addresses put in stock in ${tookSeconds} s`)
  })
  const tokens = await withServices(database, (services) => issueTokens(services, people))
  const shop = await stage.startShop(database, { TURNPIKE_SANDBOX: 'off', ...env })
  return { database, shop, tokens }
}

/** Puts addresses number `from` to `from + count` on sale, block by block. They are only rows without traffic. */
export async function restock(services: Services, from: number, count: number): Promise<void> {
  const size = count === million ? million : blockSize
  for (let at = from; at < from + count; at += size) {
    const block = readPrefix(`10.${at >> 16}.${(at >> 8) & 255}.0/${32 - Math.log2(size)}`)
    if (!block) throw new Error(`number ${at} does not begin a block`)
    await services.stock.add(block, kind)
  }
}

/** The purchase request of so many proxies, once for each customer. */
export const buyRequests = (tokens: readonly string[], count: number): string[] =>
  tokens.map((token) =>
    toRequest({
      method: 'POST',
      path: '/dedicated/buy',
      token,
      body: { country_code: purchaseInput.country, period: purchaseInput.period, count, ipv: purchaseInput.ipv },
    }),
  )
