import { afterAll, beforeAll, expect, test } from 'bun:test'
import { runSeed } from './seeds.ts'
import { makeTemplate, type Template } from './template.ts'

/** `npm run simulate` runs thousands, and longer ones. */
export function testSeeds(first: number, last: number): void {
  let template: Template
  beforeAll(async () => {
    template = await makeTemplate()
  })
  afterAll(() => template.remove())

  test(`simulated shops of the seeds ${first} to ${last}, with crashes and a bad network, break no promise`, async () => {
    for (let seed = first; seed <= last; seed += 1) {
      const { failure } = await runSeed(template, seed, 'short')
      if (failure !== undefined) expect(`npm run simulate -- --short --seed ${seed}\n${failure}`).toBe('')
    }
  })

  test(`the seeds ${first + 2} and ${last} simulate the same run each time`, async () => {
    for (const seed of [first + 2, last]) {
      const before = await runSeed(template, seed, 'short')
      const again = await runSeed(template, seed, 'short')
      expect(again.trace).toEqual(before.trace)
      expect(again.trace.length).toBeGreaterThan(1)
    }
  })
}
