export type Turns = ReturnType<typeof createTurns>

/**
 * A few at a time for each name, in the order in which they came; the others wait. Whoever asks for much at once waits
 * for himself, and nobody for him.
 */
export function createTurns(atOnce: number) {
  const names = new Map<string, { taken: number; readonly waiting: (() => void)[] }>()

  function pass(name: string): void {
    const of = names.get(name)
    if (!of) return
    const next = of.waiting.shift()
    if (next) return next()
    of.taken -= 1
    if (of.taken === 0) names.delete(name)
  }

  return {
    /** Resolves when it is one's turn, with whether that took waiting. Every turn that was taken is left. */
    async take(name: string): Promise<{ readonly waited: boolean; leave(): void }> {
      const of = names.get(name) ?? { taken: 0, waiting: [] }
      names.set(name, of)
      const waited = of.taken >= atOnce
      if (waited) await new Promise<void>((resolve) => of.waiting.push(resolve))
      else of.taken += 1
      // Passed on after what has come meanwhile was read: on SQLite a request is answered in one go.
      return { waited, leave: () => void setImmediate(pass, name) }
    },
  }
}
