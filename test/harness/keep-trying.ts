import { until } from './until.ts'

/** Repeats an attempt in parallel lanes until ended. An attempt returns what went wrong; undefined if it was served. */
export function keepTrying(lanes: number, attempt: (turn: number) => Promise<string | undefined>) {
  const failures: string[] = []
  const state = { isOver: false, served: 0 }
  const lane = async (index: number): Promise<void> => {
    for (let turn = index; !state.isOver; turn += 1) {
      const problem = await attempt(turn).catch(String)
      if (problem === undefined) state.served += 1
      else failures.push(problem)
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
