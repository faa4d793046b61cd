import { addressToNumber, readAddress } from '../../core/address.ts'
import { addMonths } from '../../core/calendar.ts'
import {
  at,
  attempt,
  type Finding,
  type FindingProblem,
  type FindingSubject,
  found,
  idDate,
  momentText,
  moneyText,
  problem,
  type Verifier,
} from '../../core/finding.ts'
import { timeOfId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { type Kopecks, total, zero } from '../../core/money.ts'
import { readKey } from '../../core/wireguard.ts'
import { createWalkingVerifier, pageWalk, wholeWalk } from '../../db/audit-walks.ts'
import type { Reader } from '../../db/transaction.ts'
import { numberIn, type Order, textIn, valueIn } from '../orders/rules.ts'
import { type Catalogue, priceSlots, priceVpn } from '../pricing/rules.ts'
import { openAccessKeys } from './access-keys.ts'
import { product } from './buy.ts'
import { privateKeyOf } from './devices.ts'
import {
  countSubjectsOf,
  deletedNote,
  deviceOfSubject,
  increaseAction,
  ipv4Text,
  limitOfTerms,
  mostSlots,
  type Peer,
  refundOf,
  type SlotPurchase,
  type Subscription,
  slotsAfter,
  slotsAt,
  slotsEndAfter,
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

/** Recomputes the promises about the VPN: paid time, prices, devices, keys, addresses and bytes. */
export const verifierOf = (deps: VpnDeps): Verifier =>
  createWalkingVerifier(deps.db, 'vpn', [
    wholeWalk('all', async (reader, findings) => void findings.push(...(await verifyWhole(deps, reader)))),
    pageWalk({
      name: 'subscriptions',
      start: '',
      size: pageSize,
      read: store.pageAll,
      keyOf: ({ uuid }: Subscription): string => uuid,
      check: async (reader, page, findings) => ({
        subscriptions: page.length,
        devices: page.length === 0 ? 0 : await verifyPage(deps, reader, page, findings),
      }),
    }),
  ])

/** Checks that need all rows at once: duplicates, and rows that belong to nothing. */
async function verifyWhole(deps: VpnDeps, reader: Reader): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { what, value, held } of await store.listDuplicates(reader))
    findings.push(found('vpn', at('peer_value', { what, value }), 'peers_share', { count: held }))
  for (const id of await store.listWithoutAddress(reader))
    findings.push(found('vpn', at('device', { id }), 'peer_address'))
  for (const ipv4 of await store.listStrayAddresses(reader))
    findings.push(found('vpn', at('address', { address: ipv4Text(ipv4) }), 'address_stray'))
  const count = await store.countOrphans(reader)
  if (count > 0) findings.push(found('vpn', at('table', { table: 'devices' }), 'peers_stray', { count }))
  const read = (after: string, limit: number) => deps.traffic.counts.subjects(reader, 'dev_', after, limit)
  for await (const subjects of keysetPages(read, { start: '', size: pageSize, keyOf: (subject) => subject })) {
    const ids = [...new Set(subjects.map(deviceOfSubject))]
    const owners = await peers.findOwners(reader, ids)
    const known = new Set([...owners.keys()].flatMap(countSubjectsOf))
    for (const id of subjects.filter((each) => !known.has(each)))
      findings.push(found('vpn', at('device', { id }), 'counted_unknown'))
  }
  const terms = (await store.countTerms(reader)) + (await store.countSlots(reader))
  const counts = { orders: await deps.orders.countOf(reader, product), terms }
  if (counts.orders !== counts.terms)
    findings.push(found('vpn', at('table', { table: 'orders' }), 'terms_counted', counts))
  return findings
}

/** The believed bytes of devices over nodes and protocols. */
async function countsOf(deps: VpnDeps, reader: Reader, ids: readonly string[]): Promise<Map<string, Bytes>> {
  const counts = new Map<string, Bytes>()
  for (let from = 0; from < ids.length; from += pageSize) {
    const subjects = ids.slice(from, from + pageSize).flatMap(countSubjectsOf)
    for (const [subject, { received, sent }] of await deps.traffic.counts.totals(reader, subjects)) {
      const id = deviceOfSubject(subject)
      const before = counts.get(id) ?? { received: 0n, sent: 0n }
      counts.set(id, { received: before.received + received, sent: before.sent + sent })
    }
  }
  return counts
}

