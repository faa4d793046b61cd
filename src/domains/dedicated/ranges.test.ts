import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { engines } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { addStock, buyProxies, type Floor, kindIn, openFloor, shippedWith } from '../../../test/harness/proxies.ts'
import { addCustomer, findingsOf } from '../../../test/harness/wired.ts'
import { type Prefix, readPrefix } from '../../kernel/address.ts'
import type { CustomerId } from '../../kernel/ids.ts'

const dayMs = 86_400_000
const codes = 'AT BE BG CH CY CZ DK EE'.split(' ')
const plain = { undo: false, replace: false, refund: false, note: 'lost' }
function at(text: string): Prefix {
  const prefix = readPrefix(text)
  if (!prefix) throw new Error(`${text} is no prefix`)
  return prefix
}

describe.each([...engines])('a whole range on %s', (engine) => {
  let floor: Floor
  let customer: CustomerId
  let code = ''
  let used = 0
  beforeAll(async () => {
    floor = await openFloor(engine, shippedWith(...codes))
  })
  beforeEach(async () => {
    code = codes[used] ?? ''
    used += 1
    customer = await addCustomer(floor.services, 10n ** 9n)
    await addStock(floor.services, `10.4.${used}.0/30`, code, 4)
  })
  afterEach(async () => {
    expect(await findingsOf(floor.services)).toEqual([])
  })
  afterAll(() => floor.close())
  const lost = () => at(`10.4.${used}.0/30`)
  const buy = (count: number) => buyProxies(floor.services, customer, { code, ipv: 4, count, period: 30 })
  const events = () => floor.services.events.list(customer, { after: 0, type: undefined, limit: 500 })
  const available = async () => {
    floor.clock.advance(2000)
    return floor.services.stock.available(kindIn(code, 4))
  }
  const told = async (id: number) => {
    const all = await floor.services.dedicated.nodes.tables[0]?.read({ changedAt: -1, id: '' }, 1000, false)
    return (all?.find((each) => each.id === String(id))?.shape as { state: string } | undefined)?.state
  }

  test('a survey says what is there and whom it touches, and changes nothing', async () => {
    const { proxies, price } = await buy(2)
    await addStock(floor.services, `10.5.${used}.0/31`, code, 4)
    const survey = await floor.services.rangeOperator.survey(lost())
    expect(survey).toMatchObject({ customers: 1, proxies: proxies.map((each) => each.id), unused: price })
    expect(survey.kinds).toEqual([
      { country: code, ipv: 4, free: 2, leased: 2, resting: 0, retired: 0, replacements: 2 },
    ])
    expect(await available()).toBe(4)
    expect(await events()).toEqual([])
  })

  test('retired, no more of it is sold and what is leased runs out; undone, it is sold again', async () => {
    await buy(1)
    expect(await floor.services.rangeOperator.retire(lost(), plain)).toMatchObject({ places: 4, replaced: [] })
    expect(await available()).toBe(0)
    expect(await events()).toEqual([])
    await floor.services.rangeOperator.retire(lost(), { ...plain, undo: true })
    expect(await available()).toBe(3)
  })

  test('its customers get other addresses of the kind while there are any; the others wait, or are refunded', async () => {
    const { proxies } = await buy(4)
    const ids = proxies.map((each) => each.id)
    await addStock(floor.services, `10.5.${used}.0/31`, code, 4)
    const first = await floor.services.rangeOperator.retire(lost(), { ...plain, replace: true })
    expect([first.replaced, first.waiting]).toEqual([ids.slice(0, 2), ids.slice(2)])
    // Given again it goes on with those who are left.
    const wish = { ...plain, replace: true, refund: true }
    const second = await floor.services.rangeOperator.retire(lost(), wish)
    expect([second.replaced, second.ended, second.waiting]).toEqual([[], ids.slice(2), []])
    const types = (await events()).map((each) => each.type)
    expect(types.filter((each) => each === 'proxy.replaced')).toHaveLength(2)
    expect(types.filter((each) => each === 'proxy.ended')).toHaveLength(2)
    expect((await floor.services.rangeOperator.survey(lost())).proxies).toEqual([])
  })

  test('in quarantine nobody is served from it and its terms stand still; undone, all goes on', async () => {
    const { services, clock } = floor
    const { proxies } = await buy(1)
    const { id, expiresAt } = proxies[0] ?? { id: 0, expiresAt: 0 }
    expect(await services.rangeOperator.quarantine(lost(), plain)).toMatchObject({ places: 4, interrupted: 1 })
    expect([await told(id), await available()]).toEqual(['blocked', 0])
    expect(await services.rangeOperator.quarantine(lost(), plain)).toMatchObject({ interrupted: 0 })
    clock.advance(40 * dayMs)
    await services.dedicatedUpkeep.release(100)
    await services.stock.endRest(100)
    expect([(await services.proxyOperator.show(id)).status, await available()]).toEqual(['active', 0])
    const began = (await events())[0]
    expect(await services.rangeOperator.quarantine(lost(), { ...plain, undo: true })).toMatchObject({ restored: 1 })
    await services.stock.endRest(100)
    expect([await told(id), await available()]).toEqual(['active', 3])
    const { proxy } = await services.proxyOperator.show(id)
    expect(proxy.expiresAt - expiresAt).toBeGreaterThanOrEqual(40 * dayMs)
    expect(began?.type).toBe('proxy.interrupted')
    expect((await events()).map((each) => each.type)).toEqual(['proxy.interrupted', 'proxy.restored', 'proxy.extended'])
  })

  test('what is not in stock, and a part of a large block, are refused', async () => {
    await addStock(floor.services, `2001:db8:${used}::/64`, code, 6)
    const { rangeOperator } = floor.services
    expect((await refusalOf(rangeOperator.retire(at('192.0.2.0/24'), plain))).code).toBe('not_found')
    const part = rangeOperator.retire(at(`2001:db8:${used}:0:1::/80`), plain)
    expect((await refusalOf(part)).message).toContain('block')
    await rangeOperator.retire(at(`2001:db8:${used}::/64`), plain)
    floor.clock.advance(2000)
    expect(await floor.services.stock.available(kindIn(code, 6))).toBe(0)
  })
})
