/**
 * Spreads work over time: the result resolves at most `perSecond` times a second, in the order of the calls. After a
 * pause it lets no burst through.
 */
export function createPace(
  perSecond: number,
  now: () => number = () => performance.now(),
  wait: (ms: number) => Promise<void> = (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
): () => Promise<void> {
  const everyMs = 1000 / perSecond
  let freeAt = 0
  return async () => {
    const nowMs = now()
    const startAt = Math.max(nowMs, freeAt)
    freeAt = startAt + everyMs
    if (startAt > nowMs) await wait(startAt - nowMs)
  }
}
