import type { ByteOrigin } from '../../harness/byte-origin.ts'
import type { Dice } from '../../harness/dice.ts'
import type { AttackName } from '../bounds.ts'
import type { World } from '../world.ts'

export type AttackDeps = {
  readonly world: World
  readonly origin: ByteOrigin
  readonly dice: Dice
}

/** The number of attempts of an attacker, and its gain of other customers' property. */
type AttackResult = { readonly tried: number; readonly gained: number; readonly note?: string }

/** One kind of attack. Its steps repeat as long as the storm lasts; a shop that is down causes no exception. */
export type Attacker = {
  readonly name: AttackName
  /** The unit of the gain. */
  readonly unit: string
  readonly everyMs: number
  readonly step: () => Promise<void>
  /** Called at the end, when all processes are up. */
  readonly count: () => Promise<AttackResult>
  readonly stop?: () => void
}

/** Opens an attack, with the customers and products that it needs. */
export type OpenAttack = (deps: AttackDeps) => Promise<Attacker>

/** Retries while the shop or its database is down; for an operator's actions on behalf of an attack. */
export async function retryWhileDown<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let left = 40; ; left -= 1) {
    try {
      return await work()
    } catch (error) {
      if (left === 0) throw error
      await Bun.sleep(500)
    }
  }
}
