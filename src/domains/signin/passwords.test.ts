import { expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { clientPrefixOf, readAddress } from '../../core/address.ts'
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
  return { clock, passwords, release: () => waiting.splice(0).forEach((each) => each()) }
}

const statusOf = async (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof Refusal ? error.kind : String(error)),
  )

test('a client prefix runs at most 8 password hashes at once, its network 24, and other networks are not limited', async () => {
  const { passwords, release } = startWork()
  const first = Array.from({ length: 9 }, () => statusOf(passwords.hash('p', prefixOf('198.51.100.1'))))
  const sameNetwork = Array.from({ length: 20 }, (_, n) =>
    statusOf(passwords.hash('p', prefixOf(`198.51.100.${n + 2}`))),
  )
  const otherNetwork = statusOf(passwords.hash('p', prefixOf('203.0.113.9')))
  release()
  const count = (statuses: string[]) => statuses.filter((each) => each === 'done').length
  expect([count(await Promise.all(first)), count(await Promise.all(sameNetwork)), await otherNetwork]).toEqual([
    8,
    16,
    'done',
  ])
  const again = passwords.hash('p', prefixOf('198.51.100.1'))
  release()
  expect(await again).toBe('kept')
})

test('a client prefix gets 300 password checks and then 1 per second, and its network 1,200', async () => {
  const { clock, passwords } = startWork()
  const check = (from: string) => passwords.isRight('p', undefined, prefixOf(from))
  for (let count = 0; count < 300; count += 1) await check('2001:db8:1:2::1')
  const refused = await refusalOf(check('2001:db8:1:2::2'))
  expect([refused.kind, refused.retryAfterSeconds]).toEqual(['too_many', 1])
  for (let subnet = 3; subnet < 6; subnet += 1) {
    for (let count = 0; count < 300; count += 1) await check(`2001:db8:1:${subnet}::1`)
  }
  expect((await refusalOf(check('2001:db8:1:9::1'))).kind).toBe('too_many')
  expect(await check('2001:db8:2:9::1')).toBe(true)
  clock.advance(1000)
  expect(await check('2001:db8:1:2::1')).toBe(true)
  expect((await refusalOf(check('2001:db8:1:2::1'))).kind).toBe('too_many')
})

test('a password check that is refused as unavailable does not count towards the limit of 300', async () => {
  const passwords = createPasswordWork({
    clock: () => 0,
    passwords: { hash: async () => undefined, isRight: async () => undefined },
  })
  for (let count = 0; count < 310; count += 1) {
    expect((await refusalOf(passwords.isRight('p', undefined, prefixOf('198.51.100.1')))).kind).toBe('unavailable')
  }
})
