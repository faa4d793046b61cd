import { describe, expect, test } from 'bun:test'
import { shipped } from '../../../test/harness/proxies.ts'
import { type FieldProblem, listProblems } from '../../core/messages/problems.ts'
import { problemsEn } from '../../core/messages/problems-en.ts'
import { Refusal } from '../../core/refusal.ts'
import { readCatalogue } from './read.ts'
import { priceDedicated, priceProlonging } from './rules.ts'

function problemsOf(value: unknown): readonly string[] {
  try {
    readCatalogue(1, value)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    expect(error.code).toBe('invalid_request')
    const problems = (error.details as readonly FieldProblem[]).map((each) => listProblems(problemsEn, [each]))
    for (const problem of problems) expect(error.message).toContain(problem)
    return problems
  }
  return []
}

/** The shipped price list with the value at one path replaced. */
function listWith(path: string, value: unknown): unknown {
  const list: unknown = shipped()
  const names = path.split('/')
  let at = list as Record<string, unknown>
  for (const name of names.slice(0, -1)) at = at[name] as Record<string, unknown>
  const last = names.at(-1) ?? ''
  if (value === undefined) delete at[last]
  else at[last] = value
  return list
}

const de = 'dedicated/kinds/4/countries/DE'
const tier = 'premium/pools/mobile/tiers'
const notPrices = [
  0,
  -1,
  -0,
  0.001,
  1.234,
  1e-7,
  1e21,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '',
  '0',
  '0.00',
  '1,5',
  '+1',
  ' 1',
  '1.',
  '1e3',
  true,
  null,
  [],
  {},
  '99999999999999',
]
const notLists = [null, 7, 'x', true, {}]
const notMappings = [7, 'x', true, [], [1]]
const notPeriods = [0, -7, 1.5, '7', null, 3651, Number.NaN]
const notPercents = [-1, 100, 5.123, '5', null, true, Number.NaN, 1e-7]

