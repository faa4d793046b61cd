import { describe, expect, test } from 'bun:test'
import type { CustomerId, PaymentId } from '../../core/ids.ts'
import { kopecks, zero } from '../../core/money.ts'
import { methodTerms, readPercent } from './providers.ts'
import {
  bonusOf,
  type ChangeKind,
  decide,
  feeOf,
  isStep,
  nextAskAt,
  type Payment,
  type ProviderStatus,
  takeStep,
  whyNot,
} from './rules.ts'

const pending: Payment = {
  id: 'pay_1' as PaymentId,
  customer: 'cus_1' as CustomerId,
  token: null,
  key: null,
  request: new Uint8Array(),
  provider: 'somebody',
  method: 'card',
  amount: kopecks(10_000n),
  fee: kopecks(250n),
  returnUrl: null,
  state: 'pending',
  providerId: 'p-1',
  payUrl: null,
  qr: null,
  credited: zero,
  debited: zero,
  changes: 2,
  createdAt: 0,
  expiresAt: 3_600_000,
  askAt: null,
  code: null,
  bonus: zero,
  purchase: null,
}
const paid: Payment = { ...pending, state: 'paid', credited: kopecks(10_000n) }
const providerStatus: ProviderStatus = {
  providerId: 'p-1',
  state: 'paid',
  amount: kopecks(10_250n),
  currency: 'RUB',
  isTest: false,
  refunded: zero,
}
const nothing = { notices: [], credit: false, debitTo: null, close: null }
const inProduction = { isProduction: true, isErased: false }

describe('decide', () => {
  test.each<[string, Payment, Partial<ProviderStatus>, object]>([
    ['the first time that it is paid', pending, {}, { credit: true }],
    ['the second time', paid, {}, {}],
    ['before it is paid', pending, { state: 'pending' }, {}],
    ['when it comes after its time', { ...pending, state: 'expired' }, {}, { credit: true }],
    ['when it comes after it was called off', { ...pending, state: 'cancelled' }, {}, { credit: true }],
    ['before our own answer', { ...pending, state: 'new', providerId: null }, {}, { credit: true }],
    ['when the payer has given up', pending, { state: 'cancelled' }, { close: 'cancelled' }],
    ['when its time is over there', pending, { state: 'expired' }, { close: 'expired' }],
    ['when it was over already', { ...pending, state: 'expired' }, { state: 'cancelled' }, {}],
    ['when another one of ours is over', pending, { state: 'cancelled', providerId: 'p-2' }, {}],
    ['when a paid one is called off', paid, { state: 'cancelled' }, { debitTo: 10_000n }],
    [
      'when a cancellation is repeated',
      { ...paid, state: 'refunded', debited: paid.amount },
      { state: 'cancelled' },
      {},
    ],
    [
      'when a cancellation follows a refund of a part',
      { ...paid, debited: kopecks(1n) },
      { state: 'expired' },
      { debitTo: 10_000n },
    ],
    ['when a part goes back', paid, { refunded: kopecks(1n) }, { debitTo: 1n }],
    ['when the same part is told again', { ...paid, debited: kopecks(1n) }, { refunded: kopecks(1n) }, {}],
    ['when less has gone back than was told', { ...paid, debited: kopecks(5n) }, { refunded: kopecks(1n) }, {}],
    ['when all goes back, fee included', paid, { refunded: kopecks(10_250n) }, { debitTo: 10_000n }],
    ['when it came and went at once', pending, { refunded: kopecks(10_250n) }, { credit: true, debitTo: 10_000n }],
    [
      'when more goes back than was paid',
      paid,
      { refunded: kopecks(10_251n) },
      { notices: ['excess'], debitTo: 10_000n },
    ],
    ['when less was paid', pending, { amount: kopecks(10_249n) }, { notices: ['amount'] }],
    ['when more was paid', pending, { amount: kopecks(10_251n) }, { notices: ['amount'] }],
    ['when the fee is missing', pending, { amount: kopecks(10_000n) }, { notices: ['amount'] }],
    ['in another currency', pending, { currency: 'USD' }, { notices: ['currency'] }],
    ['from a test shop', pending, { isTest: true }, { notices: ['test'] }],
    ['when it is paid a second time', paid, { providerId: 'p-2' }, { notices: ['twice'] }],
    [
      'when a second payment has gone back',
      paid,
      { providerId: 'p-2', refunded: kopecks(1n) },
      { notices: ['twice', 'excess'] },
    ],
    [
      'when another amount has gone back',
      pending,
      { amount: kopecks(1n), refunded: kopecks(1n) },
      { notices: ['amount', 'excess'] },
    ],
    ['when only its orphan is paid', pending, { providerId: 'p-2' }, { credit: true }],
  ])('decide: %s', (_when, payment, change, expected) => {
    expect(decide(payment, { ...providerStatus, ...change }, inProduction)).toEqual({
      ...nothing,
      ...expected,
    } as never)
  })

  test('a payment of a test shop is credited in a sandbox', () => {
    expect(
      decide(pending, { ...providerStatus, isTest: true }, { ...inProduction, isProduction: false }).credit,
    ).toBeTrue()
  })
})

describe('for a customer who was erased', () => {
  const erased = { ...inProduction, isErased: true }
  test('late money of an erased customer is a notice, and a chargeback is debited', () => {
    const late = decide({ ...pending, state: 'expired' }, providerStatus, erased)
    expect(late).toEqual({ ...nothing, notices: ['unknown'] } as never)
    expect(decide(paid, { ...providerStatus, refunded: kopecks(5n) }, erased).debitTo as bigint).toBe(5n)
  })
})

