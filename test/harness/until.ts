/** Waits for what must come true by itself, and says so if it does not. */
export async function until(isTrue: () => boolean, mostMs = 5000): Promise<void> {
  const giveUpAt = performance.now() + mostMs
  while (!isTrue()) {
    if (performance.now() > giveUpAt) throw new Error(`it did not come true within ${mostMs} ms`)
    await Bun.sleep(2)
  }
}
