import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createActions } from '../../src/app/shop/admin.ts'
import type { Role } from '../../src/domains/operators/rules.ts'
import { type Answer, createAnswerChecker } from '../harness/answers.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { untilTrue } from '../harness/turnpike.ts'

describe.each([...engines])('starts of verify over HTTP on %s', (engine) => {
  let shop: Service
  let checker: Awaited<ReturnType<typeof createAnswerChecker>>
  const tokens: Partial<Record<Role, string>> = {}
  beforeAll(async () => {
    shop = await startService(engine)
    for (const role of ['owner', 'support'] as const) {
      await createActions(shop.services).addOperator(role, role)
      tokens[role] = (await shop.services.operators.issueToken(role, { name: 't', expiresAt: null })).text
    }
    checker = await createAnswerChecker(shop.url, '/admin/v1')
    const { token } = await shop.newCustomer(5_000n)
    await shop.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 }, { token })
  })
  afterAll(() => shop.stop())

  async function call(method: 'GET' | 'POST', path: string, body: object = {}, role: Role = 'support') {
    const response = await fetch(`${shop.url}/admin/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${tokens[role]}`, 'Content-Type': 'application/json' },
      ...(method === 'POST' && { body: JSON.stringify(body) }),
    })
    return checker.read(method, path.split('?')[0] ?? '', response)
  }
  const start = (part: boolean): Promise<Answer> => call('POST', '/verify', { part })
  const end = async () => {
    await untilTrue(async () => (await call('GET', '/verify')).data.state !== 'running')
    return (await call('GET', '/verify')).data
  }
  async function verify(part: boolean) {
    shop.clock.advance(part ? 30_000 : 600_000)
    expect((await start(part)).data.state).toBe('running')
    return end()
  }
  const raised = async () =>
    (await shop.services.alerts.list()).filter(({ type }) => type === 'verify.finding').map(({ subject }) => subject)
  const shiftPrice = (by: number) =>
    shop.services.db.transact((tx) => tx.run('UPDATE orders SET price = price + $1', [by]))
  const hasRoundEnded = () =>
    JSON.parse(readFileSync(join(shop.testDatabase.folder, 'verify.json'), 'utf8')).walk === ''

  test('the alert of a part lasts until a whole round of parts has found nothing, and no part before says ok', async () => {
    expect((await verify(true)).ok).toBe(true)
    await shiftPrice(1)
    let found = await verify(true)
    while (found.ok) found = await verify(true)
    expect(await raised()).toContain('order')
    await shiftPrice(-1)
    let rounds = hasRoundEnded() ? 1 : 0
    while (rounds < 2) {
      const { ok, found: count, notes } = await verify(true)
      if (hasRoundEnded()) rounds += 1
      const isOver = rounds === 2
      expect([ok, (await raised()).length > 0, count > 0, notes.length > 0]).toEqual([
        isOver,
        !isOver,
        !isOver,
        !isOver,
      ])
    }
  })

  test('what a whole run finds is not ok for the next part, until a whole run finds nothing', async () => {
    await shiftPrice(1)
    expect((await verify(false)).ok).toBe(false)
    await shiftPrice(-1)
    expect((await verify(true)).ok).toBe(false)
    expect(await raised()).toContain('order')
    expect((await verify(false)).ok).toBe(true)
    expect(await raised()).toEqual([])
    expect((await verify(true)).ok).toBe(true)
  })

  test('each start is in the audit log; on SQLite a whole run may start once in 10 minutes, and a part once in 30 seconds', async () => {
    const entries = async () => (await call('GET', '/audit?action=startVerify&limit=100', {}, 'owner')).data.items
    for (const [part, ms] of [
      [false, 600_000],
      [true, 30_000],
    ] as const) {
      await verify(part)
      const before = await entries()
      expect(before[0]).toMatchObject({ name: 'support', request: { part } })
      shop.clock.advance(ms - 1000)
      const again = await start(part)
      await end()
      if (engine === 'postgres') {
        expect([again.status, (await entries()).length]).toEqual([200, before.length + 1])
        continue
      }
      expect([again.status, again.error.reason, again.headers.get('Retry-After')]).toEqual([
        429,
        'verification_too_soon',
        '1',
      ])
      expect(await entries()).toEqual(before)
      shop.clock.advance(1000)
      expect((await start(part)).status).toBe(200)
      await end()
      expect(await entries()).toHaveLength(before.length + 1)
    }
  })
})
