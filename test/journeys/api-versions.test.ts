import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { changelog } from '../../src/api/changelog.ts'
import { customerOperations } from '../../src/api/operation-tables.ts'
import { ApiVersions, apiVersions } from '../../src/api/versions.ts'
import { firstApiVersion } from '../../src/domains/customers/rules.ts'
import { createBrowserSession } from '../harness/browser-session.ts'
import { engines, enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { openThingsShop, type ThingsShop } from '../harness/things-shop.ts'

const later = '2027-03-01'
type Fields = Readonly<Record<string, unknown>>
const renamed = (of: Fields, from: string, to: string): Fields => {
  const { [from]: value, ...rest } = of
  return value === undefined ? of : { ...rest, [to]: value }
}

/** A later version in which `quantity` of a purchase became `count`, and refusals got `doc_url`. */
const versions = new ApiVersions([
  { date: firstApiVersion, conversions: [] },
  {
    date: later,
    conversions: [
      {
        operations: ['buyThings'],
        request: (fields) => renamed(fields, 'quantity', 'count'),
        answer: (data) => renamed(data as Fields, 'count', 'quantity'),
      },
      {
        operations: ['listOrders'],
        request: (fields) => renamed(fields, 'page_size', 'limit'),
        answer: (data) => renamed(data as Fields, 'orders', 'items'),
      },
      { refusal: (error) => Object.fromEntries(Object.entries(error).filter(([name]) => name !== 'doc_url')) },
    ],
  },
])

describe.each([...engines])('a second version of the API on %s', (engine) => {
  let shop: ThingsShop
  let old: string
  let fresh: string
  beforeAll(async () => {
    shop = await openThingsShop(engine, { versions })
    const issue = async (apiVersion?: string) =>
      (await shop.services.customers.issueToken(shop.customer, { name: 'versioned', apiVersion })).text
    ;[old, fresh] = [await issue(firstApiVersion), await issue()]
  })
  afterAll(() => shop.stop())

  async function ask(
    path: string,
    token: string,
    { body, key, version }: { body?: object; key?: string; version?: string } = {},
  ) {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(key !== undefined && { 'Idempotency-Key': key }),
      ...(version !== undefined && { 'Turnpike-Version': version }),
      'Content-Type': 'application/json',
    }
    const sent = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`${shop.url}/api/v1${path}`, sent)
    const text = await response.text()
    const { data, error } = JSON.parse(text)
    const replayed = response.headers.get('idempotent-replayed')
    return { status: response.status, version: response.headers.get('turnpike-version'), text, data, error, replayed }
  }

  test('a token sends and gets the fields of its own version, and Turnpike-Version names it', async () => {
    const before = await ask('/things/buy', old, { body: { quantity: 2 } })
    expect([before.status, before.version, before.data.quantity, 'count' in before.data]).toEqual([
      200,
      firstApiVersion,
      2,
      false,
    ])
    const after = await ask('/things/buy', fresh, { body: { count: 3 } })
    expect([after.status, after.version, after.data.count, 'quantity' in after.data]).toEqual([200, later, 3, false])
    expect((await ask('/things/buy', fresh, { body: { quantity: 1 } })).status).toBe(400)
    const listed = await ask('/orders?page_size=1', old)
    expect([listed.data.items.length, 'orders' in listed.data]).toEqual([1, false])
    expect((await ask('/orders?limit=1', fresh)).data.orders).toHaveLength(1)
  })

  test('Turnpike-Version of a request tries another version, and an unknown one is refused before it acts', async () => {
    const tried = await ask('/things/buy', old, { body: { count: 1 }, version: later })
    expect([tried.version, tried.data.count]).toEqual([later, 1])
    expect((await ask('/things/buy', fresh, { body: { quantity: 1 }, version: firstApiVersion })).data.quantity).toBe(1)
    const { balance_rub: balance } = (await ask('/balance', old)).data
    const refused = await ask('/things/buy', old, { body: { quantity: 1 }, version: '2026-12-24' })
    expect(refused.status).toBe(400)
    expect(refused.error.details).toMatchObject([{ field: 'Turnpike-Version', allowed: [firstApiVersion, later] }])
    expect((await ask('/balance', old)).data.balance_rub).toBe(balance)
  })

  test('a refusal has the form of its version', async () => {
    const [before, after] = [await ask('/orders/x', old), await ask('/orders/x', fresh)]
    expect([before.error.reason, 'doc_url' in before.error]).toEqual(['order_not_found', false])
    expect('doc_url' in after.error).toBe(true)
  })

  test('a key replays one purchase in the version of each request, and an answer of an older release as it was', async () => {
    const first = await ask('/things/buy', old, { body: { quantity: 4 }, key: 'versions' })
    const again = await ask('/things/buy', old, { body: { quantity: 4 }, key: 'versions' })
    expect([again.text, again.replayed]).toEqual([first.text, 'true'])
    const other = await ask('/things/buy', fresh, { body: { count: 4 }, key: 'versions' })
    expect([other.data.order_id, other.data.count, other.version]).toEqual([first.data.order_id, 4, later])
    expect((await ask('/things/buy', fresh, { body: { count: 5 }, key: 'versions' })).status).toBe(422)
    // As an older release would have stored it: in its own form, without a version.
    await shop.services.db.transact((tx) =>
      tx.run('UPDATE answers SET api_version = NULL WHERE key = $1', ['versions']),
    )
    const kept = await ask('/things/buy', fresh, { body: { count: 4 }, key: 'versions' })
    expect([kept.version, kept.text]).toEqual([firstApiVersion, other.text])
  })
})