/** Checks a page of subscriptions with their devices, and returns the number of devices. */
async function verifyPage(deps: VpnDeps, reader: Reader, page: readonly Subscription[], findings: Finding[]) {
  const uuids = page.map((each) => each.uuid)
  const terms = Map.groupBy(await store.listTerms(reader, uuids), (term) => term.subscription)
  const slots = Map.groupBy(await store.listSlots(reader, uuids), (each) => each.subscription)
  const ids = [...terms.values(), ...slots.values()].flat().map((paid) => paid.order)
  const orders = new Map((await deps.orders.findAudited(reader, ids)).map((order) => [order.id, order]))
  const devices = await peers.listAll(reader, uuids)
  const byOwner = Map.groupBy(devices, (each) => each.subscription)
  const deviceIds = devices.map((each) => each.id)
  const counts = await countsOf(deps, reader, deviceIds)
  const check = (
    where: FindingSubject,
    problemsOf: () => Promise<FindingProblem[]> | FindingProblem[],
  ): Promise<void> =>
    attempt(findings, { promise: 'vpn', where }, async () => {
      findings.push(...(await problemsOf()).map((each) => ({ promise: 'vpn' as const, where, ...each })))
    })
  for (const subscription of page) {
    const { uuid } = subscription
    const own = byOwner.get(uuid) ?? []
    await check(at('subscription', { uuid }), async () => [
      ...(await problemsOfPayment(deps, reader, subscription, terms.get(uuid) ?? [], orders)),
      ...(await problemsOfSlots(deps, reader, subscription, terms.get(uuid) ?? [], slots.get(uuid) ?? [], orders)),
      ...problemsOfLink(deps, subscription),
      ...problemsOfCount(subscription, own, terms.get(uuid) ?? [], slots.get(uuid) ?? []),
      ...problemsOfTraffic(subscription, own),
    ])
    for (const device of own) {
      const count = counts.get(device.id) ?? { received: 0n, sent: 0n }
      await check(at('device', { id: device.id }), () => [
        ...problemsOfPeer(deps, device),
        ...problemsOfBytes(device, count, 'nodes'),
      ])
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
): Promise<FindingProblem[]> {
  const problems = [...problemsOfTerms(subscription, terms)]
  let catalogue: Catalogue | undefined
  for (const term of terms) {
    const order = orders.get(term.order)
    const version = order && numberIn(order.calculation, 'catalogue')
    catalogue = version === undefined ? undefined : await deps.pricing.version(reader, version)
    problems.push(...problemsOfOrder(subscription, term, order, catalogue))
    if (catalogue?.vpn)
      problems.push(...problemsOfBaseLimit(term, terms[terms.indexOf(term) - 1], catalogue.vpn.deviceLimit))
    problems.push(...(await problemsOfRefunded(deps, reader, term, order)))
  }
  const lastPlan = catalogue?.vpn
  const { speedMegabits } = subscription
  if (lastPlan && lastPlan.speedMegabits !== speedMegabits)
    problems.push(problem('subscription_speed', { stored: speedMegabits, expected: lastPlan.speedMegabits }))
  return problems
}

/** Slots that were bought, renewed and held must agree, and be paid by the price list of their order. */
async function problemsOfSlots(
  deps: VpnDeps,
  reader: Reader,
  subscription: Subscription,
  terms: readonly Term[],
  purchases: readonly SlotPurchase[],
  orders: ReadonlyMap<string, Order>,
): Promise<FindingProblem[]> {
  const problems: FindingProblem[] = []
  let held = 0
  for (const term of terms) {
    // A term renews all slots, or none if its price list sells none: then its order names none.
    const { calculation } = orders.get(term.order) ?? {}
    const expected = calculation === undefined ? 0 : (numberIn(calculation, 'slots') ?? 0)
    if (term.slots !== expected || (expected !== 0 && expected !== held))
      problems.push(problem('term_slots', { term: term.seq, stored: term.slots, expected: held }))
    held = slotsAfter(term, purchases)
  }
  if (subscription.slots !== held)
    problems.push(problem('subscription_slots', { stored: subscription.slots, expected: held }))
  problems.push(...problemsOfLimit(deps, subscription, terms, purchases))
  for (const each of purchases) {
    const order = orders.get(each.order)
    const version = order && numberIn(order.calculation, 'catalogue')
    const catalogue = version === undefined ? undefined : await deps.pricing.version(reader, version)
    const term = terms.find(({ seq }) => seq === each.afterTerm)
    const isOrdered = isOrderOf(subscription, each, order) && catalogue !== undefined
    if (!isOrdered || !arePaid(each, order, catalogue)) problems.push(problem('slots_order', { order: each.order }))
    if (each.startsAt !== order?.createdAt || each.endsAt !== term?.endsAt)
      problems.push(problem('slots_time', { order: each.order }))
    problems.push(...(await problemsOfSlotsRefund(deps, reader, subscription, each, order)))
  }
  return problems
}

/** The limit is the last term's, and the slots in force until a job has lowered it at their end. */
function problemsOfLimit(
  { clock }: VpnDeps,
  { deviceLimit, slotsEndAt, deletedAt }: Subscription,
  terms: readonly Term[],
  purchases: readonly SlotPurchase[],
): FindingProblem[] {
  const last = terms.at(-1)
  const stored = momentOrNull(slotsEndAt)
  // After the deletion no job writes the end, which stays the beginning of a term.
  const isOfTerm = slotsEndAt === null || terms.some(({ startsAt }) => startsAt === slotsEndAt)
  if (deletedAt !== null) return isOfTerm ? [] : [problem('slots_end', { stored, expected: null })]
  // A term of an earlier version does not say its part.
  if (!last || last.deviceLimit === 0) return []
  const moment = Math.min(clock(), slotsEndAt === null ? Number.POSITIVE_INFINITY : slotsEndAt - 1)
  const expected = last.deviceLimit + slotsAt(moment, terms, purchases)
  const endsAt = slotsEndAfter(moment, terms, purchases)
  return [
    ...(expected === deviceLimit ? [] : [problem('subscription_devices', { stored: deviceLimit, expected })]),
    ...(endsAt === slotsEndAt ? [] : [problem('slots_end', { stored, expected: momentOrNull(endsAt) })]),
  ]
}

const momentOrNull = (of: number | null): string | null => (of === null ? null : momentText(of))

/** The device limit of a term is its price list's, or what the subscription had before if that is more. */
function problemsOfBaseLimit(term: Term, before: Term | undefined, planned: number): FindingProblem[] {
  const { seq, deviceLimit: stored } = term
  if (stored === 0) return []
  const max = Math.max(planned, before ? before.deviceLimit : 0)
  const isContinued = before?.endsAt === term.startsAt && before.deviceLimit > 0
  const isWrong = stored < (isContinued ? max : planned) || (stored > max && before?.deviceLimit !== 0)
  return isWrong ? [problem('term_devices', { term: seq, stored, expected: max })] : []
}

/** Whether the order bought these slots for this subscription. */
const isOrderOf = ({ uuid, customer }: Subscription, of: SlotPurchase, order: Order | undefined): order is Order =>
  order?.customer === customer &&
  order.product === product &&
  order.action === increaseAction &&
  textIn(order.calculation, 'uuid') === uuid &&
  numberIn(order.calculation, 'slots') === of.slots &&
  numberIn(order.input, 'count') === of.slots

const arePaid = (of: SlotPurchase, order: Order, catalogue: Catalogue): boolean => {
  const price = catalogue.vpn?.slots.has(of.slots) ? priceSlots(catalogue, of.slots).total : undefined
  return price === of.price && price === order.price && of.refund === catalogue.vpn?.refund
}

/** A refund of slots is the one in the ledger, and at most their unused part. */
async function problemsOfSlotsRefund(
  deps: VpnDeps,
  reader: Reader,
  { deletedAt }: Subscription,
  of: SlotPurchase,
  order: Order | undefined,
): Promise<FindingProblem[]> {
  const given = order ? await givenOf(deps, reader, order) : of.refunded
  const max = deletedAt === null ? zero : refundOf(of, deletedAt, null)
  if (given === of.refunded && of.refunded <= max) return []
  const [stored, expected] = [moneyText(of.refunded), moneyText(given < max ? given : max)]
  return [problem('slots_refund', { order: of.order, stored, expected })]
}

/** The terms must follow one another and add up to the end of the subscription: every month was charged. */
function* problemsOfTerms(subscription: Subscription, terms: readonly Term[]): Generator<FindingProblem> {
  if (terms.length === 0) {
    yield problem('subscription_unpaid')
    return
  }
  let ends = Number.NaN
  let anchorDay = 0
  for (const [index, term] of terms.entries()) {
    if (term.startsAt !== ends) anchorDay = new Date(term.startsAt).getUTCDate()
    const usedLater = terms[index + 1]?.usedBefore ?? usedBy(subscription)
    yield* problemsOfTerm(term, { expected: index + 1, ends, anchorDay, usedLater })
    yield* problemsOfUnused(subscription, term)
    ends = term.endsAt
  }
  const { expiresAt, anchorDay: storedDay, trafficLimit } = subscription
  const limit = limitOfTerms(terms)
  if (ends !== expiresAt)
    yield problem('subscription_end', { stored: momentText(expiresAt), expected: momentText(ends) })
  if (anchorDay !== storedDay) yield problem('subscription_day', { stored: storedDay, expected: anchorDay })
  if (limit !== trafficLimit)
    yield problem('subscription_traffic', { stored: orNull(trafficLimit), expected: orNull(limit) })
}

const orNull = (bytes: bigint | null): string | null => (bytes === null ? null : String(bytes))

/** Compares a term with its neighbours: `ends` is the end of the term before it. */
function* problemsOfTerm(
  { seq: term, months, startsAt, endsAt, usedBefore }: Term,
  of: { readonly expected: number; readonly ends: number; readonly anchorDay: number; readonly usedLater: bigint },
): Generator<FindingProblem> {
  const max = of.expected === 1 ? 0n : of.usedLater
  if (term !== of.expected) yield problem('term_number', { term, expected: of.expected })
  if (startsAt < of.ends) yield problem('term_overlap', { term })
  if (endsAt !== addMonths(startsAt, months, of.anchorDay)) yield problem('term_length', { term, months })
  if (usedBefore > max) yield problem('term_used', { term, stored: String(usedBefore), max: String(max) })
}

/** A refund is at most the unused part of the term of a deleted subscription. */
function* problemsOfUnused({ deletedAt }: Subscription, term: Term): Generator<FindingProblem> {
  if (term.refunded === 0n) return
  if (deletedAt === null) {
    yield problem('term_refund_open', { term: term.seq })
    return
  }
  const max = refundOf(term, deletedAt, null)
  if (term.refunded > max)
    yield problem('term_refund_large', { term: term.seq, stored: moneyText(term.refunded), max: moneyText(max) })
}

/** Compares a term with its order, and prices the order again from the price list that it names. */
function* problemsOfOrder(
  subscription: Subscription,
  of: Term,
  order: Order | undefined,
  catalogue: Catalogue | undefined,
): Generator<FindingProblem> {
  const { seq: term, months } = of
  if (!order) {
    yield problem('term_unpaid', { term, order: of.order })
    return
  }
  if (order.customer !== subscription.customer) yield problem('term_customer', { term, order: order.id })
  const action = term === 1 ? 'buy' : 'renew'
  if (order.action !== action) yield problem('term_action', { term, stored: order.action, expected: action })
  // The customer may change the months of an automatic renewal until it happens.
  if (valueIn(order.input, 'automatic') !== true && numberIn(order.input, 'period') !== months)
    yield problem('term_months', { term, months })
  const { calculation } = order
  if (textIn(calculation, 'uuid') !== subscription.uuid || numberIn(calculation, 'months') !== months)
    yield problem('term_calculation', { term, order: order.id })
  if (order.product !== product) yield problem('term_product', { term, stored: order.product })
  if (order.price !== of.price)
    yield problem('term_price', { term, stored: moneyText(of.price), expected: moneyText(order.price) })
  if (order.createdAt - of.startsAt > paidWithinMs)
    yield problem('term_early', { term, begins: momentText(of.startsAt), paid: momentText(order.createdAt) })
  yield* problemsOfPrice(of, order, catalogue)
}

/** Compares the price and the traffic of a term with its price list. */
function* problemsOfPrice(
  { seq: term, months, trafficGrant, slots }: Term,
  order: Order,
  catalogue: Catalogue | undefined,
): Generator<FindingProblem> {
  const plan = catalogue?.vpn
  if (!catalogue || !plan?.months.has(months)) {
    yield problem('term_plan', { order: order.id, months })
    return
  }
  const { total: price } = priceVpn(catalogue, months, slots)
  if (price !== order.price)
    yield problem('price_differs', { order: order.id, stored: moneyText(order.price), expected: moneyText(price) })
  const traffic = trafficFor(plan.trafficGigabytes, months)
  if (traffic !== trafficGrant)
    yield problem('term_traffic', { term, stored: orNull(trafficGrant), expected: orNull(traffic) })
}

/** The refund that a term records must be the one in the ledger; refunds by hand are not recorded in the term. */
async function problemsOfRefunded(deps: VpnDeps, reader: Reader, term: Term, order: Order | undefined) {
  if (!order || order.chargeSeq === null) return []
  const given = await givenOf(deps, reader, order)
  if (given === term.refunded) return []
  return [problem('term_refund', { term: term.seq, stored: moneyText(term.refunded), expected: moneyText(given) })]
}

/** What the ledger says was refunded of an order when its subscription was deleted. */
async function givenOf(deps: VpnDeps, reader: Reader, { customer, chargeSeq }: Order): Promise<Kopecks> {
  if (chargeSeq === null) return zero
  const refunds = await deps.ledgerAudit.refundsOf(reader, customer, chargeSeq)
  return total(refunds.filter(({ note }) => note.startsWith(deletedNote)).map(({ amount }) => amount))
}

function problemsOfLink(deps: VpnDeps, of: Subscription): FindingProblem[] {
  if (of.deletedAt !== null) return of.sealedLink === null ? [] : [problem('link_kept')]
  const secret = opened(() => secretOf(deps, of))
  if (secret === undefined || secret === '') return [problem('link_sealed')]
  return deps.sha256(secret).toHex() === of.linkDigest.toHex() ? [] : [problem('link_digest')]
}

/** Devices stay when slots end, so the largest limit that the subscription has had bounds them. */
function problemsOfCount(
  { deletedAt, deviceLimit }: Subscription,
  devices: readonly Peer[],
  terms: readonly Term[],
  purchases: readonly SlotPurchase[],
): FindingProblem[] {
  const held = devices.filter((each) => each.removedAt === null).length
  const most = Math.max(...terms.map((each) => each.deviceLimit)) + mostSlots(terms, purchases)
  const max = deletedAt === null ? Math.max(deviceLimit, most) : 0
  return held <= max ? [] : [problem('subscription_held', { held, max, deleted: deletedAt !== null })]
}

type Bytes = { readonly received: bigint; readonly sent: bigint }

function problemsOfTraffic(of: Subscription, devices: readonly Peer[]): FindingProblem[] {
  const received = devices.reduce((sum, each) => sum + each.received, 0n)
  const sent = devices.reduce((sum, each) => sum + each.sent, 0n)
  return problemsOfBytes(of, { received, sent }, 'devices')
}

const bytesText = ({ received, sent }: Bytes): string => `${received} + ${sent}`

const problemsOfBytes = (stored: Bytes, expected: Bytes, by: 'devices' | 'nodes'): FindingProblem[] =>
  stored.received === expected.received && stored.sent === expected.sent
    ? []
    : [problem('carried_bytes', { stored: bytesText(stored), expected: bytesText(expected), by })]

function problemsOfPeer(deps: VpnDeps, peer: Peer): FindingProblem[] {
  const ipv6 = readAddress(peer.ipv6)
  const isPair = ipv6?.version === 6 && (addressToNumber(ipv6) & 0xffffffffn) === peer.ipv4
  const madeAt = timeOfId(peer.id)
  return [
    ...problemsOfKey(deps, peer),
    ...problemsOfAccessKeys(deps, peer),
    ...(isPair ? [] : [problem('peer_ipv6', { stored: peer.ipv6 })]),
    ...(madeAt === peer.createdAt ? [] : [idDate(peer.createdAt, madeAt)]),
  ]
}

/** A private key that the shop made is kept while the device is, opens, and belongs to the public key. */
function problemsOfKey(deps: VpnDeps, peer: Peer): FindingProblem[] {
  if (peer.removedAt !== null || peer.ownKey) return peer.sealedKey === null ? [] : [problem('private_key_kept')]
  const bytes = readKey(opened(() => privateKeyOf(deps, peer)) ?? '')
  if (!bytes) return [problem('private_key_sealed')]
  return deps.publicKeyOf(bytes).toBase64() === peer.publicKey ? [] : [problem('private_key_other')]
}

/** A device has access keys that open until it is removed. A job makes those of devices of earlier versions. */
function problemsOfAccessKeys(deps: VpnDeps, peer: Peer): FindingProblem[] {
  if (peer.removedAt !== null) return peer.accessKeys === null ? [] : [problem('access_keys_kept')]
  return opened(() => openAccessKeys(deps, peer)) ? [] : [problem('access_keys_sealed')]
}

/** A sealed text that was changed or moved does not open; that is a finding and not a fault. */
function opened<Result>(open: () => Result): Result | undefined {
  try {
    return open()
  } catch {
    return undefined
  }
}
