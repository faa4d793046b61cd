import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createActions } from '../../src/app/shop/admin.ts'
import { partsPerRound } from '../../src/core/verify-parts.ts'
import { runtimeWith } from '../harness/clock.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { runJson, testDatabaseEnv, untilTrue } from '../harness/turnpike.ts'
import { openRawDatabase } from '../verify/edits.ts'

/** Of an answer of the API or of `--json`. */
type Outcome = {
  readonly state: string
  readonly ok: boolean
  readonly covered: Readonly<Record<string, number>>
  readonly findings: readonly { readonly promise: string; readonly reason: string }[]
}

describe.each([...engines])('verify --part on %s', (engine) => {
  let shop: Service
  let operator: string
  let env: Record<string, string>
  let aheadMs = 0
  beforeAll(async () => {
    // The command reads the clock of the machine.
    shop = await startService(engine, {}, runtimeWith({ read: () => Date.now() + aheadMs }))
    await createActions(shop.services).addOperator('boss', 'owner')
    operator = (await shop.services.operators.issueToken('boss', { name: 't', expiresAt: null })).text
    env = testDatabaseEnv(shop.testDatabase)
  })
  afterAll(() => shop.stop())

  async function call(method: 'GET' | 'POST', body?: object): Promise<Outcome> {
    const answer = await fetch(`${shop.url}/admin/v1/verify`, {
      method,
      headers: { Authorization: `Bearer ${operator}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const { data } = (await answer.json()) as { data: Outcome }
    return data
  }

  async function byHttp(): Promise<Outcome> {
    expect((await call('POST', { part: true })).state).toBe('running')
    expect(await untilTrue(async () => (await call('GET')).state !== 'running')).toBe(true)
    // On SQLite a part may start once in 30 seconds.
    aheadMs += 30_000
    return call('GET')
  }
  const byCommand = async () => (await runJson(['verify', '--part'], env)) as { exit: number; json: Outcome }

  async function buy(): Promise<void> {
    const { token } = await shop.newCustomer(5_000n)
    await shop.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 2, ipv: 4 }, { token })
    await shop.post('/vpn/buy', { period: 1 }, { token })
  }
  const position = () =>
    JSON.parse(readFileSync(join(shop.testDatabase.folder, 'verify.json'), 'utf8')) as Readonly<Record<string, unknown>>

  test('the first part covers everything, the next ones new postings and some rows, from the command and over HTTP with one position', async () => {
    await buy()
    const first = await byCommand()
    expect([first.exit, first.json.ok, first.json.state]).toEqual([0, true, 'done'])
    expect(first.json.covered).toMatchObject({ orders: 2, subscriptions: 1, proxies: 2 })
    expect(position()).toMatchObject({ parts: 1, walk: '', lastRows: null })
    await buy()
    const second = await byHttp()
    expect(second.ok).toBe(true)
    expect(second.covered['new postings']).toBeGreaterThanOrEqual(3)
    expect(position()).toMatchObject({ parts: 1, lastRows: expect.any(Number) })
    const third = await byCommand()
    expect(third.json.ok).toBe(true)
    expect(position()).toMatchObject({ parts: 2 })
  })

  test('an edit of an old order is found within 15 parts that are made by the command and over HTTP in turns', async () => {
    const raw = await openRawDatabase(engine, shop.testDatabase.address)
    await raw.run("UPDATE orders SET price = price + 1 WHERE product = 'vpn'")
    await raw.close()
    const found: string[] = []
    let parts = 0
    for (; found.length === 0 && parts < partsPerRound + 1; parts += 1) {
      const { ok, findings } = parts % 2 === 0 ? await byHttp() : (await byCommand()).json
      expect(ok).toBe(findings.length === 0)
      found.push(...findings.map(({ promise }) => promise))
    }
    expect(found).toContain('order')
  })
})
