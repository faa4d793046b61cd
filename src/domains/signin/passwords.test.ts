import { expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { readAddress } from '../../core/address.ts'
import { clientPrefixOf } from '../../core/client-prefix.ts'
import { Refusal } from '../../core/refusal.ts'
import { createPasswordWork } from './passwords.ts'

const prefixOf = (text: string): string => {
  const address = readAddress(text)
  if (!address) throw new Error(`${text} is no address`)
  return clientPrefixOf(address)
}

/** Hashing that ends when the test releases it. */
function startWork() {
  const clock = new HandClock()
  const waiting: (() => void)[] = []
  const passwords = createPasswordWork({
    clock: clock.read,
    passwords: {
      hash: () => new Promise((resolve) => waiting.push(() => resolve('kept'))),
      isRight: () => Promise.resolve(true),
    },
  })
  return { clock, passwords, letGo: () => waiting.splice(0).forEach((each) => each()) }
}

const statusOf = async (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof Refusal ? error.kind : String(error)),
  )

test('a client prefix has at most 8 password hashes at once and its network 24, and others are not affected', async () => {
  const { passwords, letGo } = startWork()
  const first = Array.from({ length: 9 }, () => statusOf(passwords.hash('p', prefixOf('198.51.100.1'))))
  const beside = Array.from({ length: 20 }, (_, n) => statusOf(passwords.hash('p', prefixOf(`198.51.100.${n + 2}`))))
  const elsewhere = statusOf(passwords.hash('p', prefixOf('203.0.113.9')))
  letGo()
  const count = (statuses: string[]) => statuses.filter((each) => each === 'done').length
  expect([count(await Promise.all(first)), count(await Promise.all(beside)), await elsewhere]).toEqual([8, 16, 'done'])
  const again = passwords.hash('p', prefixOf('198.51.100.1'))
  letGo()
  expect(await again).toBe('kept')
})

test('a client prefix has 300 password checks and then one a second, and its network four times that', async () => {
  const { clock, passwords } = startWork()
  const look = (from: string) => passwords.isRight('p', undefined, prefixOf(from))
  for (let count = 0; count < 300; count += 1) await look('2001:db8:1:2::1')
  const refused = await refusalOf(look('2001:db8:1:2::2'))
  expect([refused.kind, refused.retryAfterSeconds]).toEqual(['too_many', 1])
  for (let house = 3; house < 6; house += 1) {
    for (let count = 0; count < 300; count += 1) await look(`2001:db8:1:${house}::1`)
  }
  expect((await refusalOf(look('2001:db8:1:9::1'))).kind).toBe('too_many')
  expect(await look('2001:db8:2:9::1')).toBe(true)
  clock.advance(1000)
  expect(await look('2001:db8:1:2::1')).toBe(true)
  expect((await refusalOf(look('2001:db8:1:2::1'))).kind).toBe('too_many')
})

test('a refused password hash is not counted', async () => {
  const passwords = createPasswordWork({
    clock: () => 0,
    passwords: { hash: async () => undefined, isRight: async () => undefined },
  })
  for (let count = 0; count < 310; count += 1) {
    expect((await refusalOf(passwords.isRight('p', undefined, prefixOf('198.51.100.1')))).kind).toBe('unavailable')
  }
})
