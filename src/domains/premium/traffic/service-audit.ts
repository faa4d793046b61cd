import type { Database, Reader } from '../../../db/transaction.ts'
import { type Audit, type Finding, mostFindings, type Verifier } from '../../../kernel/finding.ts'
import type { Orders } from '../../orders/index.ts'
import type { Order } from '../../orders/rules.ts'
import type { Pricing } from '../../pricing/index.ts'
import { priceTraffic } from '../../pricing/rules.ts'
import type { Leases } from '../../traffic/index.ts'
import { readSubject, subjectOf } from '../rules.ts'
import { emptyHead, movementText, type TrafficAccount, type TrafficMovement, usedBy } from './rules.ts'
import { product } from './service.ts'
import * as store from './store.ts'

const page = 500

/** What an account's movements say of its leases, to be compared with what the nodes' lines say. */
type Sums = { leased: bigint; back: bigint; settled: bigint; late: bigint; aside: bigint }

type Parts = { db: Database; sha256: (text: string) => Uint8Array; orders: Orders; pricing: Pricing; leases: Leases }

/**
 * Recomputes the promises about bytes: every account from its movements, every purchase from its order and its price list, every
 * lease from its account. Claims in quarantine are counted and told, and are no fault of the books.
 */
export function createTrafficVerifier(deps: Parts): Verifier {
  return {
    name: 'traffic',
    verify: () =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        const sums = new Map<string, Sums>()
        let accounts = 0
        let walked = 0
        for (let after = { subuser: '', pool: '' }; ; ) {
          const batch = await store.accountsAfter(reader, after, page)
          for (const account of batch) {
            const walk = await walkAccount(deps, reader, account)
            findings.push(...walk.findings)
            sums.set(subjectOf(account.subuser, account.pool), walk.sums)
            accounts += 1
            walked += account.seq
          }
          const last = batch.at(-1)
          if (!last || batch.length < page) break
          after = last
        }
        const moved = await store.countMovements(reader)
        if (moved !== walked) {
          findings.push(found('bytes', 'movements', `${moved} exist, the accounts count ${walked}`))
        }
        const bought = await checkOrders(deps, reader)
        const lines = await checkLeases(deps, reader, sums)
        findings.push(...bought.findings, ...lines.findings)
        return {
          findings: findings.slice(0, mostFindings),
          covered: {
            'traffic accounts': accounts,
            'traffic movements': walked,
            'traffic orders': bought.orders,
            'leased subjects': lines.subjects,
            'subjects with claims in quarantine': lines.quarantined,
          },
        }
      }),
  }
}

const found = (promise: string, where: string, problem: string): Finding => ({ promise, where, problem })

async function walkAccount(
  deps: Parts,
  reader: Reader,
  account: TrafficAccount,
): Promise<{ findings: Finding[]; sums: Sums }> {
  const name = `${account.pool} traffic of ${account.subuser}`
  const findings: Finding[] = []
  const sums: Sums = { leased: 0n, back: 0n, settled: 0n, late: 0n, aside: account.aside }
  let [balance, aside, owed, used, seq, lastAt] = [0n, 0n, 0n, 0n, 0, 0]
  let head = emptyHead
  for (;;) {
    const movements = await store.movementsAfter(reader, account.subuser, account.pool, seq, page)
    for (const movement of movements) {
      const where = `movement ${movement.seq} of ${name}`
      if (movement.seq !== seq + 1) findings.push(found('bytes', where, `follows number ${seq}: movements are missing`))
      if (deps.sha256(movementText(head, movement)).toHex() !== movement.hash.toHex()) {
        findings.push(found('bytes', where, 'its hash does not match its content and the movement before it'))
      }
      if (movement.at < lastAt) findings.push(found('bytes', where, 'it is dated before the movement it follows'))
      balance += movement.amount
      aside += movement.aside
      owed += movement.owed
      used += usedBy(movement)
      if (movement.balanceAfter !== balance || movement.asideAfter !== aside || movement.owedAfter !== owed) {
        findings.push(found('bytes', where, 'what stands after it is not the sum up to it'))
      }
      if (balance < 0n || aside < 0n || owed < 0n) findings.push(found('bytes', where, 'something is below zero'))
      addTo(sums, movement)
      seq = movement.seq
      head = movement.hash
      lastAt = movement.at
    }
    if (movements.length < page) break
  }
  const where = `account of ${name}`
  if (account.balance !== balance) {
    findings.push(found('bytes', where, `the balance is ${account.balance}, its movements sum to ${balance}`))
  }
  if (account.aside !== aside || account.owed !== owed || account.used !== used) {
    findings.push(found('bytes', where, 'what is set aside, owed or used is not what its movements say'))
  }
  if (account.seq !== seq) findings.push(found('bytes', where, `it counts ${account.seq} movements, there are ${seq}`))
  if (account.head.toHex() !== head.toHex()) {
    findings.push(found('bytes', where, 'its head is not the hash of the last movement'))
  }
  const lots = await store.sumLots(reader, account.subuser, account.pool)
  if (lots !== account.balance + account.aside) {
    findings.push(found('lots', where, `its lots hold ${lots} bytes, the account ${account.balance + account.aside}`))
  }
  return { findings, sums }
}

