/** Time limit against hangs, also for an overloaded machine. Promises about time are measured by `startStopwatch`. */
export const waitLimitMs = 180_000

/** Polls until the condition holds; fails after the limit. */
export async function until(isTrue: () => boolean, maxMs = waitLimitMs): Promise<void> {
  const giveUpAt = performance.now() + maxMs
  while (!isTrue()) {
    if (performance.now() > giveUpAt) throw new Error(`it did not come true within ${maxMs} ms`)
    await Bun.sleep(2)
  }
}

/** Waits until a number has stopped changing, and returns it. */
export async function untilStill(read: () => number, quietMs = 400): Promise<number> {
  let last = read()
  let since = performance.now()
  while (performance.now() - since < quietMs) {
    await Bun.sleep(10)
    const now = read()
    if (now === last) continue
    last = now
    since = performance.now()
  }
  return last
}
