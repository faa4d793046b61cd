import { afterAll, expect, test } from 'bun:test'
import { Descriptors, ownedWords } from './descriptors.ts'
import { makeDirect } from './direct-calls.ts'
import { createKernel } from './kernel.ts'
import { openLibc } from './libc.ts'
import { Reactor } from './reactor.ts'
import type { Processor } from './structures.ts'

const libc = openLibc()
const owned = new Int32Array(ownedWords)
const opened: number[] = []
afterAll(() => {
  for (const descriptor of opened) libc.close(descriptor)
})

function openReactor(): Reactor {
  const processor = process.arch as Processor
  const kernel = createKernel(makeDirect(libc, processor), processor)
  const openPoll = (): number => {
    const poll = kernel.openPoll()
    opened.push(poll)
    return poll
  }
  const onFault = (fault: unknown): void => {
    throw fault
  }
  return new Reactor({ ...kernel, openPoll }, new Descriptors(owned, kernel.close, true), onFault)
}

test('a timer that is started late in a long turn still waits its whole time', () => {
  const reactor = openReactor()
  let startedMs = 0
  const waits: number[] = []
  reactor.queue({
    takeTurn() {
      Bun.sleepSync(60)
      startedMs = performance.now()
      reactor.timers.after(50, () => {
        waits.push(performance.now() - startedMs)
      })
    },
  })
  while (waits.length === 0) reactor.turn(() => false)
  expect(waits[0]).toBeGreaterThanOrEqual(50)
})
