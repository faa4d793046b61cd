import type { BucketRate, SharedBuckets } from './buckets.ts'
import type { Clock } from './time.ts'

/** What this process has drawn for a name and not given out yet, and how much was left then. */
type Drawn = { left: number; level: number; at: number; drawing: Promise<void> | undefined }

/** So much of a full bucket is drawn at once: asking for every single one would cost more than it is worth. */
const shareOfBurst = 20
/** What was not used within the time is forgotten: the bucket has grown full without it. */
const keepMs = 60_000
/** Whoever finds nothing there does not look again at once. */
const leastRestMs = 100
const mostNames = 50_000

/**
 * Gives out one after the other of what is drawn from shared buckets a little at a time. All processes together give
 * out what a bucket holds; what one has drawn and not given out, at most a twentieth of it, no other can give out.
 */
export function createDrawnBuckets(shared: SharedBuckets, rate: BucketRate, clock: Clock) {
  const atOnce = Math.max(1, Math.floor(rate.burst / shareOfBurst))
  const restMs = Math.max(leastRestMs, 1000 / rate.perSecond)
  const names = new Map<string, Drawn>()

  async function draw(name: string, of: Drawn): Promise<void> {
    const { taken, level } = await shared.take(name, atOnce)
    of.left = taken
    of.level = level
    of.at = clock()
  }

  function drawnOf(name: string): Drawn {
    const known = names.get(name)
    if (known) return known
    // Starting afresh is kinder than growing for ever.
    if (names.size >= mostNames) names.clear()
    const fresh: Drawn = { left: 0, level: 1, at: Number.NEGATIVE_INFINITY, drawing: undefined }
    names.set(name, fresh)
    return fresh
  }

  return {
    /** Takes one. Tells whether there was one, and how much is left, here and in the bucket. */
    async take(name: string): Promise<{ readonly isAllowed: boolean; readonly level: number }> {
      const drawn = drawnOf(name)
      const ageMs = (): number => Math.abs(clock() - drawn.at)
      const mustDraw = (): boolean => (drawn.left < 1 ? drawn.level >= 1 || ageMs() >= restMs : ageMs() >= keepMs)
      // Those who come at once wait for one draw; whoever finds nothing left after it draws again.
      for (let tries = 0; mustDraw() && tries < shareOfBurst; tries += 1) {
        drawn.drawing ??= draw(name, drawn).finally(() => (drawn.drawing = undefined))
        await drawn.drawing
      }
      if (drawn.left < 1) return { isAllowed: false, level: drawn.level }
      drawn.left -= 1
      return { isAllowed: true, level: drawn.level + drawn.left }
    },
  }
}
