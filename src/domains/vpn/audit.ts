import { addressToNumber, readAddress } from '../../core/address.ts'
import { addMonths } from '../../core/calendar.ts'
import { attempt, type Finding, type Verifier } from '../../core/finding.ts'
import { timeOfId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { readKey } from '../../core/wireguard.ts'
import type { Reader } from '../../db/transaction.ts'
import { numberIn, type Order, textIn, valueIn } from '../orders/rules.ts'
import { type Catalogue, priceVpn } from '../pricing/rules.ts'
import { product } from './buy.ts'
import { privateKeyOf } from './devices.ts'
import {
  deletedNote,
  ipv4Text,
  limitOfTerms,
  type Peer,
  refundOf,
  type Subscription,
  type Term,
  trafficFor,
  usedBy,
} from './rules.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'
import { secretOf, type VpnDeps } from './subscriptions.ts'

const pageSize = 100

/** A term begins at most this long before its order is dated: a transaction may take that long. */
const paidWithinMs = 60_000

const found = (where: string, problem: string): Finding => ({ promise: 'vpn', where, problem })

/** Recomputes the promises about the VPN: paid time, prices, devices, keys, addresses and bytes. */
export const verifierOf = (deps: VpnDeps): Verifier => ({
  name: 'vpn',
  verify: (onProgress) =>
    deps.db.snapshot(async (reader) => {
      const findings = await verifyWhole(deps, reader)
      const covered = { subscriptions: 0, devices: 0 }
      const all = keysetPages((after: string, limit) => store.pageAll(reader, after, limit), {
        start: '',
        size: pageSize,
        keyOf: (each) => each.uuid,
      })
      for await (const page of all) {
        covered.devices += await verifyPage(deps, reader, page, findings)
        covered.subscriptions += page.length
        onProgress?.(covered.subscriptions)
      }
      return { findings, covered }
    }),
})

/** Checks that need all rows at once: duplicates, and rows that belong to nothing. */
async function verifyWhole(deps: VpnDeps, reader: Reader): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { what, value, held } of await store.listDuplicates(reader))
    findings.push(found(`${what} ${value}`, `${held} devices hold it at once`))
  for (const id of await store.listWithoutAddress(reader))
    findings.push(found(`device ${id}`, 'its address is not given to it'))
  for (const ipv4 of await store.listStrayAddresses(reader))
    findings.push(found(`address ${ipv4Text(ipv4)}`, 'it is given to no device that holds it'))
  const orphans = await store.countOrphans(reader)
  if (orphans > 0) findings.push(found('devices', `${orphans} belong to no subscription`))
  const counted = keysetPages((after: string, limit) => deps.traffic.counts.subjects(reader, 'dev_', after, limit), {
    start: '',
    size: pageSize,
    keyOf: (subject) => subject,
  })
  for await (const subjects of counted) {
    const owners = await peers.findOwners(reader, subjects)
    for (const subject of subjects.filter((each) => !owners.has(each)))
      findings.push(found(`device ${subject}`, 'nodes have counted for it, and it is not there'))
  }
  const [ordered, paid] = [await deps.orders.countOf(reader, product), await store.countTerms(reader)]
  if (ordered !== paid) findings.push(found('orders', `${ordered} were placed, and time was given for ${paid}`))
  return findings
}

/** Checks a page of subscriptions with their devices, and returns the number of devices. */
async function verifyPage(
  deps: VpnDeps,
  reader: Reader,
  page: readonly Subscription[],
  findings: Finding[],
): Promise<number> {
  const uuids = page.map((each) => each.uuid)
  const terms = Map.groupBy(await store.listTerms(reader, uuids), (term) => term.subscription)
  const ids = [...terms.values()].flat().map((term) => term.order)
  const orders = new Map((await deps.orders.findAudited(reader, ids)).map((order) => [order.id, order]))
  const devices = await peers.listAll(reader, uuids)
  const byOwner = Map.groupBy(devices, (each) => each.subscription)
  const counts = await deps.traffic.counts.totals(
    reader,
    devices.map((each) => each.id),
  )
  const check = (where: string, problemsOf: () => Promise<string[]> | string[]): Promise<void> =>
    attempt(findings, { promise: 'vpn', where }, async () => {
      for (const problem of await problemsOf()) findings.push(found(where, problem))
    })
  for (const subscription of page) {
    const { uuid } = subscription
    const own = byOwner.get(uuid) ?? []
    await check(`subscription ${uuid}`, async () => [
      ...(await problemsOfPayment(deps, reader, subscription, terms.get(uuid) ?? [], orders)),
      ...problemsOfLink(deps, subscription),
      ...problemsOfCount(subscription, own),
      ...problemsOfTraffic(subscription, own),
    ])
    for (const device of own) {
      await check(`device ${device.id}`, () => {
        const count = counts.get(device.id)
        const isSame = (count?.received ?? 0n) === device.received && (count?.sent ?? 0n) === device.sent
        const problems = problemsOfPeer(deps, device)
        return isSame ? problems : [...problems, 'it has carried other bytes than nodes have reported']
      })
    }
  }
  return devices.length
}

