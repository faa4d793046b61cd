import { addDays } from '../../core/calendar.ts'
import { type Audit, attempt, type Finding, maxFindings, type Verifier } from '../../core/finding.ts'
import { type CustomerId, type SubuserId, timeOfId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { readProxyLogin } from '../../core/login.ts'
import type { Reader } from '../../db/transaction.ts'
import type { Order } from '../orders/rules.ts'
import { type Catalogue, priceTraffic } from '../pricing/rules.ts'
import { type ByteAccountKey, never, subjectOf } from '../traffic/accounts/rules.ts'
import type { PremiumDeps } from './deps.ts'
import { contextOf as exitContextOf } from './exits/rules.ts'
import { changedAfter, unevenExits, unsoundExits } from './exits/store.ts'
import { product } from './rules.ts'
import { contextOf } from './subusers/rules.ts'
import { ownersOf, portsAfter, type SecretRow, secretsAfter } from './subusers/store.ts'
import { dayMs, hostSubjectOf, hourOf } from './usage/rules.ts'
import { hostsAfter, hoursAfter, unsoundHours } from './usage/store.ts'

const page = 500

type AccessDeps = Pick<PremiumDeps, 'db' | 'clock' | 'vault' | 'sha256' | 'terms' | 'traffic'>
type OrderDeps = Pick<PremiumDeps, 'db' | 'orders' | 'pricing' | 'traffic'>

/** Reads a table with a store function, a page at a time. */
const pages = <Item, Key>(
  reader: Reader,
  read: (reader: Reader, after: Key, limit: number) => Promise<readonly Item[]>,
  start: Key,
  keyOf: (item: Item) => Key,
) => keysetPages((after: Key, limit) => read(reader, after, limit), { start, size: page, keyOf })

const found = (promise: string, where: string, problem: string): Finding => ({ promise, where, problem })

/** Sub-users' secrets open and are theirs, exits can be used, and hours show what nodes have carried. */
export function createAccessVerifier(deps: AccessDeps): Verifier {
  return {
    name: 'access',
    verify: (onProgress) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        const subusers = await checkSubusers(deps, reader, findings)
        onProgress?.(subusers)
        const exits = await checkExits(deps, reader, findings)
        await checkPorts(reader, findings)
        const hours = await checkHours(deps, reader, findings)
        await checkHosts(deps, reader, findings)
        for (const { host, ...account } of await unsoundHours(reader, maxFindings)) {
          const where = host === '' ? subjectOf(account) : hostSubjectOf({ ...account, host })
          findings.push(found('hours', where, 'its figures are not those that were last written'))
        }
        const covered = { 'sub-users': subusers, exits, 'accounts with hours': hours }
        return { findings: findings.slice(0, maxFindings), covered }
      }),
  }
}

async function checkSubusers(deps: AccessDeps, reader: Reader, findings: Finding[]): Promise<number> {
  let count = 0
  for await (const batch of pages(reader, secretsAfter, '', (row) => row.id)) {
    const heirIds = batch.flatMap((row) => row.heir_id ?? [])
    const heirs = await ownersOf(reader, heirIds)
    for (const row of batch) {
      const where = `sub-user ${row.id}`
      for (const problem of problemsOfSubuser(deps, row, heirs)) findings.push(found('sub-user', where, problem))
    }
    count += batch.length
  }
  return count
}

function problemsOfSubuser(deps: AccessDeps, row: SecretRow, heirs: ReadonlyMap<SubuserId, CustomerId>): string[] {
  const problems: string[] = []
  if (timeOfId(row.id) !== Number(row.created_at)) problems.push('it is not dated as its id is')
  if (row.heir_id !== null && heirs.get(row.heir_id) !== row.customer_id) {
    problems.push('its traffic goes to a sub-user that is not there, or is another customer’s')
  }
  try {
    const password = deps.vault.open(row.password, contextOf(row.id))
    if (deps.sha256(password).toHex() !== row.digest.toHex()) problems.push('its password is not the one nodes know')
  } catch {
    problems.push('its password does not open')
  }
  return problems
}

