import { expect, test } from 'bun:test'
import { createTurns } from './turns.ts'

test('a name has so many turns at once, the next comes first, and another name waits for none of them', async () => {
  const turns = createTurns(2)
  const order: string[] = []
  const come = async (name: string, label: string) => {
    const waits = turns.take(name)
    await waits
    order.push(`${label}${waits ? ' waited' : ''}`)
  }
  await Promise.all([come('anna', 'one'), come('anna', 'two')])
  const [third, fourth] = [come('anna', 'three'), come('anna', 'four')]
  await come('boris', 'other')
  expect(order).toEqual(['one', 'two', 'other'])
  turns.leave('anna')
  await third
  turns.leave('anna')
  await fourth
  expect(order).toEqual(['one', 'two', 'other', 'three waited', 'four waited'])
  for (const name of ['anna', 'anna', 'boris']) turns.leave(name)
  await new Promise((resolve) => setImmediate(resolve))
  await come('anna', 'again')
  expect(order.at(-1)).toBe('again')
})
