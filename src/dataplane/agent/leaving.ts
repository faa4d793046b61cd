import { type Address, addressFromNumber, addressToNumber, formatAddress, type Prefix } from '../../core/address.ts'
import type { Chance } from './surroundings.ts'

const callsAtOnce = 16
/** An address fails when it has failed so often in a row, each time while the shop could be called without it. */
const mostFailures = 2
/** What a TLS library calls its reasons not to believe a certificate, such as `DEPTH_ZERO_SELF_SIGNED_CERT`. */
const ofCertificates = /CERT|LEAF_SIGNATURE/
/** Chance is drawn in so many steps. */
const steps = 2 ** 40

/** Calls the shop from an address of this machine, or from any of a family: who the shop saw. Fails if it is away. */
export type CallShop = (version: 4 | 6, from: string | undefined, end: AbortSignal) => Promise<string>

/** What is known of leaving from the addresses of one range. */
export type Leaving = ReturnType<typeof createLeaving>

/**
 * Whether this node can leave from the addresses of a range: it calls the shop from them. Where the shop cannot be
 * called in their family at all, nothing is known, and nothing is held against them.
 */
export function createLeaving(deps: {
  readonly prefix: Prefix
  /** Of a block too large to go through, addresses are drawn, and stand for all of it. */
  readonly isBlock: boolean
  readonly call: CallShop
  readonly canUse: (address: Address) => boolean
  readonly chance: Chance
}) {
  const { base, length } = deps.prefix
  const size = 1n << BigInt(base.bytes.length * 8 - length)
  const failures = new Map<string, number>()
  const calling = new Set<string>()
  let seenAs: string | null = null
  let isReached = false
  let isDistrusted = false
  let at = 0n

  const keyOf = (address: Address): string => (deps.isBlock ? '' : formatAddress(address))

  function next(): Address {
    const offset = deps.isBlock ? (size * BigInt(Math.floor(deps.chance() * steps))) / BigInt(steps) : at % size
    at += 1n
    return addressFromNumber(base.version, addressToNumber(base) + offset)
  }

  async function canCall(end: AbortSignal): Promise<boolean> {
    try {
      await deps.call(base.version, undefined, end)
      isReached = true
      return true
    } catch (error) {
      isDistrusted = error instanceof Error && 'code' in error && ofCertificates.test(String(error.code))
      return false
    }
  }

  /** Tells whether something became known that was not. */
  async function callOnce(address: Address, end: AbortSignal): Promise<boolean> {
    const [key, text] = [keyOf(address), formatAddress(address)]
    const had = failures.get(key) ?? 0
    try {
      const seen = await deps.call(base.version, text, end)
      isReached = true
      const isOther = seen !== text && seen !== seenAs
      if (isOther) seenAs = seen
      failures.delete(key)
      return isOther || had >= mostFailures
    } catch {
      if (end.aborted || !(await canCall(end))) return false
      failures.set(key, had + 1)
      return had + 1 === mostFailures
    }
  }

  /** A failure is looked at again at once: whoever buys meanwhile buys what does not work. */
  async function callFrom(address: Address, end: AbortSignal): Promise<boolean> {
    const text = formatAddress(address)
    calling.add(text)
    const isNews = await callOnce(address, end)
    const failed = failures.get(keyOf(address)) ?? 0
    const isNewsNow = failed > 0 && failed < mostFailures ? await callOnce(address, end) : false
    calling.delete(text)
    return isNews || isNewsNow
  }

  return {
    /** How many calls go once through the range. */
    turns: deps.isBlock ? callsAtOnce : Number(size),

    /** Calls from the first addresses, before the range is said to serve; the others follow in their turn. */
    async begin(firstCalls: number, end: AbortSignal): Promise<void> {
      if (!(await canCall(end))) return
      const count = deps.isBlock ? callsAtOnce : Number(size < firstCalls ? size : BigInt(firstCalls))
      const waiting = Array.from({ length: count }, next)
      const work = async () => {
        for (let each = waiting.shift(); each && !end.aborted; each = waiting.shift()) {
          if (deps.canUse(each)) await callFrom(each, end)
        }
      }
      await Promise.all(Array.from({ length: callsAtOnce }, work))
    },

    /**
     * Calls from the next one. Tells whether something became known that was not; undefined when nobody is called,
     * because the address is not here or a call from it is under way.
     */
    step(end: AbortSignal): Promise<boolean> | undefined {
      const address = next()
      return calling.has(formatAddress(address)) || !deps.canUse(address) ? undefined : callFrom(address, end)
    },

    problemOf: (address: Address): string | undefined =>
      (failures.get(keyOf(address)) ?? 0) >= mostFailures ? 'cannot_leave' : undefined,

    /** Whether the shop could ever be called in this family: else nothing is known. */
    get isReached(): boolean {
      return isReached
    },

    /** Whether somebody answers there whose certificate is not believed. */
    get isDistrusted(): boolean {
      return isDistrusted
    },

    /** Who the shop saw in place of an address of this range, if that was somebody else. */
    get seenAs(): string | null {
      return seenAs
    },
  }
}