async function checkExits(deps: AccessDeps, reader: Reader, findings: Finding[]): Promise<number> {
  let count = 0
  const readExits = (from: Reader, after: { changedAt: number; id: string }, limit: number) =>
    changedAfter(from, after, limit, false)
  for await (const batch of pages(reader, readExits, { changedAt: -1, id: '' }, ({ exit }) => exit)) {
    for (const { exit, credentials } of batch) {
      const where = `exit ${exit.id}`
      if (timeOfId(exit.id) !== exit.createdAt) findings.push(found('exit', where, 'it is not dated as its id is'))
      await attempt(findings, { promise: 'exit', where }, () => {
        if (credentials !== null) JSON.parse(deps.vault.open(credentials, exitContextOf(exit.id)))
      })
    }
    count += batch.length
  }
  for (const id of await unevenExits(reader, maxFindings)) {
    findings.push(found('exit', `exit ${id}`, 'its days do not add up to what gateways counted'))
  }
  for (const { exit, problem } of await unsoundExits(reader, maxFindings)) {
    findings.push(found('exit', `exit ${exit}`, problem))
  }
  return count
}

/** The login of a port can be read and is its own sub-user's. */
async function checkPorts(reader: Reader, findings: Finding[]): Promise<void> {
  for await (const batch of pages(reader, portsAfter, 0, (each) => each.port)) {
    for (const { port, login, parameters } of batch) {
      if (login === null || readProxyLogin(parameters)?.login !== login) {
        findings.push(found('port', `port ${port}`, 'its login is not its sub-user’s'))
      }
    }
  }
}

/** Hours add up to the billed bytes, without those in quarantine and those restored. */
async function checkHours(deps: AccessDeps, reader: Reader, findings: Finding[]): Promise<number> {
  let count = 0
  for await (const batch of pages(reader, hoursAfter, { subuser: '', pool: '' }, (sums) => sums)) {
    const subjects = batch.map(subjectOf)
    const billed = await deps.traffic.leases.billedOf(reader, batch)
    const counted = await deps.traffic.counts.totals(reader, subjects)
    for (const sums of batch) {
      const subject = subjectOf(sums)
      const max = counted.get(subject)
      const isSame = sums.received + sums.sent === (billed.get(subject) ?? 0n)
      const isWithin = sums.received <= (max?.received ?? 0n) && sums.sent <= (max?.sent ?? 0n)
      if (!isSame || !isWithin) findings.push(found('hours', subject, 'its hours are not what nodes have counted'))
    }
    count += batch.length
  }
  return count
}

/** No host has more bytes than nodes have counted for it. Hosts past their retention may be deleted in part. */
async function checkHosts(deps: AccessDeps, reader: Reader, findings: Finding[]): Promise<void> {
  const sinceAt = hourOf(deps.clock()) - deps.terms.hostDays * dayMs
  const readHosts = (from: Reader, after: { subuser: string; pool: string; host: string }, limit: number) =>
    hostsAfter(from, sinceAt, after, limit)
  for await (const batch of pages(reader, readHosts, { subuser: '', pool: '', host: '' }, (sums) => sums)) {
    const counted = await deps.traffic.counts.totals(reader, batch.map(hostSubjectOf))
    for (const sums of batch) {
      const max = counted.get(hostSubjectOf(sums))
      if (sums.received > (max?.received ?? 0n) || sums.sent > (max?.sent ?? 0n)) {
        findings.push(found('hosts', hostSubjectOf(sums), 'it shows more than nodes have counted'))
      }
    }
  }
}

/** Each purchase has its bytes once, as its order says, at the price of its price list; each move has an order. */
export function createPremiumVerifier(deps: OrderDeps): Verifier {
  return {
    name: 'premium',
    verify: (onProgress) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        let orders = 0
        await deps.orders.walk(reader, product, async (order) => {
          orders += 1
          await attempt(findings, { promise: 'traffic order', where: `order ${order.id}` }, async () => {
            const problem = await (order.action === 'buy' ? problemOfPurchase : problemOfMove)(deps, reader, order)
            if (problem) findings.push(found('traffic order', `order ${order.id}`, problem))
          })
          onProgress?.(orders)
        })
        findings.push(...(await checkNamed(deps, reader, 'traffic_movements', 'bytes name it')))
        findings.push(...(await checkNamed(deps, reader, 'traffic_lots', 'lots name it')))
        return { findings: findings.slice(0, maxFindings), covered: { 'traffic orders': orders } }
      }),
  }
}

