import { networkOf } from '../../core/address.ts'
import { malformed } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { createTokenBuckets, secondsUntilOne, type TokenBucketRate } from '../../core/token-buckets.ts'
import { tooBusy, tooManyAttempts } from './errors.ts'
import type { Passwords } from './ports.ts'
import { problemOfPassword } from './rules.ts'

/** Largest number of hashes running or waiting, of the 66 that a process holds. */
const underWayOf = { clientPrefix: 8, network: 24 }
/** Rate of password hashes, for right and wrong passwords. */
const rateOf: Readonly<Record<keyof typeof underWayOf, TokenBucketRate>> = {
  clientPrefix: { perSecond: 1, burst: 300 },
  network: { perSecond: 4, burst: 1200 },
}

export type PasswordWork = ReturnType<typeof createPasswordWork>

/** Limits password hashing, 20 ms of a core each, per client prefix and network. Each process counts its own work. */
export function createPasswordWork(deps: { readonly passwords: Passwords; readonly clock: Clock }) {
  const bound = (kind: keyof typeof underWayOf) => {
    const rate = rateOf[kind]
    const buckets = createTokenBuckets(rate, deps.clock)
    const underWay = new Map<string, number>()
    return {
      /** Returns the function that releases the permit; work that was not done is not counted. */
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
  const prefixes = bound('clientPrefix')
  const networks = bound('network')

  function enter(clientPrefix: string): (isDone: boolean) => void {
    const releasePrefix = prefixes.enter(clientPrefix)
    try {
      const releaseNetwork = networks.enter(networkOf(clientPrefix))
      return (isDone) => {
        releasePrefix(isDone)
        releaseNetwork(isDone)
      }
    } catch (error) {
      releasePrefix(false)
      throw error
    }
  }

  async function limited<Result>(clientPrefix: string, work: () => Promise<Result | undefined>): Promise<Result> {
    const release = enter(clientPrefix)
    let isDone = false
    try {
      const result = await work()
      if (result === undefined) throw tooBusy()
      isDone = true
      return result
    } finally {
      release(isDone)
    }
  }

  return {
    hash: (password: string, clientPrefix: string): Promise<string> =>
      limited(clientPrefix, () => deps.passwords.hash(password)),

    isRight: (password: string, kept: string | undefined, clientPrefix: string): Promise<boolean> =>
      limited(clientPrefix, () => deps.passwords.isRight(password, kept)),
  }
}

export function assertPassword(password: string, login: string): void {
  const problem = problemOfPassword(password, login)
  if (problem !== undefined) throw malformed([problem])
}