function addTo(sums: Sums, movement: TrafficMovement): void {
  if (movement.kind === 'leased') sums.leased += movement.aside
  if (movement.kind === 'returned' || movement.kind === 'lapsed') sums.back += movement.amount
  if (movement.kind !== 'used') return
  // What pays a debt out of what came back is neither carried now nor settled: the node's line says that it came back.
  if (movement.owed < 0n) sums.back -= movement.aside
  else if (movement.aside < 0n) sums.settled -= movement.aside
  else sums.late += movement.owed - movement.amount
}

/** Each purchase has its bytes once, as many as its order says, at the price of its price list; nothing moves without an order. */
async function checkOrders(deps: Parts, reader: Reader): Promise<{ findings: Finding[]; orders: number }> {
  const findings: Finding[] = []
  let orders = 0
  await deps.orders.walk(reader, product, async (order) => {
    orders += 1
    const problem = order.action === 'buy' ? await problemOfPurchase(deps, reader, order) : undefined
    if (problem) findings.push(found('traffic order', `order ${order.id}`, problem))
  })
  for (let after = ''; ; ) {
    const named = await store.namedOrders(reader, after, page)
    for (const id of named) {
      const order = await deps.orders.find(reader, id)
      if (order?.product !== product)
        findings.push(found('traffic order', `order ${id}`, 'bytes name it, and it is not there'))
    }
    const last = named.at(-1)
    if (!last || named.length < page) break
    after = last
  }
  for (const { order_id: id, bytes } of await store.movedByOrder(reader, page)) {
    findings.push(found('bytes', `order ${id}`, `it moved ${bytes} bytes more in than out`))
  }
  return { findings, orders }
}

async function problemOfPurchase(deps: Parts, reader: Reader, order: Order): Promise<string | undefined> {
  const bought = await store.boughtWith(reader, order.id)
  const [delivery] = bought
  if (!delivery) return 'it was paid and nothing was delivered'
  if (bought.length > 1) return 'it was delivered more than once'
  const told = order.calculation as { catalogue?: unknown; pool_type?: unknown; gb?: unknown }
  const tenths = typeof told.gb === 'number' ? Math.round(told.gb * 10) : 0
  if (delivery.pool !== told.pool_type || delivery.bytes !== BigInt(tenths) * 100_000_000n) {
    return 'what was delivered is not what it says'
  }
  const catalogue = typeof told.catalogue === 'number' ? await deps.pricing.version(reader, told.catalogue) : undefined
  if (!catalogue) return 'its price list is not there'
  return priceTraffic(catalogue, delivery.pool, tenths).total === order.price
    ? undefined
    : 'its price is not its price list’s'
}

/** What nodes' lines say was set aside, given back and settled is what the accounts moved for them. */
async function checkLeases(
  deps: Parts,
  reader: Reader,
  sums: ReadonlyMap<string, Sums>,
): Promise<{ findings: Finding[]; subjects: number; quarantined: number }> {
  const findings: Finding[] = []
  const unseen = new Map(sums)
  let [subjects, quarantined] = [0, 0]
  for (let after = 'premium:'; ; ) {
    const batch = await deps.leases.totalsAfter(reader, after, page)
    for (const line of batch) {
      if (!readSubject(line.subject)) continue
      subjects += 1
      if (line.quarantined > 0n) quarantined += 1
      const account = sums.get(line.subject)
      unseen.delete(line.subject)
      const isSame =
        line.granted === (account?.leased ?? 0n) &&
        line.returned + line.lapsed === (account?.back ?? 0n) &&
        line.settled === (account?.settled ?? 0n) &&
        line.aside === (account?.aside ?? 0n) &&
        line.late === (account?.late ?? 0n)
      if (!isSame) {
        findings.push(found('lease', line.subject, 'what its nodes were allowed is not what the account set aside'))
      }
    }
    const last = batch.at(-1)
    if (!last || batch.length < page) break
    after = last.subject
  }
  for (const [subject, account] of unseen) {
    if (account.leased > 0n) findings.push(found('lease', subject, 'bytes were set aside and no node has them'))
  }
  for (const line of await deps.leases.miscounted(reader, page)) {
    findings.push(found('lease', `${line.subject} at ${line.node}`, 'its count is not what the node reported'))
  }
  return { findings, subjects, quarantined }
}