/** Every order that bytes name exists and is premium. */
async function checkNamed(
  deps: OrderDeps,
  reader: Reader,
  table: 'traffic_lots' | 'traffic_movements',
  by: string,
): Promise<Finding[]> {
  const findings: Finding[] = []
  const readOrders = (from: Reader, after: string, limit: number) =>
    deps.traffic.accounts.ordersNamedIn(from, table, after, limit)
  for await (const named of pages(reader, readOrders, '', (id) => id)) {
    const known = new Map((await deps.orders.findAudited(reader, named)).map((order) => [order.id, order]))
    for (const id of named) {
      if (known.get(id)?.product === product) continue
      findings.push(found('traffic order', `order ${id}`, `${by}, and it is not there`))
    }
  }
  return findings
}

const fieldsIn = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

/** An order moved the bytes that it says. A deletion may move more later, when nodes return bytes. */
async function problemOfMove(deps: OrderDeps, reader: Reader, order: Order): Promise<string | undefined> {
  const isMove = order.action === 'move'
  if (!isMove && order.action !== 'delete') return 'it is neither a purchase nor a move nor a deletion'
  if ('from_subuser_id' in fieldsIn(order.input) !== isMove) return 'it is not what was asked for'
  const { bytes } = fieldsIn(order.calculation)
  const told = typeof bytes === 'number' ? BigInt(bytes) : -1n
  const moved = await deps.traffic.accounts.movedWith(reader, order.id)
  return (isMove ? moved === told : moved >= told && told >= 0n) ? undefined : 'what was moved is not what it says'
}

async function problemOfPurchase(deps: OrderDeps, reader: Reader, order: Order): Promise<string | undefined> {
  const bought = await deps.traffic.accounts.boughtWith(reader, order.id)
  const [delivery] = bought
  if (!delivery) return 'it was paid and nothing was delivered'
  if (bought.length > 1) return 'it was delivered more than once'
  const { catalogue: version, pool_type: pool, gb } = fieldsIn(order.calculation)
  const tenths = typeof gb === 'number' ? Math.round(gb * 10) : 0
  if (delivery.pool !== pool || delivery.bytes !== BigInt(tenths) * 100_000_000n) {
    return 'what was delivered is not what it says'
  }
  const catalogue = typeof version === 'number' ? await deps.pricing.version(reader, version) : undefined
  if (!catalogue) return 'its price list is not there'
  const asked = fieldsIn(order.input)
  if (asked['pool_type'] !== pool || asked['gb'] !== gb) return 'it was not priced as it was asked for'
  if ((asked['subuser_id'] ?? delivery.subuser) !== delivery.subuser) return 'it was delivered to another sub-user'
  if (priceTraffic(catalogue, delivery.pool, tenths).total !== order.price) return 'its price is not its price list’s'
  return problemOfLots(deps, reader, order, delivery, catalogue)
}

/** The bytes of an order expire when its price list says, wherever they were moved, and stay with its customer. */
async function problemOfLots(
  deps: OrderDeps,
  reader: Reader,
  order: Order,
  delivery: ByteAccountKey & { readonly bytes: bigint },
  catalogue: Catalogue,
): Promise<string | undefined> {
  const lots = await deps.traffic.accounts.lotsOf(reader, order.id)
  const days = catalogue.premium.pools.get(delivery.pool)?.expiresDays ?? null
  const expiresAt = days === null ? never : addDays(order.createdAt, days)
  if (lots.some((lot) => lot.expiresAt !== expiresAt)) return 'its bytes do not expire when its price list says'
  if (lots.some((lot) => lot.pool !== delivery.pool)) return 'its bytes are in another pool'
  const first = lots.find((lot) => lot.subuser === delivery.subuser)
  if (!first || first.size < delivery.bytes) return 'its bytes are not where they were bought for'
  const left = lots.reduce((sum, lot) => sum + lot.rest, 0n)
  // Restored bytes go to any lot with room, and a lot whose bytes were moved out has room for another order's.
  if (left > delivery.bytes && left > delivery.bytes + (await deps.traffic.accounts.restoredTo(reader, lots))) {
    return 'more of it is left than was bought'
  }
  const holders = lots.map((lot) => lot.subuser)
  const owners = await ownersOf(reader, holders)
  return lots.every((lot) => owners.get(lot.subuser) === order.customer) ? undefined : 'another customer has its bytes'
}
