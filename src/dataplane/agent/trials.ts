import { type Address, addressFromNumber, addressToNumber, type Prefix, readPrefix } from '../../core/address.ts'
import type { NodeRange, StatePage } from '../../node-protocol/state.ts'
import {
  maxProblems,
  maxRangesTried,
  maxRuns,
  maxRunsAtOnce,
  maxTriedSingly,
  type TriedRange,
} from '../../node-protocol/tried.ts'
import { type CallShop, createEgressCheck, type EgressCheck } from './egress-check.ts'
import { type Chance, createBell, createLimitedLog, growingPause, type NodeLog, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'
import type { PagePlace } from './sync.ts'

/** All addresses are tried, and all results reported, this often. */
const everyMs = 10_000
/** Addresses tried without a pause. */
const sliceSize = 256
/** Repeated trials use at most a twentieth of the time. */
const restTimes = 19
/** Each address is called from within five minutes, at 4 to 50 calls a second. */
const callAllMs = 300_000
const callEveryMs = 250
const minCallPauseMs = 20
const maxCallsAtOnce = 64
const firstPauseMs = 100
const maxPauseMs = 5_000
/** Random samples per trial of a large block. */
const drawnOfBlock = 4
/** Changes are reported this soon during a round. */
const sayEveryMs = 100
/** New ranges share so many calls before they are reported as serving. */
const firstCalls = 2048
const maxFirstCalls = 256
const minFirstCalls = 8

type Held = {
  readonly range: NodeRange
  readonly prefix: Prefix
  /** Undefined if the shop cannot be called from an address. */
  readonly egress: EgressCheck | undefined
  outcome: TriedRange | undefined
  isNew: boolean
}

/** Returns why an address cannot be used, or undefined. */
export type TryAddress = (address: Address) => string | undefined

/** Tries this node's addresses in rounds and reports which can be used: changes at once, everything each round. */
export function createTrials(deps: {
  readonly node: string
  readonly link: Pick<ShopLink, 'tried'>
  readonly tryAddress: TryAddress
  readonly callShop: CallShop | undefined
  /** False for loopback and in a sandbox, where egress proves nothing. */
  readonly needsEgressCheck: (address: Address) => boolean
  readonly timing: Timing
  readonly chance: Chance
  readonly log: NodeLog
}) {
  const { timing } = deps
  const bell = createBell(timing)
  const limitedLog = createLimitedLog(deps.log, timing.now)
  const held = new Map<number, Held>()
  let unnamed: Set<number> | undefined
  const { promise: ready, resolve: setReady } = Promise.withResolvers<void>()
  let failures = 0
  let slice = 0
  let sliceBeganAt = timing.now()
  let firstCallsEach = maxFirstCalls

  function put(range: NodeRange): void {
    unnamed?.delete(range.id)
    const prefix = readPrefix(range.prefix)
    const isMine = !range.gone && (range.homes.length === 0 || range.homes.includes(deps.node))
    if (!isMine || !prefix) held.delete(range.id)
    else {
      const canUse = (address: Address) => deps.tryAddress(address) === undefined
      const call = deps.callShop
      const egress = call && createEgressCheck({ ...deps, prefix, isBlock: isBlock(prefix), call, canUse })
      held.set(range.id, { range, prefix, egress, outcome: held.get(range.id)?.outcome, isNew: true })
    }
  }

  /** Yields after each slice; rests only in repeated trials. */
  async function breathe(isNew: boolean, end: AbortSignal): Promise<void> {
    slice += 1
    if (slice < sliceSize) return
    slice = 0
    await timing.pause(isNew ? 0 : (timing.now() - sliceBeganAt) * restTimes, end)
    sliceBeganAt = timing.now()
  }

  async function tryEach(of: Held, end: AbortSignal): Promise<TriedRange> {
    const finding = createFinding(of.range.id)
    const base = addressToNumber(of.prefix.base)
    const size = sizeOf(of.prefix)
    for (let offset = 0; offset < size && !end.aborted; offset += 1) {
      const address = addressFromNumber(of.prefix.base.version, base + BigInt(offset))
      finding.add(offset, deps.tryAddress(address) ?? of.egress?.problemOf(address))
      await breathe(of.isNew, end)
    }
    return finding.end(of.egress?.seenAs ?? null, unprovenOf(of))
  }

  /** A block serves as a whole: random samples decide. */
  function tryBlock(of: Held): TriedRange {
    const finding = createFinding(of.range.id)
    const base = addressToNumber(of.prefix.base)
    const size = 1n << BigInt(of.prefix.base.bytes.length * 8 - of.prefix.length)
    let problem: string | undefined
    for (let drawn = 0; drawn < drawnOfBlock && problem === undefined; drawn += 1) {
      const offset = (size * BigInt(Math.floor(deps.chance() * 2 ** 40))) / 2n ** 40n
      const address = addressFromNumber(of.prefix.base.version, base + offset)
      problem = deps.tryAddress(address) ?? of.egress?.problemOf(address)
    }
    finding.add(0, problem)
    return finding.end(of.egress?.seenAs ?? null, unprovenOf(of))
  }

  /** Why egress is unproven. Reported, but no reason to stop serving. */
  function unprovenOf(of: Held): string | undefined {
    if (!deps.needsEgressCheck(of.prefix.base) || of.egress?.isReached) return undefined
    if (!of.egress) return 'leaving_not_tried_no_public_url'
    return of.egress.isDistrusted ? 'leaving_not_tried_shop_not_trusted' : 'leaving_not_tried_shop_not_reached'
  }

  /** Returns the result if it changed. */
  async function tryRange(of: Held, end: AbortSignal): Promise<TriedRange | undefined> {
    const before = JSON.stringify(of.outcome)
    if (of.isNew && deps.needsEgressCheck(of.prefix.base)) await of.egress?.begin(firstCallsEach, end)
    const outcome = isBlock(of.prefix) ? tryBlock(of) : await tryEach(of, end)
    if (end.aborted || held.get(of.range.id) !== of) return undefined
    of.outcome = outcome
    const isChanged = of.isNew || JSON.stringify(outcome) !== before
    of.isNew = false
    return isChanged ? outcome : undefined
  }

  /** Sends reports one by one; resolves to whether the shop took all. */
  async function tell(ranges: readonly TriedRange[], end: AbortSignal): Promise<boolean> {
    for (const part of parts(ranges)) {
      try {
        await deps.link.tried({ ranges: part }, end)
        failures = 0
      } catch (error) {
        if (!(error instanceof LinkError)) throw error
        failures += 1
        if (!end.aborted) limitedLog(error.trouble === 'fault' ? 'error' : 'warn', 'trials not taken', { fault: error })
        await timing.pause(growingPause(failures, firstPauseMs, maxPauseMs, deps.chance), end)
        return false
      }
    }
    return true
  }

  /** New ranges first, because they wait to be sold. */
  async function round(end: AbortSignal): Promise<void> {
    const inTurn = [...held.values()].toSorted((a, b) => Number(b.isNew) - Number(a.isNew))
    const fresh = inTurn.filter((each) => each.isNew && deps.needsEgressCheck(each.prefix.base)).length
    firstCallsEach = Math.max(minFirstCalls, Math.min(maxFirstCalls, Math.floor(firstCalls / Math.max(1, fresh))))
    let unsaid: TriedRange[] = []
    let saidAt = timing.now()
    sliceBeganAt = timing.now()
    for (const each of inTurn) {
      const changed = held.get(each.range.id) === each ? await tryRange(each, end) : undefined
      if (end.aborted) return
      if (changed) unsaid.push(changed)
      if (unsaid.length === 0 || (unsaid.length < maxRangesTried && timing.now() - saidAt < sayEveryMs)) continue
      await tell(unsaid, end)
      unsaid = []
      saidAt = timing.now()
    }
    const all = [...held.values()].flatMap(({ outcome }) => outcome ?? [])
    if (await tell(all, end)) setReady()
  }

  async function listen(call: Promise<boolean>): Promise<void> {
    if (await call) bell.ring()
  }

  async function callFromEach(ranges: readonly Held[], end: AbortSignal): Promise<void> {
    const turns = ranges.reduce((sum, each) => sum + (each.egress?.turns ?? 0), 0)
    const pauseMs = Math.min(callEveryMs, Math.max(minCallPauseMs, callAllMs / turns))
    const calls = new Set<Promise<void>>()
    let passedOver = 0
    let beganAt = timing.now()
    for (const each of ranges) {
      for (
        let turn = 0;
        turn < (each.egress?.turns ?? 0) && held.get(each.range.id) === each && !end.aborted;
        turn += 1
      ) {
        const call = each.egress?.step(end)
        if (call) {
          const ended = listen(call).finally(() => calls.delete(ended))
          calls.add(ended)
          await timing.pause(pauseMs, end)
          if (calls.size >= maxCallsAtOnce) await Promise.race(calls)
        } else if (++passedOver % sliceSize === 0) await timing.pause((timing.now() - beganAt) * restTimes, end)
        else continue
        beganAt = timing.now()
      }
    }
    await Promise.all(calls)
  }

  async function callOn(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      await timing.pause(callEveryMs, end)
      const inTurn = [...held.values()].filter((each) => !each.isNew && deps.needsEgressCheck(each.prefix.base))
      await callFromEach(inTurn, end)
    }
  }

  async function tryOn(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      const beganAt = timing.now()
      bell.quiet()
      await round(end)
      await bell.wait(Math.max(0, beganAt + everyMs - timing.now()))
    }
  }

  return {
    /** Resolves after the first complete report. */
    ready,

    /** Takes ranges from a state page; a whole read drops those that it omits. */
    hear(page: Pick<StatePage, 'ranges'>, place: PagePlace): void {
      if (place.isFirst) unnamed = new Set(held.keys())
      for (const range of page.ranges) put(range)
      if (place.isWhole && place.isLast) {
        for (const id of unnamed ?? []) held.delete(id)
        unnamed = undefined
      }
      if (page.ranges.length > 0) bell.ring()
    },

    async run(end: AbortSignal): Promise<void> {
      const stop = () => bell.ring()
      end.addEventListener('abort', stop)
      await Promise.all([tryOn(end), callOn(end)])
      end.removeEventListener('abort', stop)
    },
  }
}

