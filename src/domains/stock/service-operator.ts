import {
  type Address,
  contains,
  formatAddress,
  formatPrefix,
  type Prefix,
  readAddress,
  readPrefix,
} from '../../core/address.ts'
import { readCountry } from '../../core/country.ts'
import { type Finding, maxFindings } from '../../core/finding.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import type { Fleet } from '../fleet/index.ts'
import { noSuchAddress, partOfBlock } from './errors.ts'
import type { Ranges } from './ranges/service.ts'
import { createCarryingCheck } from './ranges/service-audit.ts'
import { scattered, sizeOf, type WalkedLease } from './rules.ts'
import * as store from './store-operator.ts'

const mostShown = 100
const pageSize = 500
/** So many addresses are asked for one by one; more are looked for among all places. */
const fewAddresses = 4096n

/** Part of a range that is taken off sale, or put back. */
export type Closed = {
  readonly as: 'retired' | 'quarantined'
  readonly undo: boolean
  readonly places: readonly number[]
  readonly blocks: readonly string[]
}

function isWithin(prefix: Prefix, text: string): boolean {
  const address = readAddress(text)
  return address !== undefined && address.version === prefix.base.version && contains(prefix, address)
}

export type StockOperator = ReturnType<typeof createStockOperator>

/** What an operator does with stock: look, count, take out, put back. */
export function createStockOperator(deps: {
  db: Database
  clock: Clock
  /** The next number that a counter gives out. */
  numbers: (reader: Reader, counter: string) => Promise<number>
  fleet: Pick<Fleet, 'nodes'>
  stock: { readonly ranges: Pick<Ranges, 'judge'> }
}) {
  const { db, clock } = deps

  async function change(address: Address, work: (text: string) => Promise<number>): Promise<number> {
    const count = await work(formatAddress(address))
    if (count === 0) throw noSuchAddress()
    return count
  }

  return {
    list: (filter: Parameters<typeof store.listPlaces>[1]) => store.listPlaces(db, filter),
    counts: () => store.countByState(db),
    blocks: () => store.listPrefixes(db),
    retire: (address: Address) => change(address, (text) => db.transact((tx) => store.retire(tx, text))),
    restore: (address: Address) => change(address, (text) => db.transact((tx) => store.restore(tx, text))),
    quarantine: (address: Address, days: number) =>
      change(address, (text) => db.transact((tx) => store.quarantine(tx, text, clock() + days * 86_400_000))),

    async retirePrefix(prefix: Prefix): Promise<void> {
      if (!(await db.transact((tx) => store.retirePrefix(tx, formatPrefix(prefix), clock())))) throw noSuchAddress()
    },

    async restorePrefix(prefix: Prefix): Promise<void> {
      if (!(await db.transact((tx) => store.restorePrefix(tx, formatPrefix(prefix))))) throw noSuchAddress()
    },

    /** Every place of a prefix, a page at a time: by its addresses where they are few, else among all places. */
    async *placesWithin(prefix: Prefix): AsyncGenerator<readonly store.PlaceRecord[]> {
      if (sizeOf(prefix) <= fewAddresses) {
        yield await store.placesOf(db, [...scattered(prefix)])
        return
      }
      for (let after = -1; ; ) {
        const page = await store.placesAfter(db, after, pageSize)
        yield page.filter((place) => isWithin(prefix, place.address))
        const last = page.at(-1)
        if (!last || page.length < pageSize) return
        after = last.id
      }
    },

    /** The large blocks of a prefix. One that is larger than the prefix cannot be closed in part: it is refused. */
    async blocksWithin(prefix: Prefix): Promise<string[]> {
      const blocks = (await store.listPrefixes(db)).flatMap((each) => readPrefix(each.prefix) ?? [])
      const around = blocks.find((block) => block.length < prefix.length && contains(block, prefix.base))
      if (around) throw partOfBlock(formatPrefix(around))
      return blocks.filter((block) => isWithin(prefix, formatAddress(block.base))).map(formatPrefix)
    },

    holdersOf: (places: readonly number[]) => store.holdersOf(db, places),

    /** One page of places and blocks, in one transaction; repeating it changes nothing. */
    close: (what: Closed): Promise<void> =>
      db.transact(async (tx) => {
        const nowMs = clock()
        if (what.as === 'retired') {
          ;(what.undo ? store.restorePlaces : store.retirePlaces)(tx, what.places)
          for (const block of what.blocks) {
            await (what.undo ? store.restorePrefix(tx, block) : store.retirePrefix(tx, block, nowMs))
          }
          return
        }
        if (what.undo) store.endQuarantine(tx, what.places)
        else store.setQuarantined(tx, what.places, nowMs)
        for (const block of what.blocks) store.setBlockQuarantined(tx, block, !what.undo)
      }),

    /** Who held an address between two moments: an abuse report names an address and a time. */
    holdersBetween: (address: Address, from: number, to: number) =>
      store.holdersBetween(db, formatAddress(address), from, to),

    /** Every address that a proxy has had, the oldest first. It reads all leases: for an operator's question. */
    leasesOf: (proxy: number) => store.leasesOf(db, proxy),

    /** Every promise about places and leases, and each open lease, for whoever knows the proxies. */
    async verify(
      reader: Reader,
      onLease: (lease: WalkedLease) => Finding | undefined,
    ): Promise<{ findings: Finding[]; places: number; leases: number }> {
      const findings: Finding[] = []
      for (const each of await store.disagreements(reader, mostShown)) {
        findings.push({
          promise: 'lease',
          where: `place ${each.place}`,
          problem: each.state === 'leased' ? 'it is leased to nobody' : `it is ${each.state} and has an open lease`,
        })
      }
      for (const place of await store.overlaps(reader, mostShown)) {
        findings.push({
          promise: 'lease',
          where: `place ${place}`,
          problem: 'it was leased to two at once, or is no place',
        })
      }
      for (const place of await store.misdated(reader, mostShown)) {
        const problem = 'it is not free from the end of its last lease on'
        findings.push({ promise: 'lease', where: `place ${place}`, problem })
      }
      for (const address of await store.mixedAddresses(reader, mostShown)) {
        findings.push({ promise: 'stock', where: `address ${address}`, problem: 'it is in stock as two kinds' })
      }
      const carrying = await createCarryingCheck(reader, deps.fleet, await deps.stock.ranges.judge())
      findings.push(...carrying.findings, ...(await sharedAddresses(reader)))
      const walked = await walkPlaces(reader, findings, (place) => carrying.problemOf(place))
      const next = await deps.numbers(reader, 'place')
      if (walked.last >= next) {
        findings.push({ promise: 'counter', where: 'counter place', problem: `it gives out ${next} again` })
      }
      let leases = 0
      for (let after = { place: -1, startedAt: -1 }; ; ) {
        const page = await store.leasesAfter(reader, after, 500)
        for (const lease of page) {
          if (lease.endedAt === null) leases += 1
          const finding = onLease(lease)
          if (finding) findings.push(finding)
        }
        const last = page.at(-1)
        if (!last || page.length < 500) break
        after = last
      }
      return { findings, places: walked.places, leases }
    },
  }
}

