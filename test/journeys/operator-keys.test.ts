import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { operatorTable } from '../../src/api/operation-tables.ts'
import { createActions } from '../../src/app/shop/admin.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { type Answer, createAnswerChecker } from '../harness/answers.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { credit } from '../harness/wired.ts'

/** POSTs without a key: a repeat finds the state that the first one left, or is refused, and creates nothing. */
const repeatable = `
  blockCustomer noteCustomer eraseCustomer removeCustomerFactor revokeCustomerToken revokeOperatorToken removeOperator
  setOperatorRole closeNode drainNode endpointNode entryNode exitNode forgetUsage linkNode vpnNode openNode removeNode renameNode
  revokeNode disableProvider enableProvider setProvider setReferralTerms endCode resolveUnmatched assignExit drainExit
  removeExit disableVpn enableVpn moveVpn addStock assignRange moveRange quarantineAddress quarantineRange retireAddress
  retireRange startVerify startReconcile makeCheckpoint redeliverAlert removeAlertEndpoint rotateAlertEndpoint
  testAlertEndpoint updateAlertEndpoint stopMailing setNoticeTemplate resetNoticeTemplate setBrand setBrandText setBrandImage
  setAnnouncement seeLostGoods`
/** POSTs that change nothing. */
const reading = 'compareCatalogue convertCatalogue compareExit checkProxy countMailing previewNoticeTemplate'
/** Its answer is a cookie: a repeat opens a second view, which ends after an hour. */
const withCookie = 'viewCustomer'
/** Orders and movements of money under a key, whose own tests repeat them. */
const moving = 'creditCustomer debitCustomer refundOrder markPaid refundPayment endProxy replaceProxy'

const wordsOf = (text: string): string[] => text.trim().split(/\s+/)

/** A request that creates something, another body for the same path, and a count of the things of its kind. */
type Creating = { readonly path: string; readonly body: object; readonly other: object; readonly counted: string }

