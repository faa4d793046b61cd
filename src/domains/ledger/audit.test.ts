import { describe, expect, test } from 'bun:test'
import { realRuntime } from '../../app/shop/services.ts'
import { sealEntry } from '../../core/chain.ts'
import { sayFinding } from '../../core/finding.ts'
import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import { AccountWalk, CheckpointFold } from './audit.ts'
import { type Account, fieldsOf, type Movement, openAccount, type Posting, post } from './rules.ts'

const { sha256 } = realRuntime
const customer = 'cus_anna' as CustomerId
const [order, phone] = ['ord_1' as OrderId, 'tok_phone' as TokenId]

const credit = (amount: bigint): Movement => ({
  kind: 'credit',
  house: 'funds:operator',
  amount: kopecks(amount),
  order: null,
  token: null,
  refundOf: null,
  key: null,
  reference: null,
  note: 'top-up',
})
const charge = (amount: bigint): Movement => ({
  ...credit(-amount),
  kind: 'charge',
  house: 'revenue:vpn',
  order,
  token: phone,
})
const refund = (amount: bigint, of: number): Movement => ({ ...charge(-amount), kind: 'refund', refundOf: of })

/** An account after these movements, and its postings. */
function history(...movements: readonly Movement[]): { account: Account; postings: Posting[] } {
  let account = openAccount(customer)
  const postings: Posting[] = []
  for (const [index, movement] of movements.entries()) {
    const moved = post(account, movement, 1000 + index, sha256)
    account = moved.account
    postings.push(moved.posting)
  }
  return { account, postings }
}

/** A posting with changed content and a matching hash, as a program with write access could write it. */
function forge(postings: readonly Posting[], index: number, change: Partial<Posting>): Posting[] {
  const forged = { ...postings[index], ...change } as Posting
  const head = postings[index - 1]?.hash ?? openAccount(customer).head
  return postings.with(index, { ...forged, hash: sealEntry(head, fieldsOf(forged), sha256) })
}

function walked(postings: readonly Posting[], account?: Account): AccountWalk {
  const walk = new AccountWalk(customer, sha256)
  for (const posting of postings) walk.step(posting)
  if (account) walk.finish(account)
  return walk
}
const problems = (postings: readonly Posting[], account?: Account) =>
  walked(postings, account).findings.map((each) => `${each.promise}: ${sayFinding(each).problem}`)

