import type { ByteOrigin } from '../../harness/byte-origin.ts'
import type { Dice } from '../../harness/dice.ts'
import type { AttackName } from '../bounds.ts'
import type { World } from '../world.ts'

export type AttackDeps = {
  readonly world: World
  readonly origin: ByteOrigin
  readonly dice: Dice
}

/** What an attacker has tried, and what it has got of what is not its own. */
type Takings = { readonly tried: number; readonly gained: number; readonly note?: string }

/**
 * One class of attack. Its steps follow one another for as long as the storm lasts; it never throws because the shop
 * is away.
 */
export type Attacker = {
  readonly name: AttackName
  /** What the gain is counted in. */
  readonly unit: string
  readonly everyMs: number
  readonly step: () => Promise<void>
  /** At the end, when all processes are up. */
  readonly count: () => Promise<Takings>
  readonly stop?: () => void
}

/** Opens one, with the customers and things that it needs. */
export type OpenAttack = (deps: AttackDeps) => Promise<Attacker>

/** Tries again while the shop or its database is away; for what an operator does on behalf of an attack. */
export async function insist<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let left = 40; ; left -= 1) {
    try {
      return await work()
    } catch (error) {
      if (left === 0) throw error
      await Bun.sleep(500)
    }
  }
}