describe.each([...engines])('Idempotency-Key of operators on %s', (engine) => {
  let service: Service
  let checker: Awaited<ReturnType<typeof createAnswerChecker>>
  const tokens: Record<string, string> = {}
  let cases: Readonly<Record<string, Creating>>

  beforeAll(async () => {
    // No letter is sent: no customer has an address.
    service = await startService(engine, { TURNPIKE_SMTP_URL: 'smtp://127.0.0.1:1' })
    const actions = createActions(service.services)
    for (const name of ['anna', 'boris']) {
      await actions.addOperator(name, 'owner')
      tokens[name] = (await service.services.operators.issueToken(name, { name: 't', expiresAt: null })).text
    }
    checker = await createAnswerChecker(service.url, '/admin/v1')
    const { customer, token } = await service.newCustomer(100_000n)
    // A referrer became a customer earlier.
    service.clock.advance(1)
    const other = await service.newCustomer()
    const bought = await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
    const { catalogue } = (await call('GET', '/catalogue')).data
    const priced = (kopecks: number) => {
      const changed = structuredClone(catalogue)
      changed.vpn.months['1'] = kopecks
      return { catalogue: changed }
    }
    const names = { body: { name: 'first' }, other: { name: 'second' } }
    const exit = { pool: 'residential', country: 'DE' }
    cases = {
      createCustomer: { path: '/customers', ...names, counted: 'customers' },
      createCustomerToken: { path: `/customers/${customer}/tokens`, ...names, counted: 'tokens' },
      linkCustomer: { path: `/customers/${customer}/link`, body: {}, other: {}, counted: 'console_links' },
      refundTraffic: {
        path: `/orders/${bought.data.order_id}/refund-traffic`,
        body: { note: 'a' },
        other: { note: 'b' },
        counted: 'postings',
      },
      addNode: {
        path: '/nodes',
        body: { kind: 'gateway', name: 'new-1', location: 'berlin' },
        other: { kind: 'gateway', name: 'new-2', location: 'berlin' },
        counted: 'nodes',
      },
      keyNode: { path: '/nodes/new-1/key', body: {}, other: {}, counted: 'audit_log' },
      addAlertEndpoint: {
        path: '/alert-endpoints',
        body: { url: 'https://one.example.com/alerts' },
        other: { url: 'https://two.example.com/alerts' },
        counted: 'webhooks',
      },
      announcePrices: {
        path: '/price-announcements',
        body: { effective_at: '2999-01-01', text_en: 'first' },
        other: { effective_at: '2999-01-01', text_en: 'second' },
        counted: 'mailings',
      },
      sendMailing: {
        path: '/mailings',
        body: { subject_en: 'first', text_en: 'first' },
        other: { subject_en: 'second', text_en: 'second' },
        counted: 'mailings',
      },
      addOperator: {
        path: '/operators',
        body: { name: 'carla', role: 'reader' },
        other: { name: 'dora', role: 'reader' },
        counted: 'operators',
      },
      linkOperator: { path: '/operators/boris/link', body: {}, other: {}, counted: 'console_links' },
      createOperatorToken: { path: '/operators/boris/tokens', ...names, counted: 'operator_tokens' },
      addCode: {
        path: '/codes',
        body: { name: 'SPRING', percent: 10 },
        other: { name: 'SUMMER', percent: 10 },
        counted: 'payment_codes',
      },
      addReferral: {
        path: '/referrals',
        body: { customer_id: other.customer, referrer_id: customer },
        other: { customer_id: customer, referrer_id: other.customer },
        counted: 'referrals',
      },
      addExit: {
        path: '/exits',
        body: { ...exit, upstream: 'http://192.0.2.1:3128' },
        other: { ...exit, upstream: 'http://192.0.2.2:3128' },
        counted: 'exits',
      },
      applyCatalogue: { path: '/catalogue/apply', body: priced(12_345), other: priced(23_456), counted: 'catalogues' },
    }
  })
  afterAll(() => service.stop())

  async function call(method: 'GET' | 'POST', path: string, body?: object, key?: string, as = 'anna'): Promise<Answer> {
    const headers = {
      Authorization: `Bearer ${tokens[as]}`,
      'Content-Type': 'application/json',
      ...(key !== undefined && { 'Idempotency-Key': key }),
    }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    return checker.read(method, path, await fetch(`${service.url}/admin/v1${path}`, { method, headers, ...sent }))
  }
  const rowsOf = async (table: string): Promise<number> =>
    Number((await service.services.db.first<{ n: bigint }>(`SELECT COUNT(*) AS n FROM ${table}`))?.n)

  test('every POST of an operator takes a key, or a repeat of it creates nothing', () => {
    const posts = Object.entries(operatorTable()).filter(([, [method]]) => method === 'POST')
    const keyed = posts.filter(([, row]) => row.includes('keyed')).map(([id]) => id)
    const unkeyed = posts.filter(([, row]) => !row.includes('keyed')).map(([id]) => id)
    expect(keyed.toSorted()).toEqual([...Object.keys(cases), ...wordsOf(moving)].toSorted())
    const known = [repeatable, reading, withCookie].flatMap(wordsOf)
    expect(unkeyed.filter((id) => !known.includes(id))).toEqual([])
  })

  test('each creating POST gives the first answer again, creates nothing twice and refuses another body', async () => {
    for (const [id, { path, body, other, counted }] of Object.entries(cases)) {
      const [before, entries] = [await rowsOf(counted), await rowsOf('audit_log')]
      const first = await call('POST', path, body, `key-${id}`)
      expect([id, first.status]).toEqual([id, 200])
      const made = await rowsOf(counted)
      const again = await call('POST', path, body, `key-${id}`)
      expect([id, again.status, again.text]).toEqual([id, 200, first.text])
      expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
      const changed = Object.keys(other).length > 0 && (await call('POST', path, other, `key-${id}`))
      if (changed) expect([id, changed.status, changed.error.code]).toEqual([id, 422, 'idempotency_key_reused'])
      expect([id, made > before, await rowsOf(counted)]).toEqual([id, true, made])
      expect([id, await rowsOf('audit_log')]).toEqual([id, entries + 1])
    }
  })

  test('10 concurrent requests with one key create one customer', async () => {
    const before = await rowsOf('customers')
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => call('POST', '/customers', { name: 'once' }, 'same')),
    )
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect((await rowsOf('customers')) - before).toBe(1)
  })

  test("another operator's key is another key, and a stored token is sealed and deleted after 7 days", async () => {
    const { customer } = await service.newCustomer()
    const path = `/customers/${customer}/tokens`
    const first = await call('POST', path, { name: 'one' }, 'shared')
    const second = await call('POST', path, { name: 'one' }, 'shared', 'boris')
    expect(second.data.token).not.toBe(first.data.token)
    const stored = await service.services.db.all<{ body: string }>('SELECT body FROM answers')
    expect(stored.filter(({ body }) => body === '' || body.includes(first.data.token))).toEqual([])
    service.clock.advance(7 * 86_400_000)
    const later = await call('POST', path, { name: 'one' }, 'shared')
    expect(later.headers.has('idempotent-replayed')).toBe(false)
  })

  test('an erasure deletes the 4 sealed answers of operators about the customer, and no other', async () => {
    const made = await call('POST', '/customers', { name: 'Anna Erased' }, 'erased-1')
    const customer: CustomerId = made.data.customer_id
    await credit(service.services, customer, 100_000n)
    const { token } = (await call('POST', `/customers/${customer}/tokens`, { name: 'hers' }, 'erased-2')).data
    const bought = await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
    await call('POST', `/orders/${bought.data.order_id}/refund-traffic`, { note: 'a' }, 'erased-3')
    await call('POST', `/customers/${customer}/link`, {}, 'erased-4')
    await call('POST', '/customers', { name: 'Boris' }, 'erased-not')
    const keys = async () => {
      const sql = "SELECT key FROM answers WHERE key LIKE 'erased%' ORDER BY key"
      return (await service.services.db.all<{ key: string }>(sql)).map(({ key }) => key)
    }
    expect(await keys()).toEqual(['erased-1', 'erased-2', 'erased-3', 'erased-4', 'erased-not'])
    expect((await call('POST', `/customers/${customer}/erase`, { confirm: true })).status).toBe(200)
    expect(await keys()).toEqual(['erased-not'])
  })

  test('a refused creation keeps no key', async () => {
    const taken = await call('POST', '/operators', { name: 'anna', role: 'reader' }, 'refused')
    expect([taken.status, taken.error.code]).toEqual([409, 'conflict'])
    const free = await call('POST', '/operators', { name: 'emma', role: 'reader' }, 'refused')
    expect(free.status).toBe(200)
  })
})
