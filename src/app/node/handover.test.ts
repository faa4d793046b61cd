import { describe, expect, test } from 'bun:test'
import { HandTiming } from '../../../test/harness/hand-timing.ts'
import { hasWholeState } from './handover.ts'

/** A state sync that the test makes ready. */
function openSync() {
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const sync = { ready, lastContactAt: undefined as number | undefined, finish: resolve }
  return sync
}

/** The outcome of hasWholeState so far. */
function watch(sync: ReturnType<typeof openSync>, timing: HandTiming, end = new AbortController().signal) {
  const seen: { outcome: boolean | undefined } = { outcome: undefined }
  void hasWholeState(sync, end, timing).then((outcome) => (seen.outcome = outcome))
  return seen
}

describe('hasWholeState', () => {
  test('a taking-over gateway gives up after 5 s without a page from the shop', async () => {
    const timing = new HandTiming()
    const seen = watch(openSync(), timing)
    await timing.advance(4_999)
    expect(seen.outcome).toBeUndefined()
    await timing.advance(1)
    expect(seen.outcome).toBe(false)
  })

  test('a taking-over gateway waits up to 45 s for the remaining pages after a first page within 5 s', async () => {
    const timing = new HandTiming()
    const sync = openSync()
    const seen = watch(sync, timing)
    sync.lastContactAt = 1
    await timing.advance(44_999)
    expect(seen.outcome).toBeUndefined()
    await timing.advance(1)
    expect(seen.outcome).toBe(false)
  })

  test('a taking-over gateway takes over once it has the last page', async () => {
    const timing = new HandTiming()
    const [early, late] = [openSync(), openSync()]
    const seen = [watch(early, timing), watch(late, timing)]
    early.finish()
    late.lastContactAt = 1
    await timing.advance(20_000)
    late.finish()
    await timing.advance(0)
    expect(seen.map((each) => each.outcome)).toEqual([true, true])
  })
})
