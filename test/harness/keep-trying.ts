import { isLong } from './scale.ts'
import { until } from './until.ts'

/**
 * A customer's pause between two requests; none in a long run. Loops without it take all processors from the process
 * that starts. A takeover lasts as long as the start of a process: some 50 requests of each loop.
 */
export const pace = (): Promise<void> => (isLong ? Promise.resolve() : Bun.sleep(10))

/** Repeats an attempt in parallel lanes until ended. An attempt returns what went wrong; undefined if it was served. */
export function keepTrying(lanes: number, attempt: (turn: number) => Promise<string | undefined>) {
  const failures: string[] = []
  const state = { isOver: false, served: 0 }
  const lane = async (index: number): Promise<void> => {
    for (let turn = index; !state.isOver; turn += 1) {
      const problem = await attempt(turn).catch(String)
      if (problem === undefined) state.served += 1
      else failures.push(problem)
      await pace()
    }
  }
  const all = Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)))
  return {
    /** Waits until so many more were served, or one failed. */
    async served(more: number): Promise<void> {
      const enough = state.served + more
      await until(() => state.served >= enough || failures.length > 0)
    },
    async end(): Promise<string[]> {
      state.isOver = true
      await all
      return failures
    },
  }
}