describe('AccountWalk', () => {
  const sample = history(credit(1000n), charge(300n), refund(300n, 2), charge(1000n))

  test('AccountWalk reports nothing for an unchanged account', () => {
    expect(problems(sample.postings, sample.account)).toEqual([])
  })

  test('AccountWalk sums the spending of each token, less refunds', () => {
    const { postings } = history(credit(1000n), charge(300n), refund(100n, 2), charge(5n))
    expect([...walked(postings).spentByToken]).toEqual([[phone, kopecks(205n)]])
  })

  test('AccountWalk lists the charges by posting number, and no other postings', () => {
    expect([...walked(sample.postings).charges.keys()]).toEqual([2, 4])
  })

  test('AccountWalk compares the balance, the API spending and the last posting with the account row', () => {
    const wrong = (change: Partial<Account>) => problems(sample.postings, { ...sample.account, ...change })
    expect(wrong({ balance: kopecks(1n) })).toEqual(['balance: the balance is 0.01, its postings sum to 0.00'])
    expect(wrong({ apiSpent: kopecks(999n) })).toEqual(['api_spent: api_spent is 9.99, its postings sum to 10.00'])
    expect(wrong({ seq: 5 })).toHaveLength(1)
    expect(wrong({ head: sha256('another') })).toHaveLength(1)
  })

  const two = history(credit(1000n), charge(300n)).postings
  const three = history(credit(1000n), charge(300n), refund(300n, 2)).postings

  test.each<[string, readonly Posting[], string]>([
    [
      'a wrong balance',
      forge(two, 1, { balanceAfter: kopecks(701n) }),
      'balance: balance_after is 7.01, expected 7.00',
    ],
    [
      'a negative balance',
      forge(two, 1, { amount: kopecks(-1001n), balanceAfter: kopecks(-1n) }),
      'the balance after it is -0.01',
    ],
    [
      'a positive charge',
      forge(two, 1, { amount: kopecks(3n), balanceAfter: kopecks(1003n) }),
      'negative, this posting is +0.03',
    ],
    [
      'a charge of 0',
      forge(two, 1, { amount: kopecks(0n), balanceAfter: kopecks(1000n) }),
      'negative, this posting is 0.00',
    ],
    ['a negative credit', forge(two, 1, { ...credit(-300n) }), 'a credit must be positive, this posting is -3.00'],
    ['a credit from revenue', forge(two, 0, { house: 'revenue:vpn' }), 'a credit must not be posted to revenue:vpn'],
    [
      'a charge into funds',
      forge(two, 1, { house: 'funds:operator' }),
      'a charge must not be posted to funds:operator',
    ],
    ['a refund of a credit', forge(three, 2, { refundOf: 1 }), 'it refunds posting 1, which is no'],
    ['a refund without a charge', forge(three, 2, { refundOf: null }), 'names no charge'],
    [
      'a refund above its charge',
      forge(three, 2, { amount: kopecks(301n), balanceAfter: kopecks(1001n) }),
      'the refunds of charge 2 sum to 3.01, the charge is 3.00',
    ],
    ['a refund of another order', forge(three, 2, { order: 'ord_2' as OrderId }), 'is not that of charge 2'],
    ['a refund to another token', forge(three, 2, { token: null }), 'is not that of charge 2'],
    ['a refund from other revenue', forge(three, 2, { house: 'revenue:premium' }), 'is not that of charge 2'],
    [
      'refunds whose sum exceeds their charge',
      history(credit(1000n), charge(300n), refund(200n, 2), refund(101n, 2)).postings,
      'the refunds of charge 2 sum to 3.01, the charge is 3.00',
    ],
    ['a changed note with its old hash', two.with(1, { ...two[1], note: 'lie' } as Posting), 'chain: '],
    ['a missing posting', [two[1] as Posting], 'chain: '],
  ])('AccountWalk reports %s', (_what, postings, sentence) => {
    expect(problems(postings).join('\n')).toContain(sentence)
  })

  test('AccountWalk accepts a refund of part of a charge, and several refunds that sum to at most the charge', () => {
    expect(problems(history(credit(1000n), charge(300n), refund(200n, 2), refund(100n, 2)).postings)).toEqual([])
    expect(problems(history(credit(1000n), charge(300n), refund(1n, 2)).postings)).toEqual([])
  })
})

describe('CheckpointFold', () => {
  const foldOf = (accounts: number, changed = -1) => {
    const fold = new CheckpointFold(sha256)
    for (let index = 0; index < accounts; index += 1) {
      fold.add(`cus_${index}`, 2, sha256(index === changed ? 'another' : `${index}`), 5n)
    }
    return fold
  }

  test('CheckpointFold sums accounts, postings and balances', () => {
    expect(foldOf(3)).toMatchObject({ accounts: 3, postings: 6, balances: 15n })
  })

  test('the digest of CheckpointFold changes with the first, the last or a missing one of up to 2,000 accounts', () => {
    for (const accounts of [1, 999, 1000, 1001, 2000]) {
      const whole = foldOf(accounts).totals().digest.toHex()
      expect(foldOf(accounts).totals().digest.toHex()).toBe(whole)
      for (const changed of [0, accounts - 1]) expect(foldOf(accounts, changed).totals().digest.toHex()).not.toBe(whole)
      expect(
        foldOf(accounts - 1)
          .totals()
          .digest.toHex(),
      ).not.toBe(whole)
    }
  })
})