const isBlock = (prefix: Prefix): boolean => prefix.base.bytes.length * 8 - prefix.length > maxTriedSingly

const sizeOf = (prefix: Prefix): number => 2 ** (prefix.base.bytes.length * 8 - prefix.length)

/** Collects results of consecutive addresses into runs. */
function createFinding(id: number) {
  const served: [number, number][] = []
  const problems: { first: number; count: number; problem: string }[] = []
  return {
    add(offset: number, problem: string | undefined): void {
      if (problem === undefined) {
        const last = served.at(-1)
        if (last && last[0] + last[1] === offset) last[1] += 1
        else if (served.length < maxRuns) served.push([offset, 1])
        return
      }
      const last = problems.at(-1)
      if (last && last.problem === problem && last.first + last.count === offset) last.count += 1
      else if (problems.length < maxProblems) problems.push({ first: offset, count: 1, problem })
    },
    end(seenAs: string | null, unproven: string | undefined): TriedRange {
      const all = unproven === undefined ? [] : served.map(([first, count]) => ({ first, count, problem: unproven }))
      return { id, served, problems: [...problems, ...all].slice(0, maxProblems), seen_as: seenAs }
    },
  }
}

function* parts(ranges: readonly TriedRange[]): Generator<TriedRange[]> {
  let part: TriedRange[] = []
  let runs = 0
  for (const each of ranges) {
    if (part.length === maxRangesTried || (part.length > 0 && runs + each.served.length > maxRunsAtOnce)) {
      yield part
      part = []
      runs = 0
    }
    part.push(each)
    runs += each.served.length
  }
  if (part.length > 0) yield part
}
