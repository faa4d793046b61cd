import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { scaled } from '../../../../test/harness/scale.ts'
import { Account } from './account.ts'

const lease = 1000

/** A shop that allows one lease beyond what it was told has arrived, as far as the balance goes. */
function openAccount(balance: number) {
  let nowMs = 0
  const asked: number[] = []
  const account = new Account(
    { kind: 'subuser', id: 'sub', pool: 'pool' },
    () => asked.push(account.counted.received + account.counted.sent),
    () => nowMs,
  )
  return {
    account,
    asked,
    pass: (ms: number) => {
      nowMs += ms
    },
    answer() {
      const told = asked.shift()
      if (told !== undefined) account.allow(Math.min(told + lease, balance))
    },
  }
}

describe('an account of bytes', () => {
  test('however much is asked of it, no more passes than was allowed', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 20_000 }),
        fc.array(fc.integer({ min: 1, max: 3000 })),
        (balance, wishes) => {
          const { account, answer } = openAccount(balance)
          let passed = 0
          for (const wish of wishes) {
            const taken = account.take(wish)
            passed += taken
            account.count(undefined, taken, 0)
            answer()
          }
          expect(passed).toBeLessThanOrEqual(balance)
        },
      ),
      { numRuns: scaled(1000) },
    )
  })

  test('an answer without more, while all that was allowed is on its way, does not mean that there is no more', () => {
    const { account, answer } = openAccount(100_000)
    account.take(1)
    answer()
    // All of the lease is on its way and nothing has arrived: the shop can allow nothing beyond it.
    expect(account.take(5000)).toBe(lease)
    answer()
    answer()
    expect(account.isUsedUp).toBe(false)
    account.count(undefined, lease, 0)
    account.askAfresh()
    answer()
    expect(account.hasSome).toBe(true)
  })

  test('an answer without more, when all has arrived, means that there is no more, until there is hope', () => {
    const { account, asked, answer, pass } = openAccount(lease)
    account.take(1)
    answer()
    account.count(undefined, account.take(lease), 0)
    answer()
    account.take(1)
    answer()
    expect(account.isUsedUp).toBe(true)
    account.take(1)
    expect(asked).toHaveLength(0)
    account.hope()
    account.take(1)
    expect(asked).toHaveLength(1)
    pass(1)
  })

  test('a reader who has stopped does not keep others waiting for ever', () => {
    const { account, answer, pass } = openAccount(lease)
    account.take(1)
    answer()
    account.take(lease)
    answer()
    expect(account.isUsedUp).toBe(false)
    pass(2000)
    account.askAfresh()
    answer()
    expect(account.isUsedUp).toBe(true)
  })

  test('what did not arrive can be taken again', () => {
    const { account, answer } = openAccount(lease)
    account.take(1)
    answer()
    expect(account.take(lease)).toBe(lease)
    account.putBack(400)
    expect(account.take(lease)).toBe(400)
  })

  test('where bytes went is kept for five hundred hosts, and beyond them as one', () => {
    const { account } = openAccount(lease)
    for (let index = 0; index < 600; index += 1) account.count(`host-${index}`, 1, 2)
    const hosts = account.takeChangedHosts()
    expect(hosts).toHaveLength(501)
    expect(hosts.find((each) => each.host === 'other')).toEqual({ host: 'other', received: 100, sent: 200 })
    expect(account.takeChangedHosts()).toEqual([])
  })
})
