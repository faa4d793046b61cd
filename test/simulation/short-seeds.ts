import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Engine } from '../harness/database.ts'
import { runSeed } from './seeds.ts'
import { makeTemplate, type Template } from './template.ts'

/** `npm run simulate` runs thousands, and longer ones. */
export function testSeeds(first: number, last: number, engine: Engine = 'sqlite'): void {
  let template: Template
  beforeAll(async () => {
    template = await makeTemplate(engine)
  })
  afterAll(() => template.remove())

  test(`simulated shops on ${engine} of the seeds ${first} to ${last}, with crashes and a bad network, break no promise`, async () => {
    for (let seed = first; seed <= last; seed += 1) {
      const { failure } = await runSeed(template, seed, 'short')
      if (failure !== undefined)
        expect(`npm run simulate -- --short --engine ${engine} --seed ${seed}\n${failure}`).toBe('')
    }
  })

  test(`the seeds ${first + 2} and ${last} simulate the same run on ${engine} each time`, async () => {
    for (const seed of [first + 2, last]) {
      const before = await runSeed(template, seed, 'short')
      const again = await runSeed(template, seed, 'short')
      expect(again.trace).toEqual(before.trace)
      expect(again.trace.length).toBeGreaterThan(1)
    }
  })
}
