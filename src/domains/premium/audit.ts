import { addDays } from '../../core/calendar.ts'
import {
  type Audit,
  at,
  attempt,
  type Finding,
  type FindingProblem,
  found,
  idDate,
  maxFindings,
  momentText,
  moneyText,
  problem,
  type Verifier,
} from '../../core/finding.ts'
import { type CustomerId, type SubuserId, timeOfId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { readProxyLogin } from '../../core/login.ts'
import { createWalkingVerifier, pageWalk, type TableWalk } from '../../db/audit-walks.ts'
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

/** Sub-users' secrets open and are theirs, exits can be used, and hours show what nodes have relayed. */
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
          const subject = host === '' ? subjectOf(account) : hostSubjectOf({ ...account, host })
          findings.push(found('hours', at('subject', { subject }), 'checksum'))
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
      const of = { promise: 'sub-user', where: at('subuser', { id: row.id }) } as const
      for (const each of problemsOfSubuser(deps, row, heirs)) findings.push({ ...of, ...each })
    }
    count += batch.length
  }
  return count
}

function* problemsOfSubuser(
  deps: AccessDeps,
  row: SecretRow,
  heirs: ReadonlyMap<SubuserId, CustomerId>,
): Generator<FindingProblem> {
  const [createdAt, madeAt] = [Number(row.created_at), timeOfId(row.id)]
  if (createdAt !== madeAt) yield idDate(createdAt, madeAt)
  if (row.heir_id !== null && heirs.get(row.heir_id) !== row.customer_id)
    yield problem('subuser_heir', { heir: row.heir_id })
  try {
    const password = deps.vault.open(row.password, contextOf(row.id))
    if (deps.sha256(password).toHex() !== row.digest.toHex()) yield problem('password_digest')
  } catch {
    yield problem('password_sealed')
  }
}

async function checkExits(deps: AccessDeps, reader: Reader, findings: Finding[]): Promise<number> {
  let count = 0
  const readExits = (from: Reader, after: { changedAt: number; id: string }, limit: number) =>
    changedAfter(from, after, limit, false)
  for await (const batch of pages(reader, readExits, { changedAt: -1, id: '' }, ({ exit }) => exit)) {
    for (const { exit, credentials } of batch) {
      const of = { promise: 'exit', where: at('exit', { id: exit.id }) } as const
      const madeAt = timeOfId(exit.id)
      if (madeAt !== exit.createdAt) findings.push({ ...of, ...idDate(exit.createdAt, madeAt) })
      await attempt(findings, of, () => {
        if (credentials !== null) JSON.parse(deps.vault.open(credentials, exitContextOf(exit.id)))
      })
    }
    count += batch.length
  }
  for (const id of await unevenExits(reader, maxFindings)) {
    findings.push(found('exit', at('exit', { id }), 'exit_days'))
  }
  for (const { exit, reason } of await unsoundExits(reader, maxFindings)) {
    findings.push(found('exit', at('exit', { id: exit }), reason))
  }
  return count
}

