export type Turns = ReturnType<typeof createTurns>

/**
 * A few at a time for each name, in the order in which they came; the others wait. Whoever asks for much at once waits
 * for himself, and nobody for him.
 */
export function createTurns(atOnce: number) {
  const names = new Map<string, { taken: number; readonly waiting: (() => void)[] }>()
  const left: string[] = []

  function pass(name: string): void {
    const of = names.get(name)
    if (!of) return
    const next = of.waiting.shift()
    if (next) return next()
    of.taken -= 1
    if (of.taken === 0) names.delete(name)
  }

  const passAll = (): void => left.splice(0).forEach(pass)

  return {
    /** Takes a turn: now, or when what is answered resolves. */
    take(name: string): Promise<void> | undefined {
      const of = names.get(name)
      if (!of) names.set(name, { taken: 1, waiting: [] })
      else if (of.taken >= atOnce) return new Promise((resolve) => of.waiting.push(resolve))
      else of.taken += 1
      return undefined
    },

    /** Passed on once what has come meanwhile was read: on SQLite a request is answered in one go. */
    leave(name: string): void {
      if (left.push(name) === 1) setImmediate(passAll)
    },
  }
}
