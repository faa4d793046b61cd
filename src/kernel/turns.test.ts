import { expect, test } from 'bun:test'
import { createTurns } from './turns.ts'

test('a name has so many turns at once, the next comes first, and another name waits for none of them', async () => {
  const turns = createTurns(2)
  const order: string[] = []
  const come = async (name: string, label: string) => {
    const turn = await turns.take(name)
    order.push(`${label}${turn.waited ? ' waited' : ''}`)
    return turn
  }
  const [first, second] = await Promise.all([come('anna', 'one'), come('anna', 'two')])
  const third = come('anna', 'three')
  const fourth = come('anna', 'four')
  const other = await come('boris', 'other')
  expect(order).toEqual(['one', 'two', 'other'])
  second.leave()
  await third
  first.leave()
  await fourth
  expect(order).toEqual(['one', 'two', 'other', 'three waited', 'four waited'])
  for (const turn of [await third, await fourth, other]) turn.leave()
  await new Promise((resolve) => setImmediate(resolve))
  expect((await come('anna', 'again')).waited).toBe(false)
})
