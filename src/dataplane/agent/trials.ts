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
import { type CallShop, EgressCheck } from './egress-check.ts'
import { type Chance, createBell, createLimitedLog, growingPause, type NodeLog, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'
import type { PagePosition } from './sync.ts'

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
/** Random samples per trial of a large block. */
const drawnOfBlock = 4
/** During a round, changes wait at most this long for their report. */
const reportEveryMs = 100
/** All new ranges together are called from this often before the node reports them as serving. */
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
export class AddressTrials {
  private readonly timing
  private readonly bell
  private readonly limitedLog
  private readonly held = new Map<number, Held>()
  private unnamed: Set<number> | undefined
  private readonly firstReport = Promise.withResolvers<void>()
  /** The shop has sent all its ranges once. */
  private hasState = false
  /** Resolves after the first report that knew all ranges. */
  readonly ready = this.firstReport.promise
  private failures = 0
  private slice = 0
  private sliceBeganAt: number
  private firstCallsEach = maxFirstCalls

  constructor(
    private readonly deps: {
      readonly node: string
      readonly link: Pick<ShopLink, 'tried'>
      readonly tryAddress: TryAddress
      readonly callShop: CallShop | undefined
      /** False for loopback and in a sandbox, where egress proves nothing. */
      readonly needsEgressCheck: (address: Address) => boolean
      readonly timing: Timing
      readonly chance: Chance
      readonly log: NodeLog
    },
  ) {
    this.timing = deps.timing
    this.bell = createBell(this.timing)
    this.limitedLog = createLimitedLog(deps.log, this.timing.now)
    this.sliceBeganAt = this.timing.now()
  }

  /** Takes ranges from a state page; a whole read drops those that it omits. */
  apply(page: Pick<StatePage, 'ranges'>, position: PagePosition): void {
    if (position.isFirst) this.unnamed = new Set(this.held.keys())
    for (const range of page.ranges) this.put(range)
    if (position.isWhole && position.isLast) {
      for (const id of this.unnamed ?? []) this.held.delete(id)
      this.unnamed = undefined
    }
    const isFirstWhole = position.isLast && !this.hasState
    if (position.isLast) this.hasState = true
    if (page.ranges.length > 0 || isFirstWhole) this.bell.ring()
  }

  async run(end: AbortSignal): Promise<void> {
    const stop = () => this.bell.ring()
    end.addEventListener('abort', stop)
    await Promise.all([this.tryLoop(end), this.callLoop(end)])
    end.removeEventListener('abort', stop)
  }

  private put(range: NodeRange): void {
    this.unnamed?.delete(range.id)
    const prefix = readPrefix(range.prefix)
    const isMine = !range.gone && (range.node_ids.length === 0 || range.node_ids.includes(this.deps.node))
    if (!isMine || !prefix) this.held.delete(range.id)
    else {
      const canUse = (address: Address) => this.deps.tryAddress(address) === undefined
      const call = this.deps.callShop
      const egress = call && new EgressCheck({ ...this.deps, prefix, isBlock: isBlock(prefix), call, canUse })
      this.held.set(range.id, { range, prefix, egress, outcome: this.held.get(range.id)?.outcome, isNew: true })
    }
  }

  /** Yields after each slice; rests only in repeated trials. */
  private async yieldAfterSlice(isNew: boolean, end: AbortSignal): Promise<void> {
    this.slice += 1
    if (this.slice < sliceSize) return
    this.slice = 0
    await this.timing.pause(isNew ? 0 : (this.timing.now() - this.sliceBeganAt) * restTimes, end)
    this.sliceBeganAt = this.timing.now()
  }

  private async tryEach(of: Held, finding: Finding, end: AbortSignal): Promise<void> {
    const base = addressToNumber(of.prefix.base)
    const size = 2 ** hostBitsOf(of.prefix)
    for (let offset = 0; offset < size && !end.aborted; offset += 1) {
      const address = addressFromNumber(of.prefix.base.version, base + BigInt(offset))
      finding.add(offset, this.deps.tryAddress(address) ?? of.egress?.problemOf(address))
      await this.yieldAfterSlice(of.isNew, end)
    }
  }

  /** A block serves as a whole: random samples decide. */
  private tryBlock(of: Held, finding: Finding): void {
    const base = addressToNumber(of.prefix.base)
    const size = 1n << BigInt(hostBitsOf(of.prefix))
    let problem: string | undefined
    for (let drawn = 0; drawn < drawnOfBlock && problem === undefined; drawn += 1) {
      const offset = (size * BigInt(Math.floor(this.deps.chance() * 2 ** 40))) / 2n ** 40n
      const address = addressFromNumber(of.prefix.base.version, base + offset)
      problem = this.deps.tryAddress(address) ?? of.egress?.problemOf(address)
    }
    finding.add(0, problem)
  }

  /** Why egress is unproven. Reported, but no reason to stop serving. */
  private unprovenOf(of: Held): string | undefined {
    if (!this.deps.needsEgressCheck(of.prefix.base) || of.egress?.isReached) return undefined
    return of.egress?.obstacle ?? 'egress_not_checked_no_public_url'
  }

  /** Returns the result if it changed. */
  private async tryRange(of: Held, end: AbortSignal): Promise<TriedRange | undefined> {
    const before = JSON.stringify(of.outcome)
    if (of.isNew && this.deps.needsEgressCheck(of.prefix.base)) await of.egress?.begin(this.firstCallsEach, end)
    const finding = createFinding(of.range.id)
    if (isBlock(of.prefix)) this.tryBlock(of, finding)
    else await this.tryEach(of, finding, end)
    const outcome = finding.end(of.egress?.seenAs ?? null, this.unprovenOf(of))
    if (end.aborted || this.held.get(of.range.id) !== of) return undefined
    of.outcome = outcome
    const isChanged = of.isNew || JSON.stringify(outcome) !== before
    of.isNew = false
    return isChanged ? outcome : undefined
  }

  /** Sends reports one by one; resolves to whether the shop took all. */
  private async report(ranges: readonly TriedRange[], end: AbortSignal): Promise<boolean> {
    for (const part of parts(ranges)) {
      try {
        await this.deps.link.tried({ ranges: part }, end)
        this.failures = 0
      } catch (error) {
        if (!(error instanceof LinkError)) throw error
        this.failures += 1
        if (!end.aborted)
          this.limitedLog(error.trouble === 'fault' ? 'error' : 'warn', 'trials not taken', { fault: error })
        await this.timing.pause(growingPause(this.failures, 100, 5_000, this.deps.chance), end)
        return false
      }
    }
    return true
  }

  /** New ranges first, because they wait to be sold. */
  private async round(end: AbortSignal): Promise<void> {
    const hadState = this.hasState
    const ordered = [...this.held.values()].toSorted((a, b) => Number(b.isNew) - Number(a.isNew))
    const fresh = ordered.filter((each) => each.isNew && this.deps.needsEgressCheck(each.prefix.base)).length
    this.firstCallsEach = Math.max(minFirstCalls, Math.min(maxFirstCalls, Math.floor(firstCalls / Math.max(1, fresh))))
    let unsent: TriedRange[] = []
    let sentAt = this.timing.now()
    this.sliceBeganAt = this.timing.now()
    for (const each of ordered) {
      const changed = this.held.get(each.range.id) === each ? await this.tryRange(each, end) : undefined
      if (end.aborted) return
      if (changed) unsent.push(changed)
      if (unsent.length === 0 || (unsent.length < maxRangesTried && this.timing.now() - sentAt < reportEveryMs))
        continue
      await this.report(unsent, end)
      unsent = []
      sentAt = this.timing.now()
    }
    const all = [...this.held.values()].flatMap(({ outcome }) => outcome ?? [])
    if ((await this.report(all, end)) && hadState) this.firstReport.resolve()
  }

  private async callFromEach(ranges: readonly Held[], end: AbortSignal): Promise<void> {
    const stepsPerRound = ranges.reduce((sum, each) => sum + (each.egress?.stepsPerRound ?? 0), 0)
    const pauseMs = Math.min(callEveryMs, Math.max(minCallPauseMs, callAllMs / stepsPerRound))
    const calls = new Set<Promise<unknown>>()
    let passedOver = 0
    let beganAt = this.timing.now()
    for (const each of ranges) {
      for (let step = 0; step < (each.egress?.stepsPerRound ?? 0); step += 1) {
        if (this.held.get(each.range.id) !== each || end.aborted) break
        const call = each.egress?.step(end)
        if (call) {
          const ended = call.then((isNews) => isNews && this.bell.ring()).finally(() => calls.delete(ended))
          calls.add(ended)
          await this.timing.pause(pauseMs, end)
          if (calls.size >= maxCallsAtOnce) await Promise.race(calls)
        } else if (++passedOver % sliceSize === 0)
          await this.timing.pause((this.timing.now() - beganAt) * restTimes, end)
        else continue
        beganAt = this.timing.now()
      }
    }
    await Promise.all(calls)
  }

  private async callLoop(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      await this.timing.pause(callEveryMs, end)
      const mayCall = (each: Held) => !each.isNew && this.deps.needsEgressCheck(each.prefix.base)
      await this.callFromEach([...this.held.values()].filter(mayCall), end)
    }
  }

  private async tryLoop(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      const beganAt = this.timing.now()
      this.bell.quiet()
      // A failed round changes no outcome, for instance without a free descriptor.
      await this.round(end).catch((fault: unknown) => this.limitedLog('error', 'trials failed', { fault }))
      await this.bell.wait(Math.max(0, beganAt + everyMs - this.timing.now()))
    }
  }
}

const hostBitsOf = ({ base, length }: Prefix): number => base.bytes.length * 8 - length
const isBlock = (prefix: Prefix): boolean => hostBitsOf(prefix) > maxTriedSingly

type Finding = ReturnType<typeof createFinding>

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
