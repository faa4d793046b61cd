import type { Clock } from '../../../core/time.ts'

/**
 * What was sent to a customer and never shown to have arrived is lost to him as a rule: his line dropped, or he hung
 * up. But a machine can also keep silent about what it has. Nobody can tell the two apart from here, except by how much
 * it is; so losses are borne up to these bounds, and beyond them what was sent is billed.
 */
export const mostLost = {
  ofConnection: 64 * 1024,
  /** Within any hour. */
  ofCredential: 1024 * 1024,
  /** All sub-users of one customer together, within any hour: making another one must not make another bound. */
  ofOwner: 16 * 1024 * 1024,
} as const

const slotMs = 5 * 60_000
/** An hour, and the slot that it began in. */
const slotsKept = 13
const mostNames = 50_000

/** Keeps how much was borne for whom within the last hour. */
export function createLosses(clock: Clock) {
  const credentials = createHourlyBudget(mostLost.ofCredential, clock)
  const owners = createHourlyBudget(mostLost.ofOwner, clock)
  return {
    /** How many of so many lost bytes are borne for this credential, and not billed. */
    bear(credential: string, owner: string, bytes: number): number {
      const borne = Math.max(0, Math.min(bytes, credentials.left(credential), owners.left(owner)))
      if (borne === 0) return 0
      credentials.spend(credential, borne)
      owners.spend(owner, borne)
      return borne
    },
  }
}

/** So much for each name within any hour, kept by slots of five minutes. */
function createHourlyBudget(most: number, clock: Clock) {
  const spent = new Map<string, Map<number, number>>()
  const slotNow = (): number => Math.floor(clock() / slotMs)

  function slotsOf(name: string): Map<number, number> {
    const slots = spent.get(name) ?? new Map<number, number>()
    for (const slot of slots.keys()) if (slot <= slotNow() - slotsKept) slots.delete(slot)
    if (slots.size === 0) spent.delete(name)
    return slots
  }

  /** Names of which nothing is left to remember go first, then the oldest. */
  function makeRoom(): void {
    for (const name of spent.keys()) slotsOf(name)
    for (const name of spent.keys()) {
      if (spent.size < mostNames) return
      spent.delete(name)
    }
  }

  return {
    left(name: string): number {
      let left = most
      for (const bytes of slotsOf(name).values()) left -= bytes
      return left
    },
    spend(name: string, bytes: number): void {
      const slots = slotsOf(name)
      if (!spent.has(name) && spent.size >= mostNames) makeRoom()
      slots.set(slotNow(), (slots.get(slotNow()) ?? 0) + bytes)
      spent.set(name, slots)
    },
  }
}
