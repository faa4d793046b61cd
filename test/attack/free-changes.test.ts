import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Answer } from '../harness/answers.ts'
import { engines } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { credit } from '../harness/wired.ts'

/** An allowance of 120 rows an hour without money, and the 1,000 rows that every allowance admits at once. */
const settings = { TURNPIKE_RATE_CHANGES: '2400' }
const maxRowsAtOnce = 1000
const kib = 1024
/** Tables and indexes grow by whole pages, and PostgreSQL keeps a map of each. */
const slackBytes = 256 * kib

const bytesOf = {
  sqlite: 'SELECT page_count * page_size AS n FROM pragma_page_count(), pragma_page_size()',
  postgres: `SELECT CAST(SUM(pg_total_relation_size(oid)) AS BIGINT) AS n FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`,
}

const longKey = (text: string) => text.padEnd(255, 'k')
const longName = '漢'.repeat(100)
const longComment = '漢'.repeat(200)

describe.each([...engines])('free changes on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, settings)
  })
  afterAll(() => service.stop())
  const databaseBytes = async () => Number((await service.services.db.first<{ n: bigint }>(bytesOf[engine]))?.n)

  /** The customer of the last attack. */
  let exhausted: Awaited<ReturnType<Service['newCustomer']>> | undefined

  /** Repeats a change until it is refused, at most once for each row of the allowance. */
  async function exhaust(change: (round: number) => Promise<Answer>): Promise<Answer> {
    for (let round = 0; round <= maxRowsAtOnce; round += 1) {
      const answer = await change(round)
      if (answer.status !== 200) return answer
    }
    throw new Error('the allowance has no end')
  }

  const attacks: readonly [string, (token: string) => Promise<(round: number) => Promise<Answer>>][] = [
    [
      'making and deleting sub-users under keys of 255 characters',
      async (token) => async (round) => {
        const made = await service.post('/premium/subusers', { name: longName }, { token, key: longKey(`m${round}-`) })
        if (made.status !== 200) return made
        const body = { subuser_id: made.data.subuser.subuser_id }
        return service.post('/premium/subusers/delete', body, { token, key: longKey(`d${round}-`) })
      },
    ],
    [
      'listing and unlisting addresses with comments of 200 characters',
      async (token) => async (round) => {
        const ip = `11.${22 + Math.floor(round / 250)}.${round % 250}.7`
        const added = await service.post('/premium/whitelist/add', { ip, comment: longComment }, { token })
        return added.status === 200 ? service.post('/premium/whitelist/remove', { ip }, { token }) : added
      },
    ],
  ]

  // Both attacks on SQLite; the first on PostgreSQL, and both in a long run.
  const tried = engine === 'sqlite' || isLong ? attacks : attacks.slice(0, 1)
  test.each([...tried])('a customer without money writes at most 1,000 KiB at once by %s', async (_, attack) => {
    exhausted = await service.newCustomer()
    const { token } = exhausted
    await service.get('/premium/subusers', { token })
    const change = await attack(token)
    const before = await databaseBytes()
    const refused = await exhaust(change)
    expect(refused.status).toBe(429)
    expect(refused.error).toMatchObject({ reason: 'change_limit', params: { per_hour: 120 } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await databaseBytes()) - before).toBeLessThan(maxRowsAtOnce * kib + slackBytes)
  })

  test('a customer whose allowance is used up still reads, pays and, with money, changes and buys', async () => {
    if (!exhausted) throw new Error('no allowance is used up')
    const { customer, token } = exhausted
    const change = () => service.post('/premium/subusers/update', { name: longName }, { token })
    // The attack was refused a change of 7 rows, so a few smaller ones may pass.
    expect((await exhaust(change)).status).toBe(429)
    expect((await service.get('/premium/subusers', { token })).status).toBe(200)
    expect((await service.post('/payments', { amount_rub: 100 }, { token })).error?.reason).not.toBe('change_limit')
    await credit(service.services, customer, 100_000n)
    expect((await change()).status).toBe(200)
    const bought = await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
    expect(bought.status).toBe(200)
  })

  test('a refused change counts nothing: 3 refused requests for 1,000 rows leave an allowance of 1,000 rows', async () => {
    const { token } = await service.newCustomer()
    const ids = Array.from({ length: maxRowsAtOnce }, (_, at) => at + 1)
    for (const [comment, status] of [
      ['a', 404],
      ['a'.repeat(201), 400],
      ['a', 404],
    ]) {
      expect((await service.post('/dedicated/comment', { ids, comment }, { token })).status).toBe(Number(status))
    }
    expect((await service.post('/premium/subusers', { name: longName }, { token })).status).toBe(200)
  })

  test('a repeat of a free action under its key counts nothing: 300 repeats leave an allowance of 1,000 rows', async () => {
    const { token } = await service.newCustomer()
    const repeat = () => service.post('/premium/subusers', { name: longName }, { token, key: 'once' })
    for (let round = 0; round <= 300; round += 1) expect((await repeat()).status).toBe(200)
    expect((await service.get('/premium/subusers', { token })).data.subusers).toHaveLength(2)
    expect((await service.post('/premium/subusers', { name: longName }, { token })).status).toBe(200)
  })

  test('a key of 255 characters of a free action is stored as a digest, and is found by its text', async () => {
    const { customer, token } = await service.newCustomer()
    const key = longKey('found')
    const make = () => service.post('/premium/subusers', { name: 'a' }, { token, key: longKey('make') })
    const made = await make()
    expect((await make()).text).toBe(made.text)
    const body = { subuser_id: made.data.subuser.subuser_id }
    const first = await service.post('/premium/subusers/delete', body, { token, key })
    const again = await service.post('/premium/subusers/delete', body, { token, key })
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    const other = await service.post('/premium/subusers', { name: 'b' }, { token, key })
    expect([other.status, other.error.details.order_id]).toEqual([422, first.data.order_id])
    const found = await service.get(`/orders?idempotency_key=${key}`, { token })
    expect(found.data.orders.map((each: { order_id: string }) => each.order_id)).toEqual([first.data.order_id])
    const { orders, db } = service.services
    const named = await orders.listNamed(customer, { requestId: undefined, key }, undefined, 10)
    expect(named.map(({ id }) => id)).toEqual([first.data.order_id])
    expect((await orders.findByRequest(key, 10)).map(({ id }) => id)).toEqual([first.data.order_id])
    const keys = await db.all<{ key: string }>('SELECT key FROM answers WHERE customer_id = $1', [customer])
    expect(keys.map((row) => row.key.length)).toEqual([50, 50])
  })
})
