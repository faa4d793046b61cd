import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { startStopwatch } from '../../../test/harness/stopwatch.ts'
import { untilTrue } from '../../../test/harness/turnpike.ts'
import { addCustomer, buy, wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import { readAddress, readPrefix } from '../../core/address.ts'
import type { CustomerId, TokenId } from '../../core/ids.ts'
import { tokenRandomBytes } from '../../core/token-text.ts'
import { openDatabase } from '../../db/open.ts'
import type { Database } from '../../db/transaction.ts'
import { makeTokenText } from './rules.ts'

/** The same database, with a record of every query. */
function recordQueries(db: Database): { db: Database; queries: string[] } {
  const queries: string[] = []
  return {
    queries,
    db: {
      ...db,
      all: (sql, values) => {
        queries.push(sql)
        return db.all(sql, values)
      },
      first: (sql, values) => {
        queries.push(sql)
        return db.first(sql, values)
      },
    },
  }
}

describe.each([...engines])('tokens on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let clock: HandClock
  let services: Services
  let customer: CustomerId
  let queries: string[]
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
  })
  afterAll(() => opened.close())
  beforeEach(async () => {
    clock = new HandClock()
    const recorder = recordQueries(opened.db)
    queries = recorder.queries
    services = wire(recorder.db, clock)
    customer = await addCustomer(services, 0n)
  })
  const issue = async (options: Partial<Parameters<Services['customers']['issueToken']>[1]> = {}) =>
    services.customers.issueToken(customer, { name: 'test', ...options })
  const authenticate = (text: string | undefined, from?: string, scope: 'read' | 'trade' = 'read', of = services) =>
    of.customers.authenticate(text, from === undefined ? undefined : readAddress(from), scope)
  const codeOf = async (attempt: Promise<unknown>) => (await refusalOf(attempt)).code

  test('authenticate() returns the customer, the token and the scopes of a valid token', async () => {
    const { text, token } = await issue()
    expect(await authenticate(text)).toEqual({
      customer,
      token: { id: token.id, cap: null, seen: { expiresAt: null, revocationEpoch: 0 } },
      scopes: ['read', 'trade', 'pay', 'passwords'],
      apiVersion: token.apiVersion,
    })
  })

  test('the text of a token is neither in the database nor in the list of tokens', async () => {
    const { text } = await issue()
    const rows = await opened.db.all('SELECT * FROM tokens')
    const listed = await services.customers.listTokens(customer)
    const shown = Bun.inspect([rows, listed], { depth: 10 })
    expect(shown).not.toContain(text)
    expect(shown).not.toContain(text.slice(13))
  })

  test('authenticate() refuses a text with a wrong checksum without a database query', async () => {
    const { text } = await issue()
    queries.length = 0
    for (const bad of [
      undefined,
      '',
      'x',
      text.slice(0, -1),
      `${text}0`,
      text.toUpperCase(),
      ` ${text}`,
      'tp_live_'.repeat(9),
    ]) {
      expect(await codeOf(authenticate(bad))).toBe('invalid_token')
    }
    const flipped = text.slice(0, -1) + (text.endsWith('0') ? '1' : '0')
    expect(await codeOf(authenticate(flipped))).toBe('invalid_token')
    expect(queries).toEqual([])
    await authenticate(text)
    expect(queries).toHaveLength(1)
  })

  test('authenticate() refuses an unknown token with a valid checksum, with one query per attempt', async () => {
    const unknown = makeTokenText('production', crypto.getRandomValues(new Uint8Array(tokenRandomBytes)))
    queries.length = 0
    expect(await codeOf(authenticate(unknown))).toBe('invalid_token')
    expect(await codeOf(authenticate(unknown))).toBe('invalid_token')
    expect(queries).toHaveLength(2)
  })

  test('100 concurrent requests of one token make one database query', async () => {
    const { text } = await issue()
    queries.length = 0
    await Promise.all(Array.from({ length: 100 }, () => authenticate(text)))
    expect(queries).toHaveLength(1)
  })

  test('the process that revokes a token refuses it at once', async () => {
    const { text, token } = await issue()
    await authenticate(text)
    await services.customers.revokeToken(token.id)
    expect(await codeOf(authenticate(text))).toBe('invalid_token')
  })

  test('a token that another process revokes, or whose customer it blocks, is refused after 1 s', async () => {
    const otherShop = wire(openDatabase(opened.testDatabase.address), clock)
    const { text, token } = await issue()
    await authenticate(text)
    await otherShop.setBlocked(customer, true)
    clock.advance(1000)
    expect(await codeOf(authenticate(text))).toBe('forbidden')
    await otherShop.setBlocked(customer, false)
    clock.advance(1000)
    await authenticate(text)
    await otherShop.customers.revokeToken(token.id)
    clock.advance(1000)
    expect(await codeOf(authenticate(text))).toBe('invalid_token')
    await otherShop.db.close()
  })

  test('a token that another process revokes is refused within 1 s of real time', async () => {
    const here = wire(opened.db)
    const otherShop = wire(openDatabase(opened.testDatabase.address))
    const { text, token } = await here.customers.issueToken(customer, { name: 'real time' })
    await authenticate(text, undefined, 'read', here)
    await otherShop.customers.revokeToken(token.id)
    const stopwatch = startStopwatch(engine)
    const isAccepted = () =>
      authenticate(text, undefined, 'read', here).then(
        () => true,
        () => false,
      )
    expect(await untilTrue(async () => !(await isAccepted()))).toBe(true)
    expect(stopwatch.elapsedMs()).toBeLessThan(1000)
    expect(await codeOf(authenticate(text, undefined, 'read', here))).toBe('invalid_token')
    await otherShop.db.close()
  })

  test('a token that another process issues is accepted at once', async () => {
    const otherShop = wire(openDatabase(opened.testDatabase.address), clock)
    const { text } = await otherShop.customers.issueToken(customer, { name: 'new' })
    expect(await authenticate(text)).toMatchObject({ customer })
    await otherShop.db.close()
  })

  test('a sale accepts a cached token of 9 s and checks the block in its transaction, and caches no refusal', async () => {
    const otherShop = wire(openDatabase(opened.testDatabase.address), clock)
    const { text, token } = await issue()
    const toBuy = () => services.customers.authenticate(text, undefined, 'trade', 'sale')
    await toBuy()
    await otherShop.setBlocked(customer, true)
    clock.advance(9_000)
    const seen = await toBuy()
    expect(seen.token).toMatchObject({ id: token.id, seen: { revocationEpoch: 0 } })
    expect((await refusalOf(buy(services, seen, 100n))).code).toBe('forbidden')
    expect(await codeOf(authenticate(text))).toBe('forbidden')
    expect(await codeOf(toBuy())).toBe('forbidden')
    await otherShop.setBlocked(customer, false)
    clock.advance(500)
    expect((await toBuy()).token).toMatchObject({ id: token.id, seen: { revocationEpoch: 2 } })
    await otherShop.db.close()
  })

  test('a cached token is refused from the millisecond of its expiry', async () => {
    const { text } = await issue({ expiresAt: clock.nowMs + 1000 })
    await authenticate(text)
    clock.advance(999)
    await authenticate(text)
    clock.advance(1)
    expect(await codeOf(authenticate(text))).toBe('invalid_token')
  })

  test('a token with allowed addresses is refused from others, and accepts IPv4-mapped spellings', async () => {
    const allowedFrom = ['203.0.113.0/24', '2001:db8::/32'].map(
      (text) => readPrefix(text) as NonNullable<ReturnType<typeof readPrefix>>,
    )
    const { text } = await issue({ allowedFrom })
    for (const from of ['203.0.113.1', '203.0.113.255', '::ffff:203.0.113.9', '2001:db8:ffff::1']) {
      expect(await authenticate(text, from)).toMatchObject({ customer })
    }
    for (const from of ['203.0.114.1', '2001:db9::1', '127.0.0.1', '::1', undefined]) {
      expect(await codeOf(authenticate(text, from))).toBe('forbidden')
    }
  })

  test('a token with scope read is refused for trade', async () => {
    const { text } = await issue({ scopes: ['read'] })
    await authenticate(text)
    expect(await codeOf(authenticate(text, undefined, 'trade'))).toBe('forbidden')
  })

  test('issueToken refuses an unknown customer with not_found', async () => {
    const unknownCustomer = 'cus_00000000000000000000000000' as CustomerId
    expect(await codeOf(services.customers.issueToken(unknownCustomer, { name: 'x' }))).toBe('not_found')
  })

  test('a token with an expiry that is not in the future is refused, and none is made', async () => {
    for (const expiresAt of [clock.nowMs, clock.nowMs - 1]) {
      const refusal = await refusalOf(issue({ expiresAt }))
      expect([refusal.code, refusal.details]).toEqual([
        'invalid_request',
        [expect.objectContaining({ field: 'expires_at', reason: 'future' })],
      ])
    }
  })

  test('a customer has at most 5 open tokens with maxTokens of 5, also when 12 are issued at once', async () => {
    const few = wire(opened.db, clock, { maxTokens: 5 }).customers
    const attempts = Array.from({ length: 12 }, () => few.issueToken(customer, { name: 'many' }))
    const answers = await Promise.allSettled(attempts)
    const made = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value.token.id] : []))
    expect(made).toHaveLength(5)
    const refused = await refusalOf(few.issueToken(customer, { name: 'one more' }))
    expect([refused.code, refused.details]).toEqual(['conflict', { limit: 5 }])
    expect(await few.listTokens(customer)).toHaveLength(5)
    await few.revokeOwnToken(customer, made[0] as TokenId)
    await few.issueToken(customer, { name: 'brief', expiresAt: clock.nowMs + 1000 })
    expect(await codeOf(few.issueToken(customer, { name: 'one more' }))).toBe('conflict')
    clock.advance(1000)
    await few.issueToken(customer, { name: 'after it' })
    expect(await codeOf(few.issueToken(customer, { name: 'one more' }))).toBe('conflict')
    await few.issueToken(await addCustomer(services, 0n), { name: 'of another' })
  })

  test('listTokens returns the open tokens and the newest revoked ones, at most 200', async () => {
    const many = wire(opened.db, clock, { maxTokens: 100 }).customers
    const kept = (await many.issueToken(customer, { name: 'kept' })).token.id
    const made: TokenId[] = []
    for (let count = 0; count < 230; count += 1) {
      clock.advance(1)
      const { token } = await many.issueToken(customer, { name: 'waste' })
      await many.revokeOwnToken(customer, token.id)
      made.push(token.id)
    }
    expect((await many.listTokens(customer)).map((each) => each.id)).toEqual([kept, ...made.slice(-199)])
  })

  test('issueToken refuses after 20 tokens within a day with maxTokens of 2, even if all are revoked', async () => {
    const few = wire(opened.db, clock, { maxTokens: 2 }).customers
    const makeAndRevoke = async () => {
      const { token } = await few.issueToken(customer, { name: 'waste' })
      await few.revokeOwnToken(customer, token.id)
    }
    for (let count = 0; count < 20; count += 1) await makeAndRevoke()
    expect(await codeOf(makeAndRevoke())).toBe('conflict')
    clock.advance(86_400_000)
    await makeAndRevoke()
  })

  test('a production shop refuses the fixed token of a sandbox', async () => {
    expect(await codeOf(services.customers.admitSandboxToken('a-fixed-token'))).toBe('conflict')
    expect(await codeOf(authenticate('a-fixed-token'))).toBe('invalid_token')
  })
})
