import type { Chore } from './chores.ts'

const atOnce = 1000

/** Forgets how often somebody has asked, once that says no more than that nobody has. */
export const forgetRates = (forget: (most: number) => Promise<number>): Chore => ({
  name: 'forget rates',
  everyMs: 10 * 60_000,
  async work() {
    while ((await forget(atOnce)) === atOnce) await Bun.sleep(50)
  },
})
