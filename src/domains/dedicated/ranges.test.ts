import { describe, expect, test } from 'bun:test'
import { sellInCountries } from '../../../test/harness/countries.ts'
import { engines } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { addStock, kindIn, prefixOf, prolongProxies } from '../../../test/harness/proxies.ts'

const dayMs = 86_400_000
const plain = { undo: false, replace: false, refund: false, note: 'lost' }

describe.each([...engines])('operations on a whole range on %s', (engine) => {
  const here = sellInCountries(engine, (number) => `10.4.${number}.0/30`)
  const { buy, events } = here
  const lost = () => prefixOf(`10.4.${here.number}.0/30`)
  const available = async () => {
    here.floor.clock.advance(2000)
    return here.floor.services.stock.available(kindIn(here.code, 4))
  }
  /** Makes the gateways report at this time, and expires the cache of live nodes. */
  const reportAt = async (reportedMs: number) => {
    await here.floor.db.transact((tx) =>
      tx.run(`UPDATE nodes SET last_seen_at = $1 WHERE kind = 'gateway'`, [reportedMs]),
    )
    here.floor.clock.advance(2000)
  }
  const stateSent = async (id: number) => {
    const all = await here.floor.services.dedicated.nodes.tables[0]?.read({ changedAt: -1, id: '' }, 1000, false)
    const shape = all?.find((each) => each.id === String(id))?.shape as
      | { state: string; withdrawn: boolean }
      | undefined
    return shape?.withdrawn ? 'withdrawn' : shape?.state
  }

  test('a survey of a range counts its slots, affected customers and replacements, and changes nothing', async () => {
    const { proxies, price } = await buy(2)
    await addStock(here.floor.services, `10.5.${here.number}.0/31`, here.code, 4)
    const survey = await here.floor.services.rangeOperator.survey(lost())
    expect(survey).toMatchObject({ customers: 1, proxies: proxies.map((each) => each.id), unused: price })
    expect(survey.kinds).toEqual([
      { country: here.code, ipv: 4, free: 2, leased: 2, resting: 0, retired: 0, replacements: 2 },
    ])
    expect(await available()).toBe(4)
    expect(await events()).toEqual([])
    // Free slots of the range without a serving node do not change the number of replacements elsewhere.
    const setServingNode = (servingNode: string) =>
      here.floor.db.transact((tx) =>
        tx.run(`UPDATE stock SET serving_node = ${servingNode} WHERE state = 'free' AND address LIKE $1`, [
          `10.4.${here.number}.%`,
        ]),
      )
    await setServingNode('NULL')
    const [kind] = (await here.floor.services.rangeOperator.survey(lost())).kinds
    expect([await available(), kind?.free, kind?.replacements]).toEqual([2, 2, 2])
    await setServingNode('(SELECT MAX(serving_node) FROM stock)')
  })

  test('a retired range is not sold, and undo puts it back on sale', async () => {
    await buy(1)
    expect(await here.floor.services.rangeOperator.retire(lost(), plain)).toMatchObject({ places: 4, replaced: [] })
    expect(await available()).toBe(0)
    expect(await events()).toEqual([])
    await here.floor.services.rangeOperator.retire(lost(), { ...plain, undo: true })
    expect(await available()).toBe(3)
  })

  test('proxies of a retired range get other addresses of the kind, and without one they wait or are refunded', async () => {
    const { proxies } = await buy(4)
    const ids = proxies.map((each) => each.id)
    await addStock(here.floor.services, `10.5.${here.number}.0/31`, here.code, 4)
    const first = await here.floor.services.rangeOperator.retire(lost(), { ...plain, replace: true })
    expect([first.replaced, first.waiting]).toEqual([ids.slice(0, 2), ids.slice(2)])
    // A repeated command continues with the remaining proxies.
    const order = { ...plain, replace: true, refund: true }
    const second = await here.floor.services.rangeOperator.retire(lost(), order)
    expect([second.replaced, second.ended, second.waiting]).toEqual([[], ids.slice(2), []])
    const types = (await events()).map((each) => each.type)
    expect(types.filter((each) => each === 'proxy.replaced')).toHaveLength(2)
    expect(types.filter((each) => each === 'proxy.ended')).toHaveLength(2)
    expect((await here.floor.services.rangeOperator.survey(lost())).proxies).toEqual([])
  })

  test('no proxy is refunded for lack of a replacement while no gateway is live', async () => {
    const { services, clock } = here.floor
    const { proxies } = await buy(1)
    await reportAt(0)
    const order = { ...plain, replace: true, refund: true }
    const ids = proxies.map((each) => each.id)
    expect(await services.rangeOperator.retire(lost(), order)).toMatchObject({ ended: [], waiting: ids })
    await reportAt(clock.nowMs + 10 ** 12)
    expect(await services.rangeOperator.retire(lost(), order)).toMatchObject({ ended: ids, waiting: [] })
  })

  test.each(['retire', 'quarantine'] as const)(
    'proxies of a range are neither prolonged nor renewed after %s, and are prolonged after undo',
    async (close) => {
      const { services, clock } = here.floor
      const { proxies } = await buy(2)
      const ids = proxies.map((each) => each.id)
      await services.dedicated.setRenewal(here.customer, ids, 30)
      await services.rangeOperator[close](lost(), plain)
      const before = (await services.ledger.balance(here.customer)).balance
      const attempts = [
        () => prolongProxies(services, here.customer, ids),
        () => services.dedicated.quoteProlonging(here.customer, ids, 30),
      ]
      for (const attempt of attempts) expect((await refusalOf(attempt())).details).toEqual({ ids, charged: false })
      clock.advance(29.5 * dayMs)
      expect(await services.dedicatedUpkeep.renew(10)).toBe(0)
      expect((await services.ledger.balance(here.customer)).balance).toBe(before)
      await services.rangeOperator[close](lost(), { ...plain, undo: true })
      expect((await prolongProxies(services, here.customer, ids)).items).toHaveLength(2)
      await services.dedicated.setRenewal(here.customer, ids, null)
    },
  )

  test('an ended proxy can be prolonged only while a gateway serves it', async () => {
    const { services, clock } = here.floor
    const { proxies } = await buy(2)
    const [id = 0, other = 0] = proxies.map((each) => each.id)
    await reportAt(0)
    // A running proxy can be prolonged: its outage is compensated.
    expect((await prolongProxies(services, here.customer, [other])).items).toHaveLength(1)
    clock.advance(31 * dayMs)
    const before = (await services.ledger.balance(here.customer)).balance
    const refusal = await refusalOf(prolongProxies(services, here.customer, [id, other]))
    expect([refusal.code, refusal.details]).toEqual(['unavailable', { ids: [id], charged: false }])
    expect((await services.ledger.balance(here.customer)).balance).toBe(before)
    await reportAt(clock.nowMs + 10 ** 12)
    expect((await prolongProxies(services, here.customer, [id, other])).items).toHaveLength(2)
  })

  test('a quarantined range blocks its proxies and pauses their terms, and undo resumes both', async () => {
    const { services, clock } = here.floor
    const { proxies } = await buy(1)
    const { id, expiresAt } = proxies[0] ?? { id: 0, expiresAt: 0 }
    expect(await services.rangeOperator.quarantine(lost(), plain)).toMatchObject({
      places: 4,
      interrupted: 1,
      replaced: [],
      waiting: [],
    })
    expect([await stateSent(id), await available()]).toEqual(['withdrawn', 0])
    expect(await services.rangeOperator.quarantine(lost(), plain)).toMatchObject({ interrupted: 0 })
    clock.advance(40 * dayMs)
    await services.dedicatedUpkeep.release(100)
    await services.stock.endRest(100)
    expect([(await services.proxyOperator.show(id)).status, await available()]).toEqual(['active', 0])
    const began = (await events())[0]
    expect(await services.rangeOperator.quarantine(lost(), { ...plain, undo: true })).toMatchObject({ restored: 1 })
    await services.stock.endRest(100)
    expect([await stateSent(id), await available()]).toEqual(['active', 3])
    const { proxy } = await services.proxyOperator.show(id)
    expect(proxy.expiresAt - expiresAt).toBeGreaterThanOrEqual(40 * dayMs)
    expect(began?.type).toBe('proxy.interrupted')
    expect((await events()).map((each) => each.type)).toEqual(['proxy.interrupted', 'proxy.restored', 'proxy.extended'])
  })

  test('a range that is not in stock, or is a part of a large block, is refused', async () => {
    await addStock(here.floor.services, `2001:db8:${here.number}::/64`, here.code, 6)
    const { rangeOperator } = here.floor.services
    expect((await refusalOf(rangeOperator.retire(prefixOf('192.0.2.0/24'), plain))).code).toBe('not_found')
    const part = rangeOperator.retire(prefixOf(`2001:db8:${here.number}:0:1::/80`), plain)
    expect((await refusalOf(part)).message).toContain('block')
    await rangeOperator.retire(prefixOf(`2001:db8:${here.number}::/64`), plain)
    here.floor.clock.advance(2000)
    expect(await here.floor.services.stock.available(kindIn(here.code, 6))).toBe(0)
  })
})
