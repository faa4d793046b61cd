import { type Audit, attempt, type Finding, type Verifier } from '../../core/finding.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { Orders } from '../orders/index.ts'
import type { Order, Plain } from '../orders/rules.ts'
import type { Pricing } from '../pricing/index.ts'
import { type Catalogue, priceDedicated, priceProlonging } from '../pricing/rules.ts'
import type { StockOperator } from '../stock/index.ts'
import type { WalkedLease } from '../stock/rules.ts'
import type { Traffic } from '../traffic/index.ts'
import { type Outage, problemsOfTerm } from './outages/rules.ts'
import type { Outages } from './outages/service.ts'
import { type Proxy, subjectPrefix, vaultContext } from './rules.ts'
import { problemsOfLeases, problemsOfProxy } from './rules-audit.ts'
import * as store from './store.ts'

const page = 500

/** Recomputes the promises about dedicated proxies: places, leases, terms and prices. */
export function createDedicatedVerifier(deps: {
  db: Database
  orders: Orders
  outages: Pick<Outages, 'all'>
  pricing: Pricing
  stockOperator: StockOperator
  vault: Vault
  traffic: Pick<Traffic, 'counts'>
  sha256: (text: string) => Uint8Array
  /** The next number that a counter gives out. */
  numbers: (reader: Reader, counter: string) => Promise<number>
}): Verifier {
  return {
    name: 'dedicated',
    verify: () =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        const proxies = await readProxies(reader)
        const sold = await checkOrders(reader, deps, findings)
        const outages = await deps.outages.all(reader)
        for (const id of outages.keys()) {
          if (!proxies.has(id))
            findings.push({ promise: 'term', where: `outage of proxy ${id}`, problem: 'it has no proxy' })
        }
        for (const proxy of proxies.values()) {
          const where = `proxy ${proxy.id}`
          await attempt(findings, { promise: 'delivery', where }, () => {
            findings.push(...checkProxy(proxy, sold, outages.get(proxy.id) ?? [], deps))
          })
        }
        checkHeld(proxies, findings)
        const leases = new Map<number, WalkedLease[]>()
        const stock = await deps.stockOperator.verify(reader, (lease) => {
          leases.set(lease.proxy, [...(leases.get(lease.proxy) ?? []), lease])
          return checkLease(lease, proxies.get(lease.proxy))
        })
        findings.push(...stock.findings)
        for (const proxy of proxies.values()) {
          for (const problem of new Set(problemsOfLeases(proxy, leases.get(proxy.id) ?? []))) {
            findings.push({ promise: 'lease', where: `proxy ${proxy.id}`, problem })
          }
        }
        findings.push(...(await checkCounts(reader, deps.traffic, proxies)))
        findings.push(...(await checkCounter(reader, deps.numbers, proxies)))
        for (const [order, { count }] of sold.bought) {
          if (count !== 0)
            findings.push({
              promise: 'delivery',
              where: `order ${order}`,
              problem: `${count} proxies of it are missing`,
            })
        }
        return { findings, covered: { proxies: proxies.size, places: stock.places, leases: stock.leases } }
      }),
  }
}

async function readProxies(reader: Reader): Promise<Map<number, Proxy>> {
  const proxies = new Map<number, Proxy>()
  for (let after = -1; ; ) {
    const batch = await store.proxiesAfter(reader, after, page)
    for (const proxy of batch) proxies.set(proxy.id, proxy)
    const last = batch.at(-1)
    if (!last || batch.length < page) return proxies
    after = last.id
  }
}

/** Whatever nodes have counted for was sold. */
async function checkCounts(
  reader: Reader,
  { counts }: Pick<Traffic, 'counts'>,
  proxies: ReadonlyMap<number, Proxy>,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (let after = ''; ; ) {
    const subjects = await counts.subjects(reader, subjectPrefix, after, page)
    const unknown = subjects.filter((subject) => !proxies.has(Number(subject.slice(subjectPrefix.length))))
    for (const where of unknown) {
      findings.push({ promise: 'delivery', where, problem: 'nodes have counted for it, and it is not there' })
    }
    const last = subjects.at(-1)
    if (last === undefined || subjects.length < page) return findings
    after = last
  }
}