/** The login of a port can be read and is its own sub-user's. */
async function checkPorts(reader: Reader, findings: Finding[]): Promise<void> {
  for await (const batch of pages(reader, portsAfter, 0, (each) => each.port)) {
    for (const { port, login, parameters } of batch) {
      if (login === null || readProxyLogin(parameters)?.login !== login) {
        findings.push(found('port', at('port', { port }), 'port_login'))
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
      const [stored, expected] = [sums.received + sums.sent, billed.get(subject) ?? 0n]
      const isWithin = sums.received <= (max?.received ?? 0n) && sums.sent <= (max?.sent ?? 0n)
      if (stored === expected && isWithin) continue
      const bytes = { stored: String(stored), billed: String(expected) }
      findings.push(found('hours', at('subject', { subject }), 'hours_differ', bytes))
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
      const subject = hostSubjectOf(sums)
      const { received, sent } = counted.get(subject) ?? { received: 0n, sent: 0n }
      if (sums.received <= received && sums.sent <= sent) continue
      const bytes = { stored: bytesText(sums), counted: bytesText({ received, sent }) }
      findings.push(found('hosts', at('subject', { subject }), 'hosts_over', bytes))
    }
  }
}

const bytesText = ({ received, sent }: { readonly received: bigint; readonly sent: bigint }): string =>
  `${received} + ${sent}`

/** Each purchase has its bytes once, as its order says, at the price of its price list; each move has an order. */
export const createPremiumVerifier = (deps: OrderDeps): Verifier =>
  createWalkingVerifier(
    deps.db,
    'premium',
    [
      pageWalk({
        name: 'orders',
        start: '',
        size: page,
        read: (reader, after: string, limit) => deps.orders.pageAfter(reader, after, limit, product),
        keyOf: (order): string => order.id,
        async check(reader, orders, findings) {
          for (const order of orders) await checkOrder(deps, reader, order, findings)
          return { 'traffic orders': orders.length }
        },
      }),
      namedWalk(deps, 'traffic_movements'),
      namedWalk(deps, 'traffic_lots'),
    ],
    maxFindings,
  )

async function checkOrder(deps: OrderDeps, reader: Reader, order: Order, findings: Finding[]): Promise<void> {
  const of = { promise: 'traffic order', where: at('order', { id: order.id }) } as const
  await attempt(findings, of, async () => {
    const wrong = await (order.action === 'buy' ? problemOfPurchase : problemOfMove)(deps, reader, order)
    if (wrong) findings.push({ ...of, ...wrong })
  })
}

/** Every order that bytes name exists and is premium. */
const namedWalk = (deps: OrderDeps, table: 'traffic_lots' | 'traffic_movements'): TableWalk =>
  pageWalk({
    name: table,
    start: '',
    size: page,
    read: (reader, after: string, limit) => deps.traffic.accounts.ordersNamedIn(reader, table, after, limit),
    keyOf: (id): string => id,
    async check(reader, named, findings) {
      if (named.length === 0) return
      const known = new Map((await deps.orders.findAudited(reader, named)).map((order) => [order.id, order]))
      for (const id of named) {
        if (known.get(id)?.product === product) continue
        findings.push(found('traffic order', at('order', { id }), 'order_named', { table }))
      }
    },
  })

const fieldsIn = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

/** An order moved the bytes that it says. A deletion may move more later, when nodes return bytes. */
async function problemOfMove(deps: OrderDeps, reader: Reader, order: Order): Promise<FindingProblem | undefined> {
  const isMove = order.action === 'move'
  if (!isMove && order.action !== 'delete') return problem('traffic_action', { action: order.action })
  if ('from_subuser_id' in fieldsIn(order.input) !== isMove) return problem('traffic_input', { action: order.action })
  const { bytes } = fieldsIn(order.calculation)
  const storedBytes = typeof bytes === 'number' ? BigInt(bytes) : -1n
  const moved = await deps.traffic.accounts.movedWith(reader, order.id)
  if (isMove ? moved === storedBytes : moved >= storedBytes && storedBytes >= 0n) return undefined
  return problem('traffic_moved', { stored: String(storedBytes), moved: String(moved) })
}

async function problemOfPurchase(deps: OrderDeps, reader: Reader, order: Order): Promise<FindingProblem | undefined> {
  const bought = await deps.traffic.accounts.boughtWith(reader, order.id)
  const [delivery] = bought
  if (!delivery) return problem('traffic_undelivered')
  if (bought.length > 1) return problem('traffic_delivered_twice', { count: bought.length })
  const { catalogue: version, pool_type: pool, gb } = fieldsIn(order.calculation)
  const tenths = typeof gb === 'number' ? Math.round(gb * 10) : 0
  if (delivery.pool !== pool || delivery.bytes !== BigInt(tenths) * 100_000_000n) {
    return problem('traffic_delivered', { pool: delivery.pool, bytes: String(delivery.bytes) })
  }
  const catalogue = typeof version === 'number' ? await deps.pricing.version(reader, version) : undefined
  if (!catalogue) return problem('price_list_missing')
  const orderInput = fieldsIn(order.input)
  if (orderInput['pool_type'] !== pool || orderInput['gb'] !== gb) return problem('traffic_priced')
  if ((orderInput['subuser_id'] ?? delivery.subuser) !== delivery.subuser)
    return problem('traffic_subuser', { stored: delivery.subuser })
  const { total } = priceTraffic(catalogue, delivery.pool, tenths)
  if (total !== order.price) {
    const prices = { stored: moneyText(order.price), expected: moneyText(total) }
    return problem('price_differs', { order: order.id, ...prices })
  }
  return problemOfLots(deps, reader, order, delivery, catalogue)
}

/** The bytes of an order expire when its price list says, wherever they were moved, and stay with its customer. */
async function problemOfLots(
  deps: OrderDeps,
  reader: Reader,
  order: Order,
  delivery: ByteAccountKey & { readonly bytes: bigint },
  catalogue: Catalogue,
): Promise<FindingProblem | undefined> {
  const lots = await deps.traffic.accounts.lotsOf(reader, order.id)
  const days = catalogue.premium.pools.get(delivery.pool)?.expiresDays ?? null
  const expiresAt = days === null ? never : addDays(order.createdAt, days)
  if (lots.some((lot) => lot.expiresAt !== expiresAt))
    return problem('lots_expiry', { expected: days === null ? null : momentText(expiresAt) })
  if (lots.some((lot) => lot.pool !== delivery.pool)) return problem('lots_pool', { expected: delivery.pool })
  const first = lots.find((lot) => lot.subuser === delivery.subuser)
  if (!first || first.size < delivery.bytes)
    return problem('lots_subuser', { subuser: delivery.subuser, bytes: String(delivery.bytes) })
  const left = lots.reduce((sum, lot) => sum + lot.rest, 0n)
  // Restored bytes go to any lot with room, and a lot whose bytes were moved out has room for another order's.
  if (left > delivery.bytes && left > delivery.bytes + (await deps.traffic.accounts.restoredTo(reader, lots))) {
    return problem('lots_left', { left: String(left), bought: String(delivery.bytes) })
  }
  const holders = lots.map((lot) => lot.subuser)
  const owners = await ownersOf(reader, holders)
  return lots.every((lot) => owners.get(lot.subuser) === order.customer) ? undefined : problem('lots_owner')
}
