import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { failureOf } from '../../../test/harness/failure.ts'
import { wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'

describe.each([...engines])('tokens and names of operators on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  const clock = new HandClock()
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    services = wire(opened.db, clock)
    await opened.db.transact((tx) => services.operators.add(tx, 'olga', 'support'))
  })
  afterAll(() => opened.close())

  test('an operator’s token is refused from the millisecond of its expiry, also if it is cached', async () => {
    const endsAt = clock.nowMs + 5000
    const { text, token } = await services.operators.issueToken('olga', { name: 'short', expiresAt: endsAt })
    clock.advance(4999)
    expect(await services.operators.authenticate(text)).toMatchObject({
      operator: { name: 'olga' },
      token: { id: token.id },
    })
    clock.advance(1)
    expect(await failureOf(services.operators.authenticate(text))).toMatchObject({ code: 'invalid_token' })
  })

  test('an operator’s token without an expiry works until it is revoked', async () => {
    const { text, token } = await services.operators.issueToken('olga', { name: 'long', expiresAt: null })
    clock.advance(10 * 365 * 86_400_000)
    expect(await services.operators.authenticate(text)).toMatchObject({ operator: { role: 'support' } })
    await opened.db.transact((tx) => services.operators.revokeToken(tx, token.id))
    clock.advance(2000)
    expect(await failureOf(services.operators.authenticate(text))).toMatchObject({ code: 'invalid_token' })
  })

  test('an operator’s name is refused if it exists in any case, and sign-in ignores the case', async () => {
    for (const name of ['olga', 'Olga', 'OLGA']) {
      const adding = opened.db.transact((tx) => services.operators.add(tx, name, 'reader'))
      expect(await failureOf(adding)).toMatchObject({ code: 'conflict' })
    }
    const short = await opened.db.transact((tx) => services.operators.add(tx, 'Jo', 'reader'))
    const owner = { kind: 'operator', id: short.id } as const
    const password = 'correct horse battery'
    const input = { login: 'Jo', current: undefined, password, clientPrefix: 'h' }
    await services.identities.setPassword(owner, input, null)
    const visitor = { source: null, clientPrefix: 'h', agent: null, shown: [] }
    await services.signIn.byPassword('operator', { login: 'jo', password }, visitor)
  })
})