/** A number that is given out again would be two proxies'. */
async function checkCounter(
  reader: Reader,
  numbers: (reader: Reader, counter: string) => Promise<number>,
  proxies: ReadonlyMap<number, Proxy>,
): Promise<Finding[]> {
  const next = await numbers(reader, 'proxy')
  const last = [...proxies.keys()].at(-1) ?? -1
  return last < next ? [] : [{ promise: 'counter', where: 'counter proxy', problem: `it gives out ${next} again` }]
}

/**
 * What the orders say was sold: how many proxies each buys, and until when each proxy runs after its last prolonging.
 */
type Sold = {
  readonly bought: Map<string, Bought>
  readonly until: Map<number, number[]>
  /** When each proxy was prolonged. */
  readonly prolongedAt: Map<number, number[]>
}

type Bought = {
  readonly customer: string
  readonly at: number
  count: number
  readonly expiresAt: number
  readonly country: string
  readonly ipv: number
}

type BuyNote = {
  catalogue: number
  country: string
  ipv: number
  period: number
  count: number
  kopecks: string
  expires_at: number
}
type ProlongNote = {
  catalogue: number
  lines: { country: string; ipv: number; period: number; count: number; kopecks: string }[]
  proxies: [id: number, expiresAt: number][]
}

async function checkOrders(
  reader: Reader,
  deps: { orders: Orders; pricing: Pricing },
  findings: Finding[],
): Promise<Sold> {
  const sold: Sold = { bought: new Map(), until: new Map(), prolongedAt: new Map() }
  await deps.orders.walk(reader, 'dedicated', async (order) => {
    const version = (order.calculation as { catalogue?: Plain } | null)?.catalogue
    const catalogue = typeof version === 'number' ? await deps.pricing.version(reader, version) : undefined
    if (!catalogue || !isPricedRight(order, catalogue, sold)) {
      findings.push({ promise: 'price', where: `order ${order.id}`, problem: 'its price does not come out again' })
    }
  })
  return sold
}

/** A calculation that cannot even be read again is as wrong as one that comes out otherwise. */
function isPricedRight(order: Order, catalogue: Catalogue, sold: Sold): boolean {
  try {
    return (order.action === 'buy' ? priceBuying : priceProlongings)(order, catalogue, sold) === order.price
  } catch {
    return false
  }
}

function priceBuying(order: Order, catalogue: Catalogue, sold: Sold): bigint | undefined {
  const note = order.calculation as unknown as BuyNote
  sold.bought.set(order.id, {
    customer: order.customer,
    at: order.createdAt,
    count: note.count,
    expiresAt: note.expires_at,
    country: note.country,
    ipv: note.ipv,
  })
  const wish = order.input as unknown as { country_code: string; ipv: number; period: number; count: number }
  const asked = { country: wish.country_code, ipv: wish.ipv, period: wish.period, count: wish.count }
  const { country, ipv, period, count } = note
  const same = JSON.stringify(asked) === JSON.stringify({ country, ipv, period, count })
  const { total } = priceDedicated(catalogue, asked)
  return same && note.kopecks === String(total) ? total : undefined
}

function priceProlongings(order: Order, catalogue: Catalogue, sold: Sold): bigint | undefined {
  const note = order.calculation as unknown as ProlongNote
  const wish = order.input as unknown as { ids: number[]; period: number }
  for (const [id, expiresAt] of note.proxies) {
    sold.until.set(id, [...(sold.until.get(id) ?? []), expiresAt])
    sold.prolongedAt.set(id, [...(sold.prolongedAt.get(id) ?? []), order.createdAt])
  }
  const count = note.lines.reduce((sum, line) => sum + line.count, 0)
  const named = new Set(note.proxies.map(([id]) => id))
  if (count !== wish.ids.length || named.size !== count || !wish.ids.every((id) => named.has(id))) return undefined
  let total = 0n
  for (const line of note.lines) {
    const price = priceProlonging(catalogue, { ...line, period: wish.period })
    if (line.period !== wish.period || line.kopecks !== String(price.total)) return undefined
    total += price.total
  }
  return total
}

