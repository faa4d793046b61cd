import { contains, formatAddress, formatPrefix, type Prefix, readAddress, readPrefix } from '../../core/address.ts'
import { readCountry } from '../../core/country.ts'
import { type Finding, maxFindings } from '../../core/finding.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { Reader } from '../../db/transaction.ts'
import type { Fleet } from '../fleet/index.ts'
import type { Stock } from './index.ts'
import {
  covers,
  isBlock,
  isNormal,
  type MayServe,
  mayCarry,
  offsetOf,
  type StockRange,
  type Trial,
} from './ranges/rules.ts'
import * as rangeStore from './ranges/store.ts'
import { sizeOf, type WalkedLease } from './rules.ts'
import * as store from './store.ts'

const maxShown = 100
const pageSize = 500

export type AuditDeps = {
  /** The next number that a counter gives out. */
  readonly numbers: (reader: Reader, counter: string) => Promise<number>
  readonly fleet: Pick<Fleet, 'nodes'>
  readonly stock: { readonly ranges: Pick<Stock['ranges'], 'judge'> }
}

/** Checks all slots and leases. `onLease` checks each lease against its proxy. */
export async function verifyStock(
  deps: AuditDeps,
  reader: Reader,
  onLease: (lease: WalkedLease) => Finding | undefined,
): Promise<{ findings: Finding[]; places: number; leases: number }> {
  const findings: Finding[] = []
  const note = (promise: 'lease' | 'stock', where: string, problem: string) =>
    void findings.push({ promise, where, problem })
  for (const { slot: place, state } of await store.disagreements(reader, maxShown)) {
    note(
      'lease',
      `place ${place}`,
      state === 'leased' ? 'it is leased without a lease' : `it is ${state} and has an open lease`,
    )
  }
  for (const place of await store.overlaps(reader, maxShown)) {
    note('lease', `place ${place}`, 'it was leased to two at once, or is no place')
  }
  for (const place of await store.misdated(reader, maxShown)) {
    note('lease', `place ${place}`, 'it is not free from the end of its last lease on')
  }
  for (const address of await store.mixedAddresses(reader, maxShown)) {
    note('stock', `address ${address}`, 'it is in stock as two kinds')
  }
  const carrying = await createCarryingCheck(reader, deps.fleet, await deps.stock.ranges.judge())
  findings.push(...carrying.findings)
  for (const address of await store.soldTwice(reader, maxShown)) {
    note('stock', `address ${address}`, 'it is in stock, and an exit of a premium pool')
  }
  const walked = await walkSlots(reader, findings, (slot) => carrying.problemOf(slot))
  const next = await deps.numbers(reader, 'place')
  if (walked.last >= next) {
    findings.push({ promise: 'counter', where: 'counter place', problem: `it gives out ${next} again` })
  }
  return { findings, places: walked.places, leases: await walkLeases(reader, findings, onLease) }
}

/** Returns how many leases are open. */
async function walkLeases(
  reader: Reader,
  findings: Finding[],
  onLease: (lease: WalkedLease) => Finding | undefined,
): Promise<number> {
  let open = 0
  const read = (after: Pick<WalkedLease, 'slot' | 'startedAt'>, limit: number) =>
    store.leasesAfter(reader, after, limit)
  const from = { start: { slot: -1, startedAt: -1 }, size: pageSize, keyOf: (lease: WalkedLease) => lease }
  for await (const page of keysetPages(read, from)) {
    for (const lease of page) {
      if (lease.endedAt === null) open += 1
      const finding = onLease(lease)
      if (finding) findings.push(finding)
    }
  }
  return open
}

async function walkSlots(
  reader: Reader,
  findings: Finding[],
  carryingProblem: (slot: store.SlotRecord) => string | undefined,
): Promise<{ places: number; last: number }> {
  let [places, last] = [0, -1]
  const read = (after: number, limit: number) => store.slotsAfter(reader, after, limit)
  const from = { start: -1, size: pageSize, keyOf: (slot: store.SlotRecord) => slot.id }
  for await (const page of keysetPages(read, from)) {
    for (const slot of page) {
      const problem = problemOfSlot(slot) ?? carryingProblem(slot)
      if (problem && findings.length < maxFindings) {
        findings.push({ promise: 'stock', where: `place ${slot.id}`, problem })
      }
    }
    places += page.length
    last = page.at(-1)?.id ?? last
  }
  return { places, last }
}

