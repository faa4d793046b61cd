import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../../test/harness/scale.ts'
import { type Kopecks, total } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { readCatalogue } from './read.ts'
import { type Catalogue, priceDedicated, priceProlonging, priceTraffic, priceVpn, shareOut } from './rules.ts'

const runs = { numRuns: scaled(3000) }

/** Prices as an operator writes them: roubles with two decimals. */
const price = (max: number) => fc.integer({ min: 1, max }).map((each) => (each / 100).toFixed(2))
const percent = fc.integer({ min: 0, max: 9999 }).map((each) => each / 100)

/** Steps that rise in number and in discount, as readCatalogue requires. */
const steps = (max: number) =>
  fc
    .uniqueArray(fc.record({ from: fc.integer({ min: 1, max }), percent }), {
      selector: (step) => step.from,
      maxLength: 5,
    })
    .map((list) => {
      const percents = list.map((step) => step.percent).toSorted((a, b) => a - b)
      return list
        .map((step) => step.from)
        .toSorted((a, b) => a - b)
        .map((from, index) => ({ from, percent: percents[index] ?? 0 }))
    })

const periods = fc
  .uniqueArray(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 6 })
  .map((list) => list.toSorted((a, b) => a - b))

const kind = periods.chain((sold) =>
  fc.record({
    periods: fc.constant(sold),
    volume: steps(1200),
    term: steps(400),
    countries: fc.record({
      DE: price(5_000).map((per_day) => ({ per_day })),
      FR: fc
        .array(price(100_000), { minLength: sold.length, maxLength: sold.length })
        .map((prices) => ({ per_period: Object.fromEntries(sold.map((days, index) => [days, prices[index]])) })),
    }),
  }),
)

const tiers = fc
  .uniqueArray(fc.record({ from: fc.integer({ min: 1, max: 20_000 }), kopecks: fc.integer({ min: 1, max: 60_000 }) }), {
    selector: (tier) => tier.from,
    maxLength: 5,
  })
  .chain((list) =>
    fc.integer({ min: 1, max: 60_000 }).map((first) => {
      const prices = [first, ...list.map((tier) => tier.kopecks)].toSorted((a, b) => b - a)
      const froms = [0, ...list.map((tier) => tier.from).toSorted((a, b) => a - b)]
      return froms.map((from, index) => ({ from_gb: from / 10, per_gb: ((prices[index] ?? 1) / 100).toFixed(2) }))
    }),
  )

const catalogue: fc.Arbitrary<Catalogue> = fc
  .record({ four: kind, prolong: periods, pool: tiers })
  .map(({ four, prolong, pool }) =>
    readCatalogue(1, {
      dedicated: { kinds: { 4: four }, prolong_periods: prolong },
      premium: { pools: { residential: { tiers: pool } } },
    }),
  )

const country = fc.constantFrom('DE', 'FR')
const count = fc.integer({ min: 1, max: 1000 })

/** Both operations that sell time, each with its periods on sale. */
const pricings = [
  {
    name: 'buying',
    of: priceDedicated,
    periodsOf: (list: Catalogue, _country: string) => list.dedicated.kinds.get(4)?.periods ?? [],
  },
  {
    name: 'prolonging',
    of: priceProlonging,
    periodsOf: (list: Catalogue, code: string) => {
      const rate = list.dedicated.kinds.get(4)?.countries.get(code)
      return list.dedicated.prolongPeriods.filter((each) => rate?.by === 'day' || rate?.prices.has(each))
    },
  },
]

/** The price after both discounts and before rounding, as a fraction. */
function exactly(list: Catalogue, code: string, period: number, many: number): { over: bigint; under: bigint } {
  const four = list.dedicated.kinds.get(4)
  const rate = four?.countries.get(code)
  if (!four || !rate) throw new Error('not sold')
  const base = rate.by === 'day' ? rate.price * BigInt(period) : (rate.prices.get(period) ?? 0n)
  const off = (all: readonly { from: number; off: number }[], at: number) =>
    BigInt(all.findLast((step) => step.from <= at)?.off ?? 0)
  const over = base * BigInt(many) * (10_000n - off(four.volume, many)) * (10_000n - off(four.term, period))
  return { over, under: 100_000_000n }
}

