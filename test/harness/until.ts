/**
 * Long enough for a machine that is busy with other tests, or of which others have the most for a while. Nothing that
 * is promised within a time is waited for so long.
 */
export const patienceMs = 60_000

/** Waits for what must come true by itself, and says so if it does not. */
export async function until(isTrue: () => boolean, mostMs = patienceMs): Promise<void> {
  const giveUpAt = performance.now() + mostMs
  while (!isTrue()) {
    if (performance.now() > giveUpAt) throw new Error(`it did not come true within ${mostMs} ms`)
    await Bun.sleep(2)
  }
}

/** Waits until a number has stopped changing, and tells what it is. */
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
