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
const inProduction = { isProduction: true, isErased: false, isCreditedByHand: false }

describe('decide', () => {
  test.each<[string, Payment, Partial<ProviderStatus>, object]>([
    ['credits a pending payment that is paid', pending, {}, { credit: true }],
    ['ignores a repeated status of a paid payment', paid, {}, {}],
    ['ignores a pending status', pending, { state: 'pending' }, {}],
    ['credits an expired payment that is paid late', { ...pending, state: 'expired' }, {}, { credit: true }],
    ['credits a cancelled payment that is paid late', { ...pending, state: 'cancelled' }, {}, { credit: true }],
    [
      'credits a new payment that is paid before its provider id is stored',
      { ...pending, state: 'new', providerId: null },
      {},
      { credit: true },
    ],
    [
      'closes a payment that the provider reports as cancelled',
      pending,
      { state: 'cancelled' },
      { close: 'cancelled' },
    ],
    ['closes a payment that the provider reports as expired', pending, { state: 'expired' }, { close: 'expired' }],
    ['ignores a cancellation of an expired payment', { ...pending, state: 'expired' }, { state: 'cancelled' }, {}],
    ['ignores a cancellation under another provider id', pending, { state: 'cancelled', providerId: 'p-2' }, {}],
    ['debits a paid payment that is cancelled', paid, { state: 'cancelled' }, { debitTo: 10_000n }],
    [
      'ignores a repeated cancellation of a refunded payment',
      { ...paid, state: 'refunded', debited: paid.amount },
      { state: 'cancelled' },
      {},
    ],
    [
      'debits the whole amount of a partly refunded payment that expires',
      { ...paid, debited: kopecks(1n) },
      { state: 'expired' },
      { debitTo: 10_000n },
    ],
    ['debits a partial refund', paid, { refunded: kopecks(1n) }, { debitTo: 1n }],
    ['ignores a repeated partial refund', { ...paid, debited: kopecks(1n) }, { refunded: kopecks(1n) }, {}],
    ['ignores a refund below the debited amount', { ...paid, debited: kopecks(5n) }, { refunded: kopecks(1n) }, {}],
    [
      'debits the amount without the fee if all is refunded',
      paid,
      { refunded: kopecks(10_250n) },
      { debitTo: 10_000n },
    ],
    [
      'credits and debits a payment that is paid and refunded in one status',
      pending,
      { refunded: kopecks(10_250n) },
      { credit: true, debitTo: 10_000n },
    ],
    [
      'reports a refund above the payment and debits the amount',
      paid,
      { refunded: kopecks(10_251n) },
      { notices: ['excess'], debitTo: 10_000n },
    ],
    ['reports a payment below the amount', pending, { amount: kopecks(10_249n) }, { notices: ['amount'] }],
    ['reports a payment above the amount', pending, { amount: kopecks(10_251n) }, { notices: ['amount'] }],
    ['reports a payment without the fee', pending, { amount: kopecks(10_000n) }, { notices: ['amount'] }],
    ['reports a payment in another currency', pending, { currency: 'USD' }, { notices: ['currency'] }],
    ['reports a payment of a test shop in production', pending, { isTest: true }, { notices: ['test'] }],
    ['reports a second payment under another provider id', paid, { providerId: 'p-2' }, { notices: ['twice'] }],
    [
      'reports a second payment that is partly refunded',
      paid,
      { providerId: 'p-2', refunded: kopecks(1n) },
      { notices: ['twice', 'excess'] },
    ],
    [
      'reports a payment of another amount that is refunded',
      pending,
      { amount: kopecks(1n), refunded: kopecks(1n) },
      { notices: ['amount', 'excess'] },
    ],
    [
      'credits a pending payment that is paid under another provider id',
      pending,
      { providerId: 'p-2' },
      { credit: true },
    ],
  ])('decide() %s', (_what, payment, change, expected) => {
    expect(decide(payment, { ...providerStatus, ...change }, inProduction)).toEqual({
      ...nothing,
      ...expected,
    } as never)
  })

  test('decide() credits a payment of a test shop in a sandbox', () => {
    expect(
      decide(pending, { ...providerStatus, isTest: true }, { ...inProduction, isProduction: false }).credit,
    ).toBeTrue()
  })
})

describe('decide for an erased customer', () => {
  const erased = { ...inProduction, isErased: true }
  test('decide() reports a late payment of an erased customer without a credit, and debits a chargeback', () => {
    const late = decide({ ...pending, state: 'expired' }, providerStatus, erased)
    expect(late).toEqual({ ...nothing, notices: ['unknown'] } as never)
    expect(decide(paid, { ...providerStatus, refunded: kopecks(5n) }, erased).debitTo as bigint).toBe(5n)
  })
})

describe('decide for a payment that an operator credited by hand', () => {
  test('decide() reports the money of a payment that was credited by hand, and credits nothing', () => {
    const found = decide(pending, providerStatus, { ...inProduction, isCreditedByHand: true })
    expect(found).toEqual({ ...nothing, notices: ['twice'] } as never)
  })
})

describe('the steps of a payment', () => {
  test('isStep accepts listed changes of a payment and refuses others, for which takeStep throws', () => {
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

  test('takeStep makes a payment refunded by a debit of the whole amount, and leaves it paid by a partial one', () => {
    const back = (total: bigint) =>
      takeStep(paid, { kind: 'debited', total: kopecks(total), note: '' }, 1).payment.state
    expect([back(9999n), back(10_000n)]).toEqual(['paid', 'refunded'])
  })

  test('nextAskAt polls a new payment after 15 s, an older one less often, and finally returns null', () => {
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

test('feeOf rounds up to a kopeck, and is 0 for a fee of 0 %', () => {
  expect([feeOf(kopecks(10_001n), 250), feeOf(kopecks(1n), 1), feeOf(kopecks(10_000n), 0)] as bigint[]).toEqual([
    251n,
    1n,
    0n,
  ])
})

describe('promotional codes', () => {
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
  test('bonusOf returns the percentage of a code, rounded down, or its fixed amount', () => {
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

  test('methodTerms uses the bounds of the provider by default, and keeps the previous terms', () => {
    const first = methodTerms(bounds, { ...all, methods: ['card'], fee: new Map([['card', '2.5']]) }, [])
    expect(first).toEqual([{ method: 'card', min: kopecks(100n), max: kopecks(10_000n), feeHundredths: 250 }])
    expect(methodTerms(bounds, all, first as never)).toEqual(first)
  })

  test('methodTerms refuses an unknown method, and limits or fees outside the bounds of the provider', () => {
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

  test('readPercent reads 2.5 as 250 hundredths, and refuses 100 and 1e1', () => {
    expect([readPercent('2.5'), readPercent('100'), readPercent('1e1')]).toEqual([250, undefined, undefined])
  })
})