describe.each([...enginesOf('sqlite')])('versions of tokens on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  test('a new token has the latest version, POST /tokens/version sets a known one, and GET /token shows it', async () => {
    const { customer } = await service.newCustomer()
    const session = await createBrowserSession(service.url)
    const { db, signIn } = service.services
    const owned = { kind: 'customer', owner: customer, purpose: 'enter' } as const
    const link = await db.transact(async (tx) => signIn.issueLink(tx, owned).text)
    await session.post('/auth/v1/customer/sign-in/link', { link })
    await session.post('/auth/v1/customer/password', { login: 'versions', password: 'a long password, 42' })
    const made = await session.post('/api/v1/tokens/create', { name: 'mine' })
    expect(made.data).toMatchObject({ api_version: apiVersions.latest })
    const token_id = made.data.token_id
    const set = await session.post('/api/v1/tokens/version', { token_id, api_version: apiVersions.first })
    expect(set.data).toEqual({ token_id, api_version: apiVersions.first })
    const unknown = await session.post('/api/v1/tokens/version', { token_id, api_version: '2020-01-01' })
    expect(unknown.status).toBe(400)
    const shown = await service.get('/token', { token: made.data.token })
    expect([shown.data.api_version, shown.headers.get('turnpike-version')]).toEqual([
      apiVersions.first,
      apiVersions.first,
    ])
  })

  test('GET /changelog needs no token, lists every version, and names operations that exist', async () => {
    const { data } = await service.get('/changelog', { token: null })
    const listed = data.releases.filter((each: { is_version: boolean }) => each.is_version)
    expect(listed.map(({ date }: { date: string }) => date).toReversed()).toEqual([...apiVersions.dates])
    expect([data.latest_version, apiVersions.first]).toEqual([apiVersions.latest, firstApiVersion])
    const known = new Set(customerOperations().map(({ id }) => id))
    const named = changelog.flatMap(({ changes }) => changes.flatMap(({ operations }) => operations))
    expect(named.filter((id) => !known.has(id))).toEqual([])
    for (const language of ['en', 'ru']) {
      const page = await fetch(`${service.url}/docs/changelog?lang=${language}`)
      const html = await page.text()
      for (const { date, changes } of changelog) {
        expect([page.status, html.includes(date)]).toEqual([200, true])
        for (const { operations } of changes) for (const id of operations) expect(html).toContain(`<code>${id}</code>`)
      }
    }
  })
})
