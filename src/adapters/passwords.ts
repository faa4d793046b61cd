import type { Passwords } from '../domains/signin/ports.ts'

/** Cost of argon2id: memory in KiB, and passes over it. */
export type PasswordCost = { readonly memoryCost: number; readonly timeCost: number }

/** OWASP's second choice for argon2id: 19 MiB, two passes. A password takes some 20 ms of one core. */
const shippedCost: PasswordCost = { memoryCost: 19_456, timeCost: 2 }
const atOnceShipped = 2
const waitingShipped = 64

/**
 * Passwords under argon2id. So many are worked on at once and so many wait; whoever comes after that is sent away, so
 * that nobody can fill the memory or keep the machine busy by trying passwords.
 */
export function createPasswords(
  chosenCost = shippedCost,
  most = { atOnce: atOnceShipped, waiting: waitingShipped },
): Passwords {
  const cost = { algorithm: 'argon2id', ...chosenCost } as const
  let running = 0
  const waiting: (() => void)[] = []
  // Nobody's password: made when it is first wanted, so that a start costs nothing.
  let nobodys: Promise<string> | undefined

  async function inTurn<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    if (running >= most.atOnce) {
      if (waiting.length >= most.waiting) return undefined
      await new Promise<void>((resolve) => void waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      // The turn goes to whoever has waited longest, so that nobody overtakes him.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }

  return {
    hash: (password) => inTurn(() => Bun.password.hash(password, cost)),
    isRight: (password, kept) =>
      inTurn(async () => {
        nobodys ??= Bun.password.hash(crypto.randomUUID(), cost)
        const isRight = await Bun.password.verify(password, kept ?? (await nobodys))
        return kept !== undefined && isRight
      }),
  }
}
