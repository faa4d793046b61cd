import type { Erasing, Retaining } from '../domains/privacy/index.ts'
import type { Chore, Notes } from './chores.ts'

const minuteMs = 60_000
const atOnce = 500
const accountsAtOnce = 100

/** What the shop forgets by itself, and erasures that something has interrupted. */
export const privacyChores = (
  { erasing, retaining }: { erasing: Erasing; retaining: Retaining },
  notes: Notes,
): readonly Chore[] => [
  {
    name: 'forget sources',
    everyMs: 60 * minuteMs,
    async work() {
      while ((await retaining.forgetSources(atOnce)) === atOnce) await Bun.sleep(50)
    },
  },
  {
    name: 'fold hours',
    everyMs: 360 * minuteMs,
    async work() {
      while ((await retaining.foldHours(accountsAtOnce)) === accountsAtOnce) await Bun.sleep(50)
    },
  },
  {
    name: 'finish erasures',
    everyMs: 10 * minuteMs,
    async work() {
      const { finished, refused } = await erasing.resume()
      if (finished > 0) notes.info('erasures finished', { count: finished })
      for (const fault of refused) notes.error('erasure not finished', { fault })
    },
  },
]
