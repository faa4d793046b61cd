import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../test/harness/scale.ts'
import { LinkedQueue, type LinkedQueueItem } from './linked-queue.ts'

interface Item extends LinkedQueueItem<Item> {
  readonly number: number
}

const makeItem = (number: number): Item => ({ number, before: undefined, behind: undefined })

function membersOf(queue: LinkedQueue<Item>): number[] {
  const found: number[] = []
  for (let item = queue.first; item; item = item.behind) found.push(item.number)
  return found
}

test('LinkedQueue keeps the insertion order when items are removed, and a second removal changes nothing', () => {
  const step = fc.record({ number: fc.nat(8), joins: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const items = Array.from({ length: 9 }, (_, number) => makeItem(number))
      const queue = new LinkedQueue<Item>()
      let model: number[] = []
      for (const { number, joins } of steps) {
        const item = items[number] ?? makeItem(number)
        if (joins && !model.includes(number)) {
          queue.join(item)
          model.push(number)
        } else if (!joins) {
          queue.leave(item)
          model = model.filter((each) => each !== number)
        }
        expect(membersOf(queue)).toEqual(model)
        expect(queue.size).toBe(model.length)
      }
      const left = items.filter(({ number }) => !model.includes(number))
      for (const item of left) expect([item.before, item.behind]).toEqual([undefined, undefined])
    }),
    { numRuns: scaled(200) },
  )
})
