import { addressToNumber, readAddress } from '../../core/address.ts'
import { type Audit, attempt, type Finding, type Verifier } from '../../core/finding.ts'
import { timeOfId } from '../../core/ids.ts'
import { readKey } from '../../core/wireguard.ts'
import type { Reader } from '../../db/transaction.ts'
import type { LedgerAudit } from '../ledger/index.ts'
import type { Order } from '../orders/rules.ts'
import type { Catalogue } from '../pricing/rules.ts'
import type { SubjectCount } from '../traffic/counts/rules.ts'
import { deletedNote, type Subscription, type Term } from './rules.ts'
import { ipv4Text } from './rules-addresses.ts'
import { catalogueVersionOf, problemsOfOrder, problemsOfTerms, problemsOfTraffic } from './rules-audit.ts'
import { createSubscriptions, type Subscriptions, type VpnDeps } from './service-subscriptions.ts'
import * as store from './store.ts'
import * as audits from './store-audit.ts'
import * as peers from './store-peers.ts'

const pageSize = 100

/** Recomputes the promises about the VPN: paid time, prices, devices, keys, addresses and bytes. */
export function createVpnVerifier(deps: VpnDeps & { readonly ledgerAudit: LedgerAudit }): Verifier {
  const subscriptions = createSubscriptions(deps)

  async function findCatalogue(reader: Reader, order: Order | undefined): Promise<Catalogue | undefined> {
    const version = catalogueVersionOf(order)
    return version === undefined ? undefined : deps.pricing.version(reader, version)
  }

  async function problemsOfPayment(
    reader: Reader,
    subscription: Subscription,
    terms: readonly Term[],
    orders: ReadonlyMap<string, Order>,
  ): Promise<string[]> {
    const problems = problemsOfTerms(subscription, terms)
    for (const term of terms) {
      const order = orders.get(term.order)
      problems.push(...problemsOfOrder(subscription, term, order, await findCatalogue(reader, order)))
      problems.push(...(await problemsOfGivenBack(reader, term, order)))
    }
    const last = terms.at(-1)
    const plan = (await findCatalogue(reader, last && orders.get(last.order)))?.vpn
    if (plan && plan.speedMegabits !== subscription.speedMegabits)
      problems.push('it is not as fast as was last paid for')
    if (plan && plan.deviceLimit > subscription.deviceLimit)
      problems.push('it has fewer devices than were last paid for')
    return problems
  }

  /** What a term says was given back when its subscription was deleted is what the ledger gave. */
  async function problemsOfGivenBack(reader: Reader, term: Term, order: Order | undefined): Promise<string[]> {
    if (!order || order.chargeSeq === null) return []
    const refund = await deps.ledgerAudit.refundOf(reader, order.customer, order.chargeSeq)
    const given = refund?.note.startsWith(deletedNote) ? refund.amount : 0n
    return given === term.refunded ? [] : [`term ${term.seq} does not say what was given back of it`]
  }

  function problemsOfLink(kept: store.Kept): string[] {
    if (kept.subscription.deletedAt !== null)
      return kept.link.sealed === null ? [] : ['it is deleted and keeps its link']
    const secret = opened(() => subscriptions.secretOf(kept))
    if (secret === undefined || secret === '') return ['its link does not open']
    return deps.sha256(secret).toHex() === kept.link.digest.toHex() ? [] : ['its link is not the one it is found by']
  }

  async function verifyPage(
    reader: Reader,
    page: readonly store.Kept[],
  ): Promise<{ findings: Finding[]; devices: number }> {
    const uuids = page.map((each) => each.subscription.uuid)
    const terms = Map.groupBy(await store.listTerms(reader, uuids), (term) => term.subscription)
    const ids = [...terms.values()].flat().map((term) => term.order)
    const orders = new Map((await deps.orders.findAudited(reader, ids)).map((order) => [order.id as string, order]))
    const all = await peers.listAll(reader, uuids)
    const devices = Map.groupBy(all, (each) => each.peer.subscription)
    const counts = await deps.traffic.counts.totals(
      reader,
      all.map((each) => each.peer.id),
    )
    const findings: Finding[] = []
    for (const kept of page) {
      const { subscription } = kept
      const own = devices.get(subscription.uuid) ?? []
      const where = `subscription ${subscription.uuid}`
      await attempt(findings, { promise: 'vpn', where }, async () => {
        const problems = [
          ...(await problemsOfPayment(reader, subscription, terms.get(subscription.uuid) ?? [], orders)),
          ...problemsOfLink(kept),
          ...problemsOfCount(subscription, own),
          ...problemsOfTraffic(
            subscription,
            own.map((each) => each.peer),
          ),
        ]
        for (const problem of problems) findings.push({ promise: 'vpn', where, problem })
      })
      for (const device of own) {
        const of = { promise: 'vpn', where: `device ${device.peer.id}` }
        await attempt(findings, of, () => {
          const problems = [...problemsOfPeer(deps, subscriptions, device), ...problemsOfBytes(device, counts)]
          for (const problem of problems) findings.push({ ...of, problem })
        })
      }
    }
    return { findings, devices: all.length }
  }

  return {
    name: 'vpn',
    verify: (onProgress) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = await verifyWhole(deps, reader)
        let seen = 0
        let devices = 0
        for (let after = ''; ; ) {
          const page = await store.pageAll(reader, after, pageSize)
          const outcome = await verifyPage(reader, page)
          findings.push(...outcome.findings)
          seen += page.length
          devices += outcome.devices
          onProgress?.(seen)
          const last = page.at(-1)
          if (!last || page.length < pageSize) break
          after = last.subscription.uuid
        }
        return { findings, covered: { subscriptions: seen, devices } }
      }),
  }
}

