import { expect, test } from 'bun:test'
import { VanishedItems } from './vanished.ts'

const itemOf = (id: number) => ({ kind: 'proxy' as const, id: String(id), login: `u${id}`, address: '', owner: '' })

test('vanished things are repeated until a report was taken, at most 200 at once and 10,000 in all', () => {
  const vanished = new VanishedItems()
  vanished.add(Array.from({ length: 12_000 }, (_, id) => itemOf(id)))
  const first = vanished.batch()
  expect(first).toHaveLength(200)
  expect(vanished.batch()).toEqual(first)
  let count = 0
  for (let sent = vanished.batch(); sent.length > 0; sent = vanished.batch()) {
    count += sent.length
    vanished.settle(sent)
  }
  expect(count).toBe(10_000)
})

test('a vanished thing that the shop would refuse is not reported', () => {
  const vanished = new VanishedItems()
  vanished.add([{ ...itemOf(1), address: 'a\nb' }, itemOf(2)])
  expect(vanished.batch()).toEqual([itemOf(2)])
})
