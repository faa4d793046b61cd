/** Turns come in groups: a process that wakes up for each turn spends more on waking up than on the turn. */
const groupMs = 50

/**
 * Spreads work over time: in each 50 ms as many results resolve as make `perSecond`, in the order of the calls. After a
 * pause it lets no larger burst through.
 */
export function createPace(
  perSecond: number,
  now: () => number = () => performance.now(),
  wait: (ms: number) => Promise<void> = (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
): () => Promise<void> {
  const inGroup = Math.max(1, Math.floor((perSecond * groupMs) / 1000))
  /** The group of the last call, by its number since the clock's zero, and how many turns it has. */
  let group = 0
  let turns = 0
  let beginning: { readonly of: number; readonly begun: Promise<void> } | undefined
  return async () => {
    const nowMs = now()
    const current = Math.floor(nowMs / groupMs)
    if (group < current) [group, turns] = [current, 0]
    if (turns === inGroup) [group, turns] = [group + 1, 0]
    turns += 1
    if (group === current) return
    if (beginning?.of !== group) beginning = { of: group, begun: wait(group * groupMs - nowMs) }
    await beginning.begun
  }
}