async function problemsOfPayment(
  deps: VpnDeps,
  reader: Reader,
  subscription: Subscription,
  terms: readonly Term[],
  orders: ReadonlyMap<string, Order>,
): Promise<string[]> {
  const problems = problemsOfTerms(subscription, terms)
  let catalogue: Catalogue | undefined
  for (const term of terms) {
    const order = orders.get(term.order)
    const version = order && numberIn(order.calculation, 'catalogue')
    catalogue = version === undefined ? undefined : await deps.pricing.version(reader, version)
    problems.push(...problemsOfOrder(subscription, term, order, catalogue))
    problems.push(...(await problemsOfRefunded(deps, reader, term, order)))
  }
  const lastPlan = catalogue?.vpn
  if (lastPlan && lastPlan.speedMegabits !== subscription.speedMegabits)
    problems.push('it is not as fast as was last paid for')
  if (lastPlan && lastPlan.deviceLimit > subscription.deviceLimit)
    problems.push('it has fewer devices than were last paid for')
  return problems
}

/** The terms must follow one another and add up to the end of the subscription: every month was charged. */
function problemsOfTerms(subscription: Subscription, terms: readonly Term[]): string[] {
  const problems: string[] = []
  let ends = Number.NaN
  let anchorDay = 0
  for (const [index, term] of terms.entries()) {
    if (term.seq !== index + 1) problems.push(`term ${term.seq} stands where ${index + 1} should`)
    if (term.startsAt !== ends) {
      if (term.startsAt < ends) problems.push(`term ${term.seq} begins before the one before it ends`)
      anchorDay = new Date(term.startsAt).getUTCDate()
    }
    if (term.endsAt !== addMonths(term.startsAt, term.months, anchorDay)) {
      problems.push(`term ${term.seq} does not last ${term.months} months`)
    }
    const usedLater = terms[index + 1]?.usedBefore ?? usedBy(subscription)
    if (term.usedBefore > usedLater || (index === 0 && term.usedBefore !== 0n)) {
      problems.push(`term ${term.seq} says that more was used than was`)
    }
    ends = term.endsAt
    if (term.refunded === 0n) continue
    if (subscription.deletedAt === null)
      problems.push(`term ${term.seq} is refunded and the subscription is not deleted`)
    else if (term.refunded > refundOf(term, subscription.deletedAt, null))
      problems.push(`term ${term.seq} was refunded more than its unused part`)
  }
  if (terms.length === 0) return ['no order has paid for it']
  if (ends !== subscription.expiresAt) problems.push('it does not end where its terms end')
  if (anchorDay !== subscription.anchorDay) problems.push('it ends on another day than its terms')
  if (limitOfTerms(terms) !== subscription.trafficLimit)
    problems.push('its traffic limit is not what its terms granted')
  return problems
}

