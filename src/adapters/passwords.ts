import type { Passwords } from '../domains/signin/ports.ts'

/** Cost of argon2id: memory in KiB, and passes over it. */
export type PasswordCost = { readonly memoryCost: number; readonly timeCost: number }

/** OWASP's second choice for argon2id: 19 MiB, 2 passes, about 20 ms of one core. */
const shippedCost: PasswordCost = { memoryCost: 19_456, timeCost: 2 }

/**
 * Argon2id with a limit on running and waiting hashes, past which `undefined` is returned: a flood of sign-ins fills
 * neither memory nor processor.
 */
export function createPasswords(chosenCost = shippedCost, max = { atOnce: 2, waiting: 64 }): Passwords {
  const cost = { algorithm: 'argon2id', ...chosenCost } as const
  let running = 0
  const waiting: (() => void)[] = []
  // Verified against for an unknown login, so that the time tells nothing. Made on first use.
  let decoy: Promise<string> | undefined

  async function limited<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    if (running >= max.atOnce) {
      if (waiting.length >= max.waiting) return undefined
      await new Promise<void>((resolve) => void waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      // First in, first out.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }

  return {
    hash: (password) => limited(() => Bun.password.hash(password, cost)),
    isRight: (password, kept) =>
      limited(async () => {
        decoy ??= Bun.password.hash(crypto.randomUUID(), cost)
        const isRight = await Bun.password.verify(password, kept ?? (await decoy))
        return kept !== undefined && isRight
      }),
  }
}