describe.each(pricings)('the price of $name', ({ of, periodsOf }) => {
  const inputs = fc.record({ list: catalogue, country, pick: fc.nat(100), count })
  const withPeriod = (given: { list: Catalogue; country: string; pick: number }): number | undefined => {
    const sold = periodsOf(given.list, given.country)
    return sold[given.pick % Math.max(1, sold.length)]
  }

  test('the price of a dedicated order never falls when the count rises', () => {
    fc.assert(
      fc.property(inputs, fc.integer({ min: 1, max: 300 }), (given, more) => {
        const period = withPeriod(given)
        fc.pre(period !== undefined)
        const order = { country: given.country, ipv: 4, period, count: given.count }
        const fewer = of(given.list, order).total
        expect(of(given.list, { ...order, count: given.count + more }).total >= fewer).toBeTrue()
        expect(fewer > 0n).toBeTrue()
      }),
      runs,
    )
  })

  test('the price of a dedicated order never falls when the period rises', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const prices = periodsOf(given.list, given.country).map(
          (period) => of(given.list, { country: given.country, ipv: 4, period, count: given.count }).total,
        )
        for (const [index, each] of prices.entries()) expect(each >= (prices[index - 1] ?? 0n)).toBeTrue()
      }),
      runs,
    )
  })

  test('splitting a dedicated order never makes it cheaper', () => {
    fc.assert(
      fc.property(
        inputs,
        fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 6 }),
        (given, parts) => {
          const period = withPeriod(given)
          fc.pre(period !== undefined)
          const costOf = (many: number) => of(given.list, { country: given.country, ipv: 4, period, count: many }).total
          const all = [given.count, ...parts]
          const whole = costOf(all.reduce((sum, each) => sum + each, 0))
          expect(all.reduce((sum, each) => sum + costOf(each), 0n) >= whole).toBeTrue()
          const ones = costOf(1) * BigInt(given.count)
          expect(ones >= costOf(given.count)).toBeTrue()
        },
      ),
      runs,
    )
  })

  test('the price of a dedicated order is the exact fraction rounded up once, at most that of a larger order', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const period = withPeriod(given)
        fc.pre(period !== undefined)
        const { total: paid, perProxy } = of(given.list, { country: given.country, ipv: 4, period, count: given.count })
        const longer = periodsOf(given.list, given.country).filter((each) => each >= period)
        const counts = [given.count, ...(given.list.dedicated.kinds.get(4)?.volume ?? []).map((step) => step.from)]
        const exact = longer.flatMap((each) =>
          counts.filter((many) => many >= given.count).map((many) => exactly(given.list, given.country, each, many)),
        )
        // Never below the cheapest exact line, and never a whole kopeck above it.
        expect(exact.some(({ over, under }) => paid * under >= over && (paid - 1n) * under < over)).toBeTrue()
        expect(exact.every(({ over, under }) => (paid - 1n) * under < over)).toBeTrue()
        expect(perProxy * BigInt(given.count) >= paid).toBeTrue()
        expect((perProxy - 1n) * BigInt(given.count) < paid).toBeTrue()
      }),
      runs,
    )
  })

  test('the stated discount of a dedicated order is never larger than the given discount', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const period = withPeriod(given)
        fc.pre(period !== undefined)
        const outcome = of(given.list, { country: given.country, ipv: 4, period, count: given.count })
        const { over } = exactly(
          { ...given.list, dedicated: undiscounted(given.list) },
          given.country,
          period,
          given.count,
        )
        const full = over / 100_000_000n
        expect<bigint>(outcome.full).toBe(full)
        const reported = BigInt(Math.round(outcome.discountPercent * 100))
        expect(reported * full <= (full - outcome.total < 0n ? 0n : full - outcome.total) * 10_000n).toBeTrue()
        expect(outcome.discountPercent).toBeGreaterThanOrEqual(0)
        expect(outcome.discountPercent).toBeLessThan(100)
      }),
      runs,
    )
  })
})

