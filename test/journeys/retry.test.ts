import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CustomerId, SubuserId } from '../../src/core/ids.ts'
import type { Answer } from '../harness/answers.ts'
import { engines } from '../harness/database.ts'
import { applyCatalogue, shipped } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { keylessRequest } from '../harness/wired.ts'

type Purchase = { readonly path: string; readonly body: Record<string, unknown>; readonly isFree?: boolean }

/** A price list without anything that the test buys: other countries, periods, pools and terms. */
function listWithoutPurchases(): unknown {
  const list = shipped() as unknown as {
    dedicated: { prolong_periods: number[]; kinds: Record<string, { periods: number[]; countries: object }> }
    premium: { pools: Record<string, unknown> }
    vpn: { months: Record<string, unknown> }
  }
  list.dedicated.prolong_periods = [5]
  for (const kind of Object.values(list.dedicated.kinds)) {
    kind.periods = [5]
    kind.countries = { BE: { per_day: 1 } }
  }
  list.premium.pools = { elsewhere: Object.values(list.premium.pools)[0] }
  list.vpn.months = { '24': Object.values(list.vpn.months)[0] }
  return list
}

describe.each([...engines])('replay by key after everything bought was withdrawn, on %s', (engine) => {
  let service: Service
  let token: string
  let purchases: readonly Purchase[]
  let first: readonly Answer[]

  const send = (purchase: Purchase, index: number) =>
    service.post(purchase.path, purchase.body, { token, key: `retry-${index}` })

  beforeAll(async () => {
    service = await startService(engine)
    const someone = await service.newCustomer(100_000n)
    token = someone.token
    const call = async (path: string, body: unknown) => (await service.post(path, body, { token })).data
    const { proxies } = await call('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 })
    await call('/premium/traffic/buy', { pool_type: 'residential', gb: 2 })
    const [keptSubuser, deletedSubuser] = [
      await call('/premium/subusers', { name: 'heir' }),
      await call('/premium/subusers', {}),
    ]
    purchases = [
      { path: '/dedicated/buy', body: { country_code: 'FR', period: 7, count: 2, ipv: 4 } },
      { path: '/dedicated/buy', body: { country_code: 'DE', period: 7, count: 1, ipv: 6 } },
      { path: '/dedicated/buy', body: { country_code: 'DE', period: 7, count: 1, ipv: 3 } },
      { path: '/dedicated/prolong', body: { ids: [proxies[0].id], period: 30 } },
      { path: '/dedicated/replace', body: { id: proxies[0].id } },
      { path: '/premium/traffic/buy', body: { pool_type: 'residential', gb: 0.3 } },
      {
        path: '/premium/traffic/move',
        body: { pool_type: 'residential', gb: 0.1, to_subuser_id: keptSubuser.subuser.subuser_id },
      },
      { path: '/premium/subusers/delete', body: { subuser_id: deletedSubuser.subuser.subuser_id } },
      { path: '/vpn/buy', body: { period: 1, name: 'phone', auto_renew: true } },
      { path: '/vpn/renew', body: { period: 3 } },
      { path: '/vpn/devices/increase', body: { count: 2 } },
      { path: '/payments', body: { amount_rub: 5, method: 'sandbox' } },
      { path: '/vpn/devices', body: { name: 'laptop' } },
      { path: '/webhooks/add', body: { url: 'https://hooks.example.com/turnpike' }, isFree: true },
      { path: '/premium/subusers', body: { name: 'shop 7' }, isFree: true },
    ]
    const answers: Answer[] = []
    for (const [index, purchase] of purchases.entries()) answers.push(await send(purchase, index))
    first = answers
    await withdrawAll(someone.customer, keptSubuser.subuser.subuser_id)
  })
  afterAll(() => service.stop())

  /**
   * Removes the nodes, prices, stock, subscription, a sub-user, the money, the payment method and all scopes but
   * `trade` and `pay`.
   */
  async function withdrawAll(customer: CustomerId, keptSubuser: SubuserId): Promise<void> {
    const { db, fleet, ledger, orders, premium, providers, vpn } = service.services
    await providers.enable('sandbox', false)
    for (const { name } of [...(await fleet.nodes('vpn')), ...(await fleet.nodes('gateway'))]) await fleet.revoke(name)
    await applyCatalogue(service.services, listWithoutPurchases())
    await db.transact(async (tx) => {
      await tx.run("UPDATE stock SET state = 'retired' WHERE state = 'free'")
      await tx.run('UPDATE stock_prefixes SET retired_at = 1')
      await tx.run("UPDATE tokens SET scopes = 'trade pay' WHERE customer_id = $1", [customer])
    })
    const { uuid } = first.find((answer) => answer.data.uuid !== undefined)?.data ?? {}
    await vpn.delete(customer, uuid)
    await premium.remove(keylessRequest(customer), { subuser: keptSubuser, to: undefined })
    const { balance } = await ledger.balance(customer)
    await orders.sell(keylessRequest(customer), { product: 'things', action: 'buy', input: null }, (sale) =>
      sale.charge({ price: balance, calculation: null, note: 'all that was left' }),
    )
    service.clock.advance(60_000)
  }

  test('the replay test covers every operation with an Idempotency-Key that takes a token', async () => {
    type Described = { paths: Record<string, { post?: { parameters?: { name: string }[] } }> }
    const { paths } = (await (await fetch(`${service.url}/api/v1/openapi.json`)).json()) as Described
    const keyed = Object.entries(paths)
      .filter(([, { post }]) => post?.parameters?.some((each) => each.name === 'Idempotency-Key'))
      .map(([path]) => path)
      // Only a session may create a token.
      .filter((path) => path !== '/tokens/create')
    expect([...new Set(purchases.map((purchase) => purchase.path))].toSorted()).toEqual(keyed.toSorted())
  })

  test('each operation replays its first answer byte for byte by its key', async () => {
    expect(first.map((answer) => answer.status)).toEqual(first.map(() => 200))
    for (const [index, purchase] of purchases.entries()) {
      const again = await send(purchase, index)
      expect([purchase.path, again.status, again.text]).toEqual([purchase.path, 200, first[index]?.text as string])
      expect(again.headers.get('idempotent-replayed')).toBe('true')
    }
  })

  test('each operation is refused or creates another without the key, so the replays come from stored answers', async () => {
    for (const [index, purchase] of purchases.entries()) {
      if (purchase.isFree) {
        const other = await service.post(purchase.path, purchase.body, { token })
        expect([purchase.path, other.text === first[index]?.text]).toEqual([purchase.path, false])
        continue
      }
      const answer = await service.post(purchase.path, purchase.body, { token })
      expect([purchase.path, answer.status >= 400 && answer.status < 600]).toEqual([purchase.path, true])
    }
  })
})
