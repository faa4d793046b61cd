import type { Clock } from '../../../core/time.ts'

/**
 * Bytes sent but never acknowledged are normally lost. A client could also withhold acknowledgements, so only losses
 * within these bounds are free; the rest is billed.
 */
export const maxLost = {
  ofConnection: 64 * 1024,
  /** Per customer and hour, all sub-users together: sub-users are free, and would multiply a bound of their own. */
  ofOwner: 1024 * 1024,
} as const

/** Losses are summed in slots of five minutes. */
export const lossSlotMs = 5 * 60_000
/** One hour, plus the slot in which it began. */
export const lossSlotsKept = 13
const maxNames = 50_000

/** Unbilled losses of the last hour. */
export type Losses = {
  /** Returns how many lost bytes are not billed. */
  bear(owner: string, bytes: number): number
}

/** Tracks unbilled losses in the memory of this thread. */
export function createLosses(clock: Clock): Losses {
  const owners = createHourlyBudget(maxLost.ofOwner, clock)
  return {
    bear(owner, bytes) {
      const borne = Math.max(0, Math.min(bytes, owners.left(owner)))
      if (borne === 0) return 0
      owners.spend(owner, borne)
      return borne
    },
  }
}

/** Sliding hourly budget per name, in slots of five minutes. */
function createHourlyBudget(max: number, clock: Clock) {
  const spent = new Map<string, Map<number, number>>()
  const slotNow = (): number => Math.floor(clock() / lossSlotMs)

  function slotsOf(name: string): Map<number, number> {
    const slots = spent.get(name) ?? new Map<number, number>()
    for (const slot of slots.keys()) if (slot <= slotNow() - lossSlotsKept) slots.delete(slot)
    if (slots.size === 0) spent.delete(name)
    return slots
  }

  /** Drops expired names, then the oldest. */
  function makeRoom(): void {
    for (const name of spent.keys()) slotsOf(name)
    for (const name of spent.keys()) {
      if (spent.size < maxNames) return
      spent.delete(name)
    }
  }

  return {
    left(name: string): number {
      let left = max
      for (const bytes of slotsOf(name).values()) left -= bytes
      return left
    },
    spend(name: string, bytes: number): void {
      const slots = slotsOf(name)
      if (!spent.has(name) && spent.size >= maxNames) makeRoom()
      slots.set(slotNow(), (slots.get(slotNow()) ?? 0) + bytes)
      spent.set(name, slots)
    },
  }
}
