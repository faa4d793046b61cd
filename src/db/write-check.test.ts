import { expect, test } from 'bun:test'
import { WriteCheck, type WriteProblem } from './write-check.ts'

test('a write that fails during a try stays the problem, whatever the try returns', async () => {
  for (const outcome of [undefined, 'moved'] as const) {
    const { promise, resolve } = Promise.withResolvers<WriteProblem | undefined>()
    const writes = new WriteCheck(() => promise)
    const checked = writes.check()
    writes.failed('disk_full')
    resolve(outcome)
    expect(await checked).toBe('disk_full')
  }
})