describe('the steps of a payment', () => {
  test('isStep allows the steps of the table and no others', () => {
    expect(isStep('expired', 'credited', 'paid')).toBeTrue()
    expect(isStep('paid', 'credited', 'paid')).toBeFalse()
    expect(isStep('refunded', 'debited', 'refunded')).toBeFalse()
    expect(isStep(undefined, 'opened', 'new')).toBeTrue()
    expect(isStep('new', 'opened', 'new')).toBeFalse()
    expect(isStep('paid', 'bonus_back', 'paid')).toBeTrue()
    expect(isStep('paid', 'bonus_back', 'refunded')).toBeFalse()
    expect(isStep('pending', 'share_back', 'pending')).toBeFalse()
    for (const kind of ['credited', 'expired', 'cancelled', 'sent'] satisfies ChangeKind[]) {
      expect(() => takeStep({ ...paid, state: 'refunded' }, { kind, note: '' }, 1)).toThrow('cannot be')
    }
  })

  test('a debit of the whole amount makes a payment refunded, of a part leaves it paid', () => {
    const back = (total: bigint) =>
      takeStep(paid, { kind: 'debited', total: kopecks(total), note: '' }, 1).payment.state
    expect([back(9999n), back(10_000n)]).toEqual(['paid', 'refunded'])
  })

  test('nextAskAt polls a young payment more often, and stops in the end', () => {
    expect(nextAskAt(pending, 0)).toBe(15_000)
    expect(nextAskAt(pending, 3_590_000)).toBe(3_600_000)
    expect(nextAskAt(pending, 3_600_000)).toBe(4_200_000)
    const day = 86_400_000
    expect(nextAskAt({ ...pending, state: 'expired' }, 3 * day)).toBe(4 * day)
    expect(nextAskAt({ ...pending, state: 'expired' }, 9 * day)).toBeNull()
    const over: Payment = { ...pending, state: 'cancelled' }
    expect([nextAskAt(over, 1), nextAskAt(over, day), nextAskAt(over, 8 * day)]).toEqual([day + 1, 8 * day, null])
    expect(nextAskAt(paid, 1000)).toBe(day + 1000)
    expect(nextAskAt(paid, 50 * day)).toBeNull()
    expect(nextAskAt({ ...paid, state: 'refunded' }, 1000)).toBeNull()
  })
})

test('feeOf rounds up to a kopeck, and 0 % is nothing', () => {
  expect([feeOf(kopecks(10_001n), 250), feeOf(kopecks(1n), 1), feeOf(kopecks(10_000n), 0)] as bigint[]).toEqual([
    251n,
    1n,
    0n,
  ])
})

describe('a code', () => {
  const code = {
    code: 'A',
    kind: 'percent' as const,
    value: 1000n,
    least: kopecks(100n),
    uses: 2,
    untilAt: 1000,
    createdAt: 0,
    endedAt: null,
    note: '',
  }
  const now = { amount: kopecks(100n), used: 0, usedByCustomer: 0, nowMs: 999 }
  test('a code adds its percentage, rounded down, or its amount', () => {
    expect(bonusOf(code, kopecks(109n)) as bigint).toBe(10n)
    expect(bonusOf({ kind: 'amount', value: 7n }, kopecks(109n)) as bigint).toBe(7n)
  })
  test('whyNot returns the reason why a code adds nothing', () => {
    const why = (change: object, state: object) => whyNot({ ...code, ...change }, { ...now, ...state })
    expect(why({}, {})).toBeUndefined()
    expect(why({}, { nowMs: 1000 })).toBe('over')
    expect(why({ endedAt: 1 }, {})).toBe('over')
    expect(why({}, { used: 2 })).toBe('used up')
    expect(why({ uses: null }, { used: 2 })).toBeUndefined()
    expect(why({}, { usedByCustomer: 1 })).toBe('used before')
    expect(why({}, { amount: kopecks(99n) })).toBe('too little')
    expect(why({ least: zero }, { amount: kopecks(9n) })).toBe('too little')
  })
})

describe('the terms of a provider', () => {
  const bounds = [
    { method: 'card', min: kopecks(100n), max: kopecks(10_000n) },
    { method: 'sbp', min: kopecks(100n), max: kopecks(20_000n) },
  ]
  const none = new Map<string, string>()
  const all = { methods: undefined, min: none, max: none, fee: none }

  test('methodTerms are the provider’s bounds by default, and stay when they are not given', () => {
    const first = methodTerms(bounds, { ...all, methods: ['card'], fee: new Map([['card', '2.5']]) }, [])
    expect(first).toEqual([{ method: 'card', min: kopecks(100n), max: kopecks(10_000n), feeHundredths: 250 }])
    expect(methodTerms(bounds, all, first as never)).toEqual(first)
  })

  test('methodTerms outside of the provider’s bounds are refused with a reason', () => {
    const of = (name: string, value: string) => new Map([[name, value]])
    for (const change of [
      { methods: ['gold'] },
      { min: of('card', '0.5') },
      { max: of('card', '101') },
      { min: of('card', '50'), max: of('card', '40') },
      { fee: of('card', '100') },
      { fee: of('card', '-1') },
    ]) {
      expect(methodTerms(bounds, { ...all, ...change }, [])).toHaveProperty('reason')
    }
  })

  test('readPercent takes at most two decimals, below 100', () => {
    expect([readPercent('2.5'), readPercent('100'), readPercent('1e1')]).toEqual([250, undefined, undefined])
  })
})