/** Each: a path, wrong values for it, and the path that the refusal names. */
const wrongs: [path: string, values: readonly unknown[], reported: string][] = [
  ['dedicated', notMappings, 'dedicated'],
  ['dedicated/kinds', notMappings, 'dedicated.kinds'],
  ['dedicated/extra', [1], 'dedicated.extra'],
  ['dedicated/kinds/5', [{}], 'dedicated.kinds.5'],
  ['dedicated/kinds/04', [{}], 'dedicated.kinds.04'],
  ['dedicated/kinds/4', [null, ...notMappings], 'dedicated.kinds.4'],
  ['dedicated/kinds/4/extra', [1], 'dedicated.kinds.4.extra'],
  ['dedicated/kinds/4/Periods', [[7]], 'dedicated.kinds.4.Periods'],
  ['dedicated/kinds/4/periods', [undefined, [], ...notLists], 'dedicated.kinds.4.periods'],
  [
    'dedicated/kinds/4/periods',
    [
      [7, 7],
      [30, 7],
    ],
    'dedicated.kinds.4.periods: must rise',
  ],
  ['dedicated/kinds/4/periods/0', notPeriods, 'dedicated.kinds.4.periods.0'],
  ['dedicated/prolong_periods', [[], [7, 3], ...notLists], 'dedicated.prolong_periods'],
  ['dedicated/prolong_periods/1', notPeriods, 'dedicated.prolong_periods.1'],
  ['dedicated/kinds/4/countries', [undefined, null, ...notMappings], 'dedicated.kinds.4.countries'],
  ['dedicated/kinds/4/countries/de', [{ per_day: 1 }], 'dedicated.kinds.4.countries.de'],
  ['dedicated/kinds/4/countries/DEU', [{ per_day: 1 }], 'dedicated.kinds.4.countries.DEU'],
  ['dedicated/kinds/4/countries/UK', [{ per_day: 1 }], 'dedicated.kinds.4.countries.UK'],
  [de, [null, 6, '6', []], 'dedicated.kinds.4.countries.DE'],
  [
    de,
    [{}, { per_day: 1, per_period: { 7: 1 } }],
    'dedicated.kinds.4.countries.DE: must have either per_day or per_period',
  ],
  [de, [{ per_day: 6, per_week: 1 }], 'dedicated.kinds.4.countries.DE.per_week'],
  [`${de}/per_day`, notPrices, 'dedicated.kinds.4.countries.DE.per_day'],
  [de, [{ per_period: { 7: 1, 14: 2, 30: 3, 60: 4 } }], 'dedicated.kinds.4.countries.DE: has no price for 90 days'],
  [de, [{ per_period: {} }, { per_period: null }], 'dedicated.kinds.4.countries.DE'],
  [
    de,
    notPrices.map((each) => ({ per_period: { 7: each, 14: 2, 30: 3, 60: 4, 90: 5 } })),
    'dedicated.kinds.4.countries.DE.per_period.7',
  ],
  [de, [{ per_period: { 7: 1, 14: 2, 30: 3, 60: 4, 90: 5, x: 6 } }], 'dedicated.kinds.4.countries.DE.per_period.x'],
  [
    de,
    [{ per_period: { 7: 1, 14: 2, 30: 3, 60: 4, 90: 5, '7.0': 6 } }],
    'dedicated.kinds.4.countries.DE.per_period.7.0',
  ],
  ['dedicated/kinds/4/volume', [7, 'x', {}], 'dedicated.kinds.4.volume'],
  [
    'dedicated/kinds/4/volume',
    [
      [
        { from: 10, percent: 5 },
        { from: 10, percent: 6 },
      ],
    ],
    'dedicated.kinds.4.volume: must rise',
  ],
  [
    'dedicated/kinds/4/volume',
    [
      [
        { from: 10, percent: 5 },
        { from: 20, percent: 4 },
      ],
    ],
    'dedicated.kinds.4.volume: must rise',
  ],
  [
    'dedicated/kinds/4/term',
    [
      [
        { from: 30, percent: 5 },
        { from: 7, percent: 6 },
      ],
    ],
    'dedicated.kinds.4.term: must rise',
  ],
  ['dedicated/kinds/4/volume/0', [null, 7, []], 'dedicated.kinds.4.volume.0'],
  ['dedicated/kinds/4/volume/0/off', [5], 'dedicated.kinds.4.volume.0.off'],
  ['dedicated/kinds/4/volume/0/from', [0, -1, 1.5, '10', null, undefined, 100_001], 'dedicated.kinds.4.volume.0.from'],
  ['dedicated/kinds/4/volume/0/percent', [undefined, ...notPercents], 'dedicated.kinds.4.volume.0.percent'],
  ['dedicated/kinds/4/term/1/percent', notPercents, 'dedicated.kinds.4.term.1.percent'],
  ['premium', notMappings, 'premium'],
  ['premium/extra', [1], 'premium.extra'],
  ['premium/pools', notMappings, 'premium.pools'],
  ['premium/pools/Mobile', [{ tiers: [{ from_gb: 0, per_gb: 1 }] }], 'premium.pools.Mobile'],
  ['premium/pools/mobile', [null, ...notMappings], 'premium.pools.mobile'],
  ['premium/pools/mobile/expires_days', [0, 1.5, '30', 3651], 'premium.pools.mobile.expires_days'],
  [tier, [undefined, [], ...notLists], 'premium.pools.mobile.tiers'],
  [`${tier}/0/from_gb`, [1, -1, 0.05, '0', null, 100_000], 'premium.pools.mobile.tiers'],
  [`${tier}/1/from_gb`, [0, 50, 51], 'premium.pools.mobile.tiers: must rise'],
  [`${tier}/1/per_gb`, [521], 'premium.pools.mobile.tiers: must rise'],
  [`${tier}/1/per_gb`, notPrices, 'premium.pools.mobile.tiers.1.per_gb'],
  [`${tier}/0/price`, [1], 'premium.pools.mobile.tiers.0.price'],
  ['vpn', notMappings, 'vpn'],
  ['vpn/extra', [1], 'vpn.extra'],
  ['vpn/months', [undefined, null, {}, 7, []], 'vpn.months'],
  ['vpn/months/0', [1], 'vpn.months.0'],
  ['vpn/months/x', [1], 'vpn.months.x'],
  ['vpn/months/1.5', [1], 'vpn.months.1.5'],
  ['vpn/months/121', [1], 'vpn.months.121'],
  ['vpn/months/1', notPrices, 'vpn.months.1'],
  ['vpn/device_limit', [0, 1.5, '5', 1001], 'vpn.device_limit'],
  ['vpn/traffic_gb', [0, 1.5, 'x'], 'vpn.traffic_gb'],
  ['vpn/speed_mbit', [0, -1, 'x'], 'vpn.speed_mbit'],
  ['dedicated/speed_mbit', [0, -1, 1.5, 'x', 1_000_001], 'dedicated.speed_mbit'],
  ['premium/speed_mbit', [0, -1, 1.5, 'x', 1_000_001], 'premium.speed_mbit'],
  ['vpn/refund', ['all', true, 1], 'vpn.refund'],
  ['extra', [1], 'catalogue.extra'],
]