/** Compares a term with its order, and prices the order again from the price list that it names. */
function problemsOfOrder(
  subscription: Subscription,
  term: Term,
  order: Order | undefined,
  catalogue: Catalogue | undefined,
): string[] {
  if (!order) return [`term ${term.seq} was paid by no order`]
  const problems: string[] = []
  if (order.customer !== subscription.customer) problems.push(`term ${term.seq} was paid by another customer's order`)
  if (order.action !== (term.seq === 1 ? 'buy' : 'renew')) problems.push(`term ${term.seq} was paid by another action`)
  // The customer may change the months of an automatic renewal until it happens.
  if (valueIn(order.input, 'automatic') !== true && numberIn(order.input, 'period') !== term.months) {
    problems.push(`term ${term.seq} does not last as long as was asked for`)
  }
  const { calculation } = order
  if (textIn(calculation, 'uuid') !== subscription.uuid || numberIn(calculation, 'months') !== term.months) {
    problems.push(`order ${order.id} was priced for something else than term ${term.seq}`)
  }
  if (order.product !== product) problems.push(`term ${term.seq} was paid by an order for something else`)
  if (order.price !== term.price) problems.push(`term ${term.seq} has another price than its order`)
  if (order.createdAt - term.startsAt > paidWithinMs) {
    problems.push(`term ${term.seq} begins before it was paid for`)
  }
  const plan = catalogue?.vpn
  if (!catalogue || !plan?.months.has(term.months)) {
    problems.push(`order ${order.id} names no price list that sells ${term.months} months`)
    return problems
  }
  if (priceVpn(catalogue, term.months).total !== order.price)
    problems.push(`order ${order.id} has a price of no price list`)
  if (trafficFor(plan.trafficGigabytes, term.months) !== term.trafficGrant) {
    problems.push(`term ${term.seq} grants other traffic than its price list`)
  }
  return problems
}

/** The refund that a term records must be the one in the ledger. */
async function problemsOfRefunded(
  deps: VpnDeps,
  reader: Reader,
  term: Term,
  order: Order | undefined,
): Promise<string[]> {
  if (!order || order.chargeSeq === null) return []
  const refund = await deps.ledgerAudit.refundOf(reader, order.customer, order.chargeSeq)
  const given = refund?.note.startsWith(deletedNote) ? refund.amount : 0n
  return given === term.refunded ? [] : [`term ${term.seq} does not say what was given back of it`]
}

function problemsOfLink(deps: VpnDeps, of: Subscription): string[] {
  if (of.deletedAt !== null) return of.sealedLink === null ? [] : ['it is deleted and keeps its link']
  const secret = opened(() => secretOf(deps, of))
  if (secret === undefined || secret === '') return ['its link does not open']
  return deps.sha256(secret).toHex() === of.linkDigest.toHex() ? [] : ['its link is not the one it is found by']
}

function problemsOfCount(of: Subscription, devices: readonly Peer[]): string[] {
  const held = devices.filter((each) => each.removedAt === null).length
  if (of.deletedAt !== null) return held === 0 ? [] : ['it is deleted and holds devices']
  return held <= of.deviceLimit ? [] : [`it holds ${held} devices of ${of.deviceLimit}`]
}

function problemsOfTraffic(of: Subscription, devices: readonly Peer[]): string[] {
  const received = devices.reduce((sum, each) => sum + each.received, 0n)
  const sent = devices.reduce((sum, each) => sum + each.sent, 0n)
  return received === of.received && sent === of.sent ? [] : ['it has carried other bytes than its devices']
}

function problemsOfPeer(deps: VpnDeps, peer: Peer): string[] {
  const ipv6 = readAddress(peer.ipv6)
  return [
    ...problemsOfKey(deps, peer),
    ...(ipv6?.version === 6 && (addressToNumber(ipv6) & 0xffffffffn) === peer.ipv4
      ? []
      : ['its IPv6 address is not the one of its IPv4 address']),
    ...(timeOfId(peer.id) === peer.createdAt ? [] : ['it is not dated as its id is']),
  ]
}

/** A private key that the shop made is kept while the device is, opens, and belongs to the public key. */
function problemsOfKey(deps: VpnDeps, peer: Peer): string[] {
  if (peer.removedAt !== null || peer.ownKey)
    return peer.sealedKey === null ? [] : ['it keeps a private key that it must not have']
  const bytes = readKey(opened(() => privateKeyOf(deps, peer)) ?? '')
  if (!bytes) return ['its private key does not open']
  return deps.publicKeyOf(bytes).toBase64() === peer.publicKey ? [] : ['its private key belongs to another public key']
}

/** A sealed text that was changed or moved does not open; that is a finding and not a fault. */
function opened<Result>(open: () => Result): Result | undefined {
  try {
    return open()
  } catch {
    return undefined
  }
}
