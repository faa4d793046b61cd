import { describe, expect, test } from 'bun:test'
import { shipped } from '../../../test/harness/proxies.ts'
import { kopecks } from '../../core/money.ts'
import { readCatalogue } from './read.ts'
import { difference, effectsOf, type HeldGoods } from './rules-effects.ts'

const germanProxies: HeldGoods = {
  goods: { product: 'dedicated', country: 'DE', ipv: 4 },
  customers: 3,
  services: 7,
  renewals: new Map([
    [30, 2],
    [7, 1],
  ]),
}
const devices: HeldGoods = { goods: { product: 'vpn' }, customers: 2, services: 2, renewals: new Map([[1, 2]]) }
const traffic: HeldGoods = {
  goods: { product: 'premium', pool: 'residential' },
  customers: 4,
  services: 5,
  renewals: new Map(),
}
const all = [germanProxies, devices, traffic]

type List = ReturnType<typeof shipped>

function effectsWith(change: (list: List) => void) {
  const list = shipped()
  change(list)
  return effectsOf(readCatalogue(1, shipped()), readCatalogue(2, list), all)
}

describe('effectsOf', () => {
  test('effectsOf is empty if no price of held goods differs', () => {
    expect(effectsWith(() => {})).toEqual([])
    const otherCountry = effectsWith((list) => {
      const four = list.dedicated.kinds['4']
      if (four) four.countries['NL'] = { per_day: 99 }
    })
    expect(otherCountry).toEqual([])
  })

  test('effectsOf compares the cost of each renewal by both price lists', () => {
    const [dearer, ...rest] = effectsWith((list) => {
      const four = list.dedicated.kinds['4']
      if (four) four.countries['DE'] = { per_day: 12 }
    })
    expect(rest).toEqual([])
    expect(dearer).toMatchObject({ goods: germanProxies.goods, customers: 3, services: 7, renewals: 3, lost: 0 })
    expect(dearer?.after).toBe(kopecks((dearer?.before ?? 0n) * 2n))
  })

  test('effectsOf counts renewals that are no longer sold, and lists the customers of a pool', () => {
    const effects = effectsWith((list) => {
      list.dedicated.prolong_periods = [30]
      list['vpn'] = null
      const pool = (list['premium'] as { pools: Record<string, { tiers: { per_gb: number }[] }> }).pools['residential']
      if (pool?.tiers[0]) pool.tiers[0].per_gb += 1
    })
    expect(effects.map((each) => [each.goods.product, each.renewals, each.lost])).toEqual([
      ['dedicated', 3, 1],
      ['vpn', 2, 2],
      ['premium', 0, 0],
    ])
    expect(effects[1]?.after).toBe(kopecks(0n))
  })
})

test('difference() lists every leaf that was removed, changed or added', () => {
  expect(difference(undefined, { a: { b: 1 } })).toEqual(['+ a.b: 1'])
  expect(difference({ a: { b: 1, c: [1, 2] } }, { a: { b: 2, c: [1], d: 'x' } })).toEqual([
    '- a.c.1: 2',
    '~ a.b: 1 -> 2',
    '+ a.d: "x"',
  ])
  expect(difference({ a: [] }, { a: {} })).toEqual([])
})
