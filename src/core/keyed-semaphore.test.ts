import { expect, test } from 'bun:test'
import { KeyedSemaphore } from './keyed-semaphore.ts'

test('KeyedSemaphore(2) grants 2 permits per key, queues first in first out, and keys do not wait for each other', async () => {
  const semaphore = new KeyedSemaphore(2, 10)
  const order: string[] = []
  const acquire = async (name: string, label: string) => {
    const waits = semaphore.acquire(name)
    await waits
    order.push(`${label}${waits ? ' waited' : ''}`)
  }
  await Promise.all([acquire('anna', 'one'), acquire('anna', 'two')])
  const [third, fourth] = [acquire('anna', 'three'), acquire('anna', 'four')]
  await acquire('boris', 'other')
  expect(order).toEqual(['one', 'two', 'other'])
  semaphore.release('anna')
  await third
  semaphore.release('anna')
  await fourth
  expect(order).toEqual(['one', 'two', 'other', 'three waited', 'four waited'])
  for (const name of ['anna', 'anna', 'boris']) semaphore.release(name)
  await new Promise((resolve) => setImmediate(resolve))
  await acquire('anna', 'again')
  expect(order.at(-1)).toBe('again')
})

test('KeyedSemaphore refuses the third waiting caller of a key if its queue holds 2, and no other key', () => {
  const semaphore = new KeyedSemaphore(1, 2)
  for (let held = 0; held < 3; held += 1) void semaphore.acquire('anna')
  expect(() => semaphore.acquire('anna')).toThrow('The shop is busy.')
  expect(semaphore.acquire('boris')).toBeUndefined()
})