function problemOfSlot(slot: store.SlotRecord): string | undefined {
  const address = readAddress(slot.address)
  if (!address || formatAddress(address) !== slot.address) return 'its address cannot be read'
  if (address.version !== (slot.ipv === 6 ? 6 : 4)) return 'its address is not of its kind'
  return readCountry(slot.country) === slot.country ? undefined : 'its country is none'
}

/** The address that a node called from is in the range, and the call has a time. */
function isProofSound(prefix: Prefix, { provenFrom, provenAt }: Trial): boolean {
  if (provenFrom === null) return true
  const address = readAddress(provenFrom)
  return address !== undefined && contains(prefix, address) && provenAt !== null
}

type Known = {
  readonly range: StockRange
  readonly prefix: Prefix
  readonly isBlock: boolean
  readonly trials: Trial[]
}

const carriedWrong = 'it is carried by no node that said so, or by none while one does'

/**
 * Checks that the node that serves a slot has reported the address and may serve it, and that no slot is without a node
 * while one could serve it. Ranges, trials and blocks are checked here, slots by `problemOf`.
 */
async function createCarryingCheck(reader: Reader, fleet: Pick<Fleet, 'nodes'>, mayServe: MayServe) {
  const gateways = new Set((await fleet.nodes('gateway')).map((node): string => node.id))
  const findings: Finding[] = []
  const note = (where: string, problem: string) => {
    if (findings.length < maxFindings) findings.push({ promise: 'stock', where, problem })
  }
  const ranges = new Map<number, Known>()
  const byPrefix = new Map<string, Known>()
  for (const range of await rangeStore.listRanges(reader)) {
    const prefix = readPrefix(range.prefix)
    if (!prefix || formatPrefix(prefix) !== range.prefix) note(`range ${range.id}`, 'its prefix cannot be read')
    else {
      const known = { range, prefix, isBlock: isBlock(range), trials: [] }
      ranges.set(range.id, known)
      byPrefix.set(range.prefix, known)
    }
  }
  for (const trial of await rangeStore.allTrials(reader)) {
    const known = ranges.get(trial.range)
    const size = known && (known.isBlock ? 1 : Number(sizeOf(known.prefix)))
    const isGood = known && size !== undefined && mayCarry(known.range, trial.node) && isNormal(trial.served, size)
    if (isGood && gateways.has(trial.node)) known.trials.push(trial)
    else note(`range ${trial.range}`, 'a node speaks of it that may not, or of addresses that it has not')
    if (known && !isProofSound(known.prefix, trial)) {
      note(`range ${trial.range}`, 'the proof of a node is a call from an address outside of the range, or has no time')
    }
  }
  const carriedRight = (known: Known, offset: number, carrier: string | null): boolean => {
    const able = known.trials.filter((trial) => covers(trial.served, offset))
    if (carrier === null) return !able.some((trial) => mayServe(known.range, trial))
    return able.some((trial) => trial.node === carrier)
  }
  for (const block of await rangeStore.listBlocks(reader)) {
    const known = byPrefix.get(block.prefix)
    if (!known || !carriedRight(known, 0, block.carrier)) note(`block ${block.prefix}`, carriedWrong)
  }

  return {
    findings,
    problemOf({ range, address: text, carrier, knownCarrier, state }: store.SlotRecord): string | undefined {
      const known = range === null ? undefined : ranges.get(range)
      const address = readAddress(text)
      if (knownCarrier !== null && (state !== 'leased' || !gateways.has(knownCarrier))) {
        return 'its known carrier does not exist, or it has no holder'
      }
      if (range === null) return carrier === null ? undefined : 'it is carried and in no range'
      if (!known || !address || !contains(known.prefix, address)) return 'it is not in the range that it belongs to'
      const offset = known.isBlock ? 0 : offsetOf(known.prefix, address)
      return carriedRight(known, offset, carrier) ? undefined : carriedWrong
    },
  }
}
