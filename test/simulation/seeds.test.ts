import { afterAll, beforeAll, expect, test } from 'bun:test'
import { runSeed } from './seeds.ts'
import { makeTemplate, type Template } from './template.ts'

/** `npm run simulate` runs thousands. */
const seeds = 100

let template: Template
beforeAll(async () => {
  template = await makeTemplate()
})
afterAll(() => template.remove())

test(`${seeds} simulated shops with crashes and a bad network break no promise`, async () => {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { failure } = await runSeed(template, seed)
    if (failure !== undefined) expect(`npm run simulate -- --seed ${seed}\n${failure}`).toBe('')
  }
})

test('a seed simulates the same run each time', async () => {
  for (const seed of [3, 11, 19]) {
    const first = await runSeed(template, seed)
    const second = await runSeed(template, seed)
    expect(second.trace).toEqual(first.trace)
    expect(first.trace.length).toBeGreaterThan(1)
  }
})