/** What shows only in the whole: things held twice, and things that belong to nothing. */
async function verifyWhole(deps: VpnDeps, reader: Reader): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const each of await audits.listDuplicates(reader)) {
    findings.push({
      promise: 'vpn',
      where: `${each.what} ${each.value}`,
      problem: `${each.held} devices hold it at once`,
    })
  }
  for (const id of await audits.listWithoutAddress(reader)) {
    findings.push({ promise: 'vpn', where: `device ${id}`, problem: 'its address is not given to it' })
  }
  for (const ipv4 of await audits.listStrayAddresses(reader)) {
    findings.push({
      promise: 'vpn',
      where: `address ${ipv4Text(ipv4)}`,
      problem: 'it is given to no device that holds it',
    })
  }
  const orphans = await audits.countOrphans(reader)
  if (orphans > 0) findings.push({ promise: 'vpn', where: 'devices', problem: `${orphans} belong to no subscription` })
  for (let after = ''; ; ) {
    const subjects = await deps.traffic.counts.subjects(reader, 'dev_', after, pageSize)
    const owners = subjects.length > 0 ? await peers.findOwners(reader, subjects) : new Map()
    for (const subject of subjects) {
      if (owners.has(subject)) continue
      findings.push({
        promise: 'vpn',
        where: `device ${subject}`,
        problem: 'nodes have counted for it, and it is not there',
      })
    }
    const last = subjects.at(-1)
    if (last === undefined || subjects.length < pageSize) break
    after = last
  }
  const [ordered, paid] = [await deps.orders.countOf(reader, 'vpn'), await store.countTerms(reader)]
  if (ordered !== paid) {
    findings.push({
      promise: 'vpn',
      where: 'orders',
      problem: `${ordered} were placed, and time was given for ${paid}`,
    })
  }
  return findings
}

function problemsOfCount(subscription: Subscription, devices: readonly peers.KeptPeer[]): string[] {
  const held = devices.filter((each) => each.peer.removedAt === null).length
  if (subscription.deletedAt !== null) return held === 0 ? [] : ['it is deleted and holds devices']
  return held <= subscription.deviceLimit ? [] : [`it holds ${held} devices of ${subscription.deviceLimit}`]
}

function problemsOfPeer(deps: VpnDeps, subscriptions: Subscriptions, device: peers.KeptPeer): string[] {
  const { peer } = device
  const ipv6 = readAddress(peer.ipv6)
  return [
    ...problemsOfKey(deps, subscriptions, device),
    ...(ipv6?.version === 6 && (addressToNumber(ipv6) & 0xffffffffn) === peer.ipv4
      ? []
      : ['its IPv6 address is not the one of its IPv4 address']),
    ...(timeOfId(peer.id) === peer.createdAt ? [] : ['it is not dated as its id is']),
  ]
}

/** A key that the shop has made is kept while the device is, opens, and belongs to the public key. */
function problemsOfKey(deps: VpnDeps, subscriptions: Subscriptions, device: peers.KeptPeer): string[] {
  const { peer } = device
  const kept = device.sealedKey !== null
  if (peer.removedAt !== null || peer.ownKey) return kept ? ['it keeps a private key that it must not have'] : []
  const text = opened(() => subscriptions.privateKeyOf(device))
  const bytes = text === undefined ? undefined : readKey(text)
  if (!bytes) return ['its private key does not open']
  return deps.publicKeyOf(bytes).toBase64() === peer.publicKey ? [] : ['its private key belongs to another public key']
}

function problemsOfBytes({ peer }: peers.KeptPeer, counts: ReadonlyMap<string, SubjectCount>): string[] {
  const count = counts.get(peer.id)
  const isSame = (count?.received ?? 0n) === peer.received && (count?.sent ?? 0n) === peer.sent
  return isSame ? [] : ['it has carried other bytes than nodes have reported']
}

/** A sealed text that was changed or moved does not open; that is a finding and not a fault. */
function opened<Result>(open: () => Result): Result | undefined {
  try {
    return open()
  } catch {
    return undefined
  }
}