describe('readCatalogue', () => {
  test('readCatalogue accepts the shipped price list and an empty one', () => {
    expect(problemsOf(shipped())).toEqual([])
    expect(problemsOf({})).toEqual([])
  })

  test.each(wrongs.map(([path, values, reported]) => ({ path, values, reported })))(
    'readCatalogue refuses a wrong $path and names $reported',
    ({ path, values, reported }) => {
      for (const value of values) {
        const problems = problemsOf(listWith(path, value))
        expect({ value, named: problems.some((each) => each.startsWith(reported)) }).toEqual({ value, named: true })
      }
    },
  )

  test('readCatalogue refuses a price list that is not a mapping', () => {
    for (const value of [null, undefined, 7, 'x', [], true]) {
      expect(problemsOf(value).some((each) => each.startsWith('catalogue: must be an object'))).toBeTrue()
    }
  })

  test('readCatalogue reports all problems of a price list at once', () => {
    const problems = problemsOf({
      dedicated: {
        prolong_periods: [7, 3],
        kinds: { 4: { periods: [7], countries: { DE: { per_day: 0 }, FR: { per_period: {} } }, volume: 5 } },
      },
      premium: { pools: { x: { tiers: [] } } },
      vpn: { months: {}, refund: 'maybe' },
      extra: 1,
    })
    for (const path of [
      'catalogue.extra',
      'dedicated.prolong_periods',
      'dedicated.kinds.4.countries.DE.per_day',
      'dedicated.kinds.4.countries.FR',
      'dedicated.kinds.4.volume',
      'premium.pools.x.tiers',
      'vpn.months',
      'vpn.refund',
    ]) {
      expect(problems.filter((each) => each.startsWith(path))).not.toEqual([])
    }
  })

  test('an accepted price list prices 1,000 proxies for 3,650 days within the range of money', () => {
    const list = shipped()
    const kind = list.dedicated.kinds['4']
    if (!kind) throw new Error('nothing is sold')
    kind.periods = [3650]
    list.dedicated.prolong_periods = [3650]
    kind.volume = [{ from: 100_000, percent: 0 }]
    let accepted = 0
    for (let digits = 0; digits <= 13; digits += 1) {
      kind.countries = {
        DE: { per_day: `1${'0'.repeat(digits)}` },
        FR: { per_period: { 3650: `1${'0'.repeat(digits)}` } },
      }
      if (problemsOf(list).length > 0) continue
      accepted += 1
      const catalogue = readCatalogue(1, list)
      for (const country of ['DE', 'FR']) {
        const order = { country, ipv: 4, period: 3650, count: 1000 }
        expect(priceDedicated(catalogue, order).total).toBe(priceProlonging(catalogue, order).total)
      }
    }
    expect(accepted).toBeGreaterThan(4)
  })
})

test('readCatalogue sets no speed limit for a product without speed_mbit', () => {
  const shippedList = readCatalogue(1, shipped())
  expect([shippedList.dedicated.speedMegabits, shippedList.premium.speedMegabits]).toEqual([null, null])
  const slow = readCatalogue(1, listWith('premium/speed_mbit', 20))
  expect([slow.dedicated.speedMegabits, slow.premium.speedMegabits]).toEqual([null, 20])
})

describe('the rule for outages', () => {
  test('readCatalogue reads the outage rule, by default extend the term and keep the address for 60 minutes', () => {
    for (const outage of [undefined, {}]) {
      const { dedicated } = readCatalogue(1, listWith('dedicated/outage', outage))
      expect(dedicated.outage).toEqual({ time: 'extend', address: 'keep', afterMs: 3_600_000 })
    }
    const outage = { time: 'refund', address: 'replace', after_minutes: 5 }
    const { dedicated } = readCatalogue(1, listWith('dedicated/outage', outage))
    expect(dedicated.outage).toEqual({ time: 'refund', address: 'replace', afterMs: 300_000 })
  })

  test.each([{ time: 'both' }, { address: 'swap' }, { after_minutes: 0 }, { after_minutes: 1.5 }, { after: 5 }])(
    'readCatalogue refuses the outage rule %p',
    (outage) => {
      expect(problemsOf(listWith('dedicated/outage', outage))).toHaveLength(1)
    },
  )
})
