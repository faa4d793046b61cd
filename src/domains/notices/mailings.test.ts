import { describe, expect, test } from 'bun:test'
import { engines } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { addStock, buyProxies, openDomainShop } from '../../../test/harness/proxies.ts'
import { addCustomer, findingsOf } from '../../../test/harness/wired.ts'
import type { CustomerId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import type { Audience } from './rules.ts'

const dayMs = 86_400_000
const everyone: Audience = { product: null, endsWithinDays: null, node: null }
const text = { textEn: null, textRu: 'С марта дороже.' }

describe.each([...engines])('announcements of prices on %s', (engine) => {
  test('each of 5 customers gets price.announced once from two shops, and a blocked customer does not', async () => {
    const shop = await openDomainShop(engine)
    const { services, clock } = shop
    const { notices, events } = services
    await addStock(services, '203.0.113.0/28', 'DE', 4)
    const all: CustomerId[] = []
    for (let count = 0; count < 6; count += 1) {
      clock.advance(1)
      all.push(await addCustomer(services, kopecks(1_000_000n)))
    }
    const [first, second, , , , blocked] = all as [CustomerId, ...CustomerId[]]
    const { proxies } = await buyProxies(services, first, { code: 'DE', ipv: 4, count: 1 })
    await buyProxies(services, second ?? first, { code: 'DE', ipv: 4, count: 1 })
    await services.setBlocked(blocked ?? first, true)
    const effectiveAt = clock.nowMs + dayMs
    const told = async (customer: CustomerId) =>
      (await events.list(customer, { after: 0, type: 'price.announced', limit: 9 })).map(({ data }) => data)
    const counts = async () => Promise.all(all.map(async (each) => (await told(each)).length))

    const mailing = await notices.announcePrices(everyone, { effectiveAt, ...text })
    await Promise.all([notices.walk(2), notices.walk(2)])
    while ((await notices.walk(2)) === 2);
    expect(await counts()).toEqual([1, 1, 1, 1, 1, 0])
    expect(await told(first)).toEqual([
      { effective_at: new Date(effectiveAt).toISOString(), product: null, text_en: null, text_ru: text.textRu },
    ])
    expect(await notices.listMailings('mlh', 9)).toMatchObject([{ id: mailing.id, state: 'done', customers: 5 }])

    const endsAt = proxies[0]?.expiresAt ?? 0
    const daysLeft = Math.ceil((endsAt - clock.nowMs) / dayMs)
    const node = (await services.fleet.nodes('gateway'))[0]?.id ?? null
    const counted = async (of: Partial<Audience>) => {
      const { customers, sample } = await notices.countAudience({ ...everyone, ...of }, 1)
      return [customers, sample.length]
    }
    expect(await counted({})).toEqual([5, 1])
    expect(await counted({ product: 'dedicated', endsWithinDays: daysLeft })).toEqual([2, 1])
    expect(await counted({ endsWithinDays: daysLeft - 1 })).toEqual([0, 0])
    expect(await counted({ product: 'vpn' })).toEqual([0, 0])
    expect(await counted({ product: 'premium' })).toEqual([0, 0])
    expect([await counted({ node }), await counted({ node: 'nod_0' })]).toEqual([
      [2, 1],
      [0, 0],
    ])

    const next = await notices.announcePrices({ ...everyone, product: 'dedicated' }, { effectiveAt, ...text })
    await notices.walk(1)
    expect((await notices.stopMailing(next.id)).state).toBe('stopped')
    expect(await notices.walk(1)).toBe(0)
    expect(await counts()).toEqual([2, 1, 1, 1, 1, 0])
    const refused = await refusalOf(notices.announcePrices(everyone, { effectiveAt: clock.nowMs, ...text }))
    expect(refused.code).toBe('invalid_request')
    expect(await findingsOf(services)).toEqual([])
    await shop.close()
  })
})
