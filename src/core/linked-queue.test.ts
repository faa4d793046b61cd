import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../test/harness/scale.ts'
import { LinkedQueue, type LinkedQueueItem } from './linked-queue.ts'

interface Guest extends LinkedQueueItem<Guest> {
  readonly number: number
}

const makeGuest = (number: number): Guest => ({ number, before: undefined, behind: undefined })

function membersOf(line: LinkedQueue<Guest>): number[] {
  const found: number[] = []
  for (let guest = line.first; guest; guest = guest.behind) found.push(guest.number)
  return found
}

test('LinkedQueue keeps the order of arrival when items leave, and a second leave changes nothing', () => {
  const step = fc.record({ number: fc.nat(8), comes: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const guests = Array.from({ length: 9 }, (_, number) => makeGuest(number))
      const line = new LinkedQueue<Guest>()
      let model: number[] = []
      for (const { number, comes } of steps) {
        const guest = guests[number] ?? makeGuest(number)
        if (comes && !model.includes(number)) {
          line.join(guest)
          model.push(number)
        } else if (!comes) {
          line.leave(guest)
          model = model.filter((each) => each !== number)
        }
        expect(membersOf(line)).toEqual(model)
        expect(line.size).toBe(model.length)
      }
      const gone = guests.filter(({ number }) => !model.includes(number))
      for (const guest of gone) expect([guest.before, guest.behind]).toEqual([undefined, undefined])
    }),
    { numRuns: scaled(200) },
  )
})