function undiscounted(list: Catalogue): Catalogue['dedicated'] {
  const four = list.dedicated.kinds.get(4)
  if (!four) throw new Error('not sold')
  return { ...list.dedicated, kinds: new Map([[4, { ...four, volume: [], term: [] }]]) }
}

test('shareOut divides a total to the kopeck, and no two shares differ by more than one', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 12n }), count, (sum, many) => {
      const shares = shareOut(sum as Kopecks, many)
      expect(shares).toHaveLength(many)
      expect(total(shares)).toBe(sum as Kopecks)
      const [first = 0n, last = 0n] = [shares[0], shares.at(-1)]
      expect(first - last <= 1n && first >= last).toBeTrue()
    }),
    runs,
  )
})

test('priceTraffic never falls when the amount rises, and buying in parts is never cheaper', () => {
  const tenths = fc.integer({ min: 1, max: 30_000 })
  fc.assert(
    fc.property(catalogue, tenths, fc.array(tenths, { minLength: 1, maxLength: 5 }), (list, first, parts) => {
      const costOf = (amount: number) => priceTraffic(list, 'residential', amount).total
      const all = [first, ...parts]
      const whole = costOf(all.reduce((sum, each) => sum + each, 0))
      expect(whole >= costOf(first)).toBeTrue()
      expect(all.reduce((sum, each) => sum + costOf(each), 0n) >= whole).toBeTrue()
      expect(costOf(1) > 0n).toBeTrue()
    }),
    runs,
  )
})

describe('orders without a price', () => {
  const list = readCatalogue(1, {
    dedicated: {
      prolong_periods: [3, 7, 30],
      kinds: {
        4: { periods: [7, 30], countries: { DE: { per_day: 6 }, FR: { per_period: { 7: 50, 30: 150, 90: 400 } } } },
      },
    },
    vpn: { months: { 1: 299, 12: 2690 } },
  })
  const refusalFor = (action: () => unknown): Refusal => {
    try {
      action()
    } catch (error) {
      if (error instanceof Refusal) return error
      throw error
    }
    throw new Error('it was sold')
  }

  test('a country, kind, pool or product without a price is refused with not_found', () => {
    for (const order of [
      { country: 'US', ipv: 4 },
      { country: 'DE', ipv: 6 },
      { country: 'de', ipv: 4 },
    ]) {
      for (const of of [priceDedicated, priceProlonging]) {
        expect(refusalFor(() => of(list, { ...order, period: 7, count: 1 })).code).toBe('not_found')
      }
    }
    expect(refusalFor(() => priceTraffic(list, 'residential', 10)).code).toBe('not_found')
    expect(refusalFor(() => priceVpn({ ...list, vpn: null }, 1)).code).toBe('not_found')
  })

  test('a period that is not sold is refused with the list of the periods on sale', () => {
    const allowedFor = (action: () => unknown) =>
      refusalFor(action).details as readonly { allowed?: readonly (string | number)[] }[]
    expect(allowedFor(() => priceDedicated(list, { country: 'DE', ipv: 4, period: 14, count: 1 }))[0]?.allowed).toEqual(
      [7, 30],
    )
    expect(
      allowedFor(() => priceProlonging(list, { country: 'DE', ipv: 4, period: 14, count: 1 }))[0]?.allowed,
    ).toEqual([3, 7, 30])
    // A rate by the period is prolonged only by a period that it prices.
    expect(allowedFor(() => priceProlonging(list, { country: 'FR', ipv: 4, period: 3, count: 1 }))[0]?.allowed).toEqual(
      [7, 30],
    )
    expect(allowedFor(() => priceVpn(list, 2))[0]?.allowed).toEqual([1, 12])
  })

  test('priceDedicated refuses a period that has a price and is not listed', () => {
    expect(refusalFor(() => priceDedicated(list, { country: 'FR', ipv: 4, period: 90, count: 1 })).code).toBe(
      'invalid_request',
    )
  })
})