const sharedAddresses = async (reader: Reader): Promise<Finding[]> =>
  (await store.soldTwice(reader, mostShown)).map((address) => ({
    promise: 'stock',
    where: `address ${address}`,
    problem: 'it is in stock, and an exit of a premium pool',
  }))

/** Each place by itself. */
async function walkPlaces(
  reader: Reader,
  findings: Finding[],
  carryingProblem: (place: store.PlaceRecord) => string | undefined,
): Promise<{ places: number; last: number }> {
  let places = 0
  for (let after = -1; ; ) {
    const page = await store.placesAfter(reader, after, 500)
    for (const place of page) {
      const problem = problemOfPlace(place) ?? carryingProblem(place)
      if (problem && findings.length < maxFindings) {
        findings.push({ promise: 'stock', where: `place ${place.id}`, problem })
      }
    }
    places += page.length
    const last = page.at(-1)
    after = last?.id ?? after
    if (!last || page.length < 500) return { places, last: after }
  }
}

function problemOfPlace(place: store.PlaceRecord): string | undefined {
  const address = readAddress(place.address)
  if (!address || formatAddress(address) !== place.address) return 'its address cannot be read'
  if (address.version !== (place.ipv === 6 ? 6 : 4)) return 'its address is not of its kind'
  return readCountry(place.country) === place.country ? undefined : 'its country is none'
}