function checkProxy(
  proxy: Proxy,
  sold: Sold,
  outages: readonly Outage[],
  deps: { vault: Vault; sha256: (text: string) => Uint8Array },
): Finding[] {
  const where = `proxy ${proxy.id}`
  const findings: Finding[] = []
  const order = sold.bought.get(proxy.order)
  if (!order) return [{ promise: 'delivery', where, problem: 'no order bought it' }]
  order.count -= 1
  if (order.customer !== proxy.customer) {
    findings.push({ promise: 'delivery', where, problem: 'another customer has it than the one who bought it' })
  }
  if (order.country !== proxy.country || order.ipv !== proxy.ipv) {
    findings.push({ promise: 'delivery', where, problem: 'it is not of the kind that was bought' })
  }
  if (order.at !== proxy.startedAt) {
    findings.push({ promise: 'term', where, problem: 'it does not begin when it was bought' })
  }
  if (proxy.resumedAt !== null && !sold.prolongedAt.get(proxy.id)?.includes(proxy.resumedAt)) {
    findings.push({ promise: 'term', where, problem: 'it was not prolonged when it is said to have been' })
  }
  for (const problem of problemsOfProxy(proxy)) findings.push({ promise: 'delivery', where, problem })
  const ends = [order.expiresAt, ...(sold.until.get(proxy.id) ?? [])]
  for (const problem of new Set(problemsOfTerm(proxy, ends, outages)))
    findings.push({ promise: 'term', where, problem })
  if (!opens(proxy, deps))
    findings.push({ promise: 'secret', where, problem: 'its password does not open, or is not the one nodes know' })
  return findings
}

function opens(proxy: Proxy, deps: { vault: Vault; sha256: (text: string) => Uint8Array }): boolean {
  try {
    const password = deps.vault.open(proxy.sealedPassword, vaultContext(proxy.id))
    return deps.sha256(password).toHex() === proxy.passwordDigest.toHex()
  } catch {
    return false
  }
}

/** One customer never holds two slots of one shared address, and nobody an address that is another's own. */
function checkHeld(proxies: ReadonlyMap<number, Proxy>, findings: Finding[]): void {
  const seen = new Set<string>()
  const places = new Set<number>()
  for (const proxy of proxies.values()) {
    if (proxy.state !== 'held') continue
    const where = `proxy ${proxy.id}`
    const name = proxy.ipv === 3 ? `${proxy.customer} ${proxy.address}` : proxy.address
    if (seen.has(name)) {
      const problem = proxy.ipv === 3 ? 'its customer has this address twice' : 'another proxy has this address too'
      findings.push({ promise: 'lease', where, problem })
    }
    if (places.has(proxy.place)) findings.push({ promise: 'lease', where, problem: 'another proxy has this place too' })
    seen.add(name)
    places.add(proxy.place)
  }
}

function checkLease(lease: WalkedLease, proxy: Proxy | undefined): Finding | undefined {
  const wrong = (problem: string): Finding => ({ promise: 'lease', where: `lease of place ${lease.place}`, problem })
  if (!proxy) return wrong('no proxy holds it')
  if (lease.endedAt !== null) return undefined
  if (proxy.state !== 'held') return wrong(`proxy ${proxy.id} is gone and still holds it`)
  if (proxy.place !== lease.place || proxy.address !== lease.address)
    return wrong(`proxy ${proxy.id} shows another address`)
  if (proxy.country !== lease.country || proxy.ipv !== lease.ipv) return wrong('the place is of another kind')
  return undefined
}
