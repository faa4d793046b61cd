import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createActions } from '../../src/app/shop/admin.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { runCommand, testDatabaseEnv } from '../harness/turnpike.ts'

const dayMs = 86_400_000

type Sums = Readonly<Record<string, string | number>>

/** In kopecks, exactly. */
const sumOf = (rows: readonly Sums[], field: string): number =>
  rows.reduce((sum, row) => sum + Math.round(Number(row[field]) * 100), 0)

describe.each([...engines])('figures of reports on %s', (engine) => {
  let shop: Service
  let operator: string
  beforeAll(async () => {
    shop = await startService(engine)
    await createActions(shop.services).addOperator('boss', 'owner')
    operator = (await shop.services.operators.issueToken('boss', { name: 't', expiresAt: null })).text
  })
  afterAll(() => shop.stop())

  async function call(path: string, body?: object) {
    const answer = await fetch(`${shop.url}/admin/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { Authorization: `Bearer ${operator}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const { ok, data } = (await answer.json()) as { ok: boolean; data: Readonly<Record<string, readonly Sums[]>> }
    expect([path, ok]).toEqual([path, true])
    return data
  }

  /** One day of trade: three purchases, a refund of each kind, a credit and a debit. */
  async function trade(): Promise<void> {
    const { customer, token } = await shop.newCustomer(5_000n)
    const order = { country_code: 'DE', period: 7, count: 2, ipv: 4 }
    const proxies = (await shop.post('/dedicated/buy', order, { token })).data
    const traffic = (await shop.post('/premium/traffic/buy', { pool_type: 'datacenter', gb: 3 }, { token })).data
    await shop.post('/vpn/buy', { period: 1 }, { token })
    await call(`/orders/${proxies.order_id}/refund`, { amount_rub: 3.33, note: 'slow' })
    await call(`/orders/${traffic.order_id}/refund`, { end: 'unused', note: 'unused' })
    await shop.post('/vpn/delete', {}, { token })
    await call(`/customers/${customer}/credit`, { amount_rub: 10.01, note: 'gift' })
    await call(`/customers/${customer}/debit`, { amount_rub: 0.99, note: 'mistake' })
  }

  test('the payments of the report, on pages of 2 and as CSV, have the sums of the days, of each source and of the ledger', async () => {
    const { token } = await shop.newCustomer(1_000n)
    const paid = (await shop.post('/payments', { amount_rub: 500, method: 'sandbox' }, { token })).data
    await fetch(paid.pay_url, { method: 'POST', redirect: 'manual' })
    await trade()
    const [from, to] = ['2026-01-01', '2026-02-01']
    const rows: Sums[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = `from=${from}&to=${to}&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`
      const page = (await call(`/reports/payments?${query}`)) as unknown as {
        items: Sums[]
        next_cursor: string | null
      }
      rows.push(...page.items)
      cursor = page.next_cursor
    }
    const { items: days = [] } = await call(`/reports/days?from=${from}&to=${to}`)
    expect(sumOf(rows, 'amount_rub')).toBe(sumOf(days, 'topped_up_rub') - sumOf(days, 'taken_back_rub'))
    const books = await shop.services.db.all<{ house: string; sum: bigint | string }>(
      "SELECT house, CAST(SUM(amount) AS BIGINT) AS sum FROM postings WHERE house LIKE 'funds:%' GROUP BY house",
    )
    const bySource = Map.groupBy(rows, (row) => `funds:${row['source']}`)
    expect(new Map([...bySource].map(([source, of]) => [source, sumOf(of, 'amount_rub')]))).toEqual(
      new Map(books.map(({ house, sum }) => [house, Number(sum)])),
    )
    expect(rows.filter((row) => row['payment_id'] === paid.payment_id)).toMatchObject([
      { kind: 'credit', method: 'sandbox', amount_rub: 500, fee_rub: 0 },
    ])
    const { items: methods = [] } = await call(`/reports/methods?from=${from}&to=${to}`)
    expect(methods.filter((each) => each['method'] === 'sandbox')).toMatchObject([{ payments: 1, topped_up_rub: 500 }])
    expect(sumOf(methods, 'topped_up_rub')).toBe(sumOf(days, 'topped_up_rub'))
    const args = ['report', 'payments', '--from', from, '--to', to, '--limit', '1000', '--csv']
    const csv = await runCommand(args, testDatabaseEnv(shop.testDatabase))
    expect(csv.out.trim().split('\n')).toHaveLength(rows.length + 1)
  })

  test('the days of the report, its products, its CSV file, the overview and the ledger have the same sums', async () => {
    const from = new Date(shop.clock.nowMs).toISOString().slice(0, 10)
    for (let day = 0; day < 3; day += 1) {
      await trade()
      shop.clock.advance(dayMs)
    }
    const to = new Date(shop.clock.nowMs + dayMs).toISOString().slice(0, 10)
    const { items: days = [] } = await call(`/reports/days?from=${from}&to=${to}`)
    const { items: products = [] } = await call(`/reports/products?from=${from}&to=${to}`)
    const { days: overview = [] } = await call('/overview?days=30')
    const csv = await runCommand(
      ['report', 'days', '--from', from, '--to', to, '--csv'],
      testDatabaseEnv(shop.testDatabase),
    )
    const [head = '', ...lines] = csv.out.trim().split('\n')
    const names = head.split(',')
    const rows = lines.map((line) =>
      Object.fromEntries(line.split(',').map((value, index) => [names[index] ?? '', value])),
    )
    const posted = async (kind: string): Promise<number> => {
      const found = await shop.services.db.first<{ sum: bigint | number | string }>(
        'SELECT SUM(amount) AS sum FROM postings WHERE kind = $1',
        [kind],
      )
      return Math.abs(Number(found?.sum))
    }

    const sold = sumOf(days, 'turnover_rub')
    const refunded = sumOf(days, 'refunded_rub')
    expect(sold).toBe(await posted('charge'))
    expect(refunded).toBe(await posted('refund'))
    expect(refunded).toBeGreaterThan(0)
    expect(sumOf(days, 'revenue_rub')).toBe(sold - refunded)
    expect(sumOf(products, 'amount_rub')).toBe(sold - refunded)
    expect([sumOf(overview, 'sold_rub'), sumOf(overview, 'refunded_rub'), sumOf(overview, 'revenue_rub')]).toEqual([
      sold,
      refunded,
      sold - refunded,
    ])
    for (const name of names.filter((each) => each !== 'day')) expect(sumOf(rows, name)).toBe(sumOf(days, name))
    // A day of the overview is the same day of the report.
    const revenueOf = (each: Sums) => [each['day'], each['revenue_rub']] as const
    expect(overview.map(revenueOf).filter(([day]) => days.some((each) => each['day'] === day))).toEqual(
      days.map(revenueOf),
    )
  })
})
