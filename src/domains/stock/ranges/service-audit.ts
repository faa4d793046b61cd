import { contains, formatPrefix, type Prefix, readAddress, readPrefix } from '../../../core/address.ts'
import { type Finding, maxFindings } from '../../../core/finding.ts'
import type { Reader } from '../../../db/transaction.ts'
import type { Fleet } from '../../fleet/index.ts'
import { mostWrittenOut, sizeOf } from '../rules.ts'
import { covers, isNormal, type MayServe, mayCarry, offsetOf, type Range, type Trial } from './rules.ts'
import * as store from './store.ts'

/** The address that a node called from is in the range, and the call has a time. */
function isProofSound(prefix: Prefix, { provenFrom, provenAt }: Trial): boolean {
  if (provenFrom === null) return true
  const address = readAddress(provenFrom)
  return address !== undefined && contains(prefix, address) && provenAt !== null
}

type Placed = {
  readonly address: string
  readonly range: number | null
  readonly carrier: string | null
  readonly state: string
  readonly knownCarrier: string | null
}

type Known = { readonly range: Range; readonly prefix: Prefix; readonly isBlock: boolean; readonly trials: Trial[] }

/**
 * That the node that carries a place has said that it can use it and may, and that no node is left out that could and
 * has proven it. A proof may have ended since. Ranges, what nodes said and blocks are looked at here; places one by one
 * as they are walked.
 */
export async function createCarryingCheck(reader: Reader, fleet: Pick<Fleet, 'nodes'>, mayServe: MayServe) {
  const gateways = new Set((await fleet.nodes('gateway')).map((node) => node.id as string))
  const findings: Finding[] = []
  const note = (where: string, problem: string) => {
    if (findings.length < maxFindings) findings.push({ promise: 'stock', where, problem })
  }
  const ranges = new Map<number, Known>()
  const byPrefix = new Map<string, Known>()
  for (const range of await store.listRanges(reader)) {
    const prefix = readPrefix(range.prefix)
    if (!prefix || formatPrefix(prefix) !== range.prefix) note(`range ${range.id}`, 'its prefix cannot be read')
    else {
      const known = { range, prefix, isBlock: sizeOf(prefix) > mostWrittenOut, trials: [] }
      ranges.set(range.id, known)
      byPrefix.set(range.prefix, known)
    }
  }
  for (const trial of await store.allTrials(reader)) {
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
  for (const block of await store.listBlocks(reader)) {
    const known = byPrefix.get(block.prefix)
    if (!known || !carriedRight(known, 0, block.carrier)) {
      note(`block ${block.prefix}`, 'it is carried by no node that said so, or by none while one does')
    }
  }

  return {
    findings,
    problemOf(place: Placed): string | undefined {
      const known = place.range === null ? undefined : ranges.get(place.range)
      const address = readAddress(place.address)
      const knows = place.knownCarrier
      if (knows !== null && (place.state !== 'leased' || !gateways.has(knows))) {
        return 'its holder knows of a node that there is not, or nobody holds it'
      }
      if (place.range === null) return place.carrier === null ? undefined : 'it is carried and in no range'
      if (!known || !address || !contains(known.prefix, address)) return 'it is not in the range that it belongs to'
      const offset = known.isBlock ? 0 : offsetOf(known.prefix, address)
      return carriedRight(known, offset, place.carrier)
        ? undefined
        : 'it is carried by no node that said so, or by none while one does'
    },
  }
}
