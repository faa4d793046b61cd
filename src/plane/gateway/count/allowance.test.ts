import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { scaled } from '../../../../test/harness/scale.ts'
import { Account } from './allowance.ts'

const lease = 1000

/** A shop that fills up to one lease what is neither counted nor on its way, as far as the balance goes. */
function openAccount(balance: number) {
  let asked = 0
  const account = new Account(
    { kind: 'subuser', id: 'sub', pool: 'pool' },
    () => {
      asked += 1
    },
    () => 0,
  )
  /** The question goes out; what is returned lets the answer come in. */
  const send = () => {
    const moving = account.noteAsked()
    const upto = Math.min(account.counted.received + account.counted.sent + moving + lease, balance)
    return () => account.allow(upto)
  }
  return {
    account,
    asked: () => asked,
    send,
    answer: () => {
      if (account.isAsking) send()()
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

  test('while all that was allowed is on its way to somebody who does not read, there is more for others', () => {
    const { account, answer } = openAccount(100_000)
    account.take(1)
    answer()
    expect(account.take(5000)).toBe(lease)
    answer()
    expect(account.take(5000)).toBe(lease)
    expect(account.isUsedUp).toBe(false)
  })

  test('an answer without more is the end only for who asked with nothing left', () => {
    const { account, asked, send, answer } = openAccount(lease)
    account.take(1)
    answer()
    account.count(undefined, account.take(600), 0)
    const comeIn = send()
    account.count(undefined, account.take(5000), 0)
    account.onChange(() => {})
    comeIn()
    expect(account.isUsedUp).toBe(false)
    // Somebody waits: it is asked again at once, and now it is sure.
    expect(asked()).toBe(3)
    answer()
    expect(account.isUsedUp).toBe(true)
    account.take(1)
    expect(asked()).toBe(3)
    account.hope()
    account.take(1)
    expect(asked()).toBe(4)
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
