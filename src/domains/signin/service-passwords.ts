import { networkOf } from '../../core/household.ts'
import type { Clock } from '../../core/time.ts'
import { createTokenBuckets, secondsUntilOne, type TokenBucketRate } from '../../core/token-buckets.ts'
import { tooBusy, tooManyAttempts } from './errors.ts'
import type { Passwords } from './ports.ts'

/** How many of a household's and of a network's are worked on or wait: of 66 places that a process has. */
const underWayOf = { household: 8, network: 24 }
/** How many passwords a household and a network may have looked at or made, right ones too. */
const rateOf: Readonly<Record<keyof typeof underWayOf, TokenBucketRate>> = {
  household: { perSecond: 1, burst: 300 },
  network: { perSecond: 4, burst: 1200 },
}

export type PasswordWork = ReturnType<typeof createPasswordWork>

/**
 * All work on passwords, each of which is 20 ms of a core, by whom it is for: whoever has many accounts of his own and
 * knows their passwords takes up no more of it than others leave. Refused before anything is worked on. Each process
 * counts for itself: it is its own work that it saves.
 */
export function createPasswordWork(deps: { readonly passwords: Passwords; readonly clock: Clock }) {
  const bound = (kind: keyof typeof underWayOf) => {
    const rate = rateOf[kind]
    const buckets = createTokenBuckets(rate, deps.clock)
    const underWay = new Map<string, number>()
    return {
      /** Takes a place, and tells how it is left: what was not worked on is not counted. */
      enter(name: string): (isDone: boolean) => void {
        const before = underWay.get(name) ?? 0
        if (before >= underWayOf[kind]) throw tooBusy()
        if (!buckets.take(name)) throw tooManyAttempts(secondsUntilOne(rate, buckets.level(name)))
        underWay.set(name, before + 1)
        return (isDone) => {
          const now = underWay.get(name) ?? 0
          if (now > 1) underWay.set(name, now - 1)
          else underWay.delete(name)
          if (!isDone) buckets.give(name)
        }
      },
    }
  }
  const households = bound('household')
  const networks = bound('network')

  function enter(household: string): (isDone: boolean) => void {
    const leaveHousehold = households.enter(household)
    try {
      const leaveNetwork = networks.enter(networkOf(household))
      return (isDone) => {
        leaveHousehold(isDone)
        leaveNetwork(isDone)
      }
    } catch (error) {
      leaveHousehold(false)
      throw error
    }
  }

  async function inTurn<Result>(household: string, work: () => Promise<Result | undefined>): Promise<Result> {
    const leave = enter(household)
    let isDone = false
    try {
      const result = await work()
      if (result === undefined) throw tooBusy()
      isDone = true
      return result
    } finally {
      leave(isDone)
    }
  }

  return {
    hash: (password: string, household: string): Promise<string> =>
      inTurn(household, () => deps.passwords.hash(password)),

    isRight: (password: string, kept: string | undefined, household: string): Promise<boolean> =>
      inTurn(household, () => deps.passwords.isRight(password, kept)),
  }
}
