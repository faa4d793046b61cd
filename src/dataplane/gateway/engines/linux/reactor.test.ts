import { afterAll, expect, test } from 'bun:test'
import { Descriptors, ownedCells } from '../../system/descriptors.ts'
import { Kernel } from '../../system/kernel.ts'
import { makeDirect, openLibc } from '../../system/libc.ts'
import type { Processor } from '../../system/structures.ts'
import { Reactor } from './reactor.ts'

const libc = openLibc()
const owned = new Int32Array(ownedCells)
const opened: number[] = []
afterAll(() => {
  for (const descriptor of opened) libc.close(descriptor)
})

/** A reactor that polls without waiting and uses the clock of the test. */
function openReactor(clock: () => number): Reactor {
  const processor = process.arch as Processor
  const kernel = new Kernel(makeDirect(libc, processor), processor)
  const openPoll = (): number => {
    const poll = kernel.openPoll()
    opened.push(poll)
    return poll
  }
  const onFault = (fault: unknown): void => {
    throw fault
  }
  const poll: Kernel['poll'] = (descriptor) => kernel.poll(descriptor, 0)
  const polling = Object.assign(Object.create(kernel) as Kernel, { openPoll, poll })
  const descriptors = new Descriptors(owned, (descriptor) => kernel.close(descriptor), true)
  return new Reactor(polling, descriptors, onFault, clock)
}

test('a timer of 50 ms that is started 60 ms into a turn fires 50 ms later, not before', () => {
  let nowMs = 1000
  const reactor = openReactor(() => nowMs)
  const firedAt: number[] = []
  reactor.queue({
    takeTurn() {
      nowMs += 60
      reactor.timers.after(50, () => void firedAt.push(nowMs))
    },
  })
  for (; nowMs < 1200; nowMs += 1) reactor.turn(() => false)
  expect(firedAt).toEqual([1110])
})
