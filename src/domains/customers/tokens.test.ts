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
function overheard(db: Database): { db: Database; questions: string[] } {
  const questions: string[] = []
  return {
    questions,
    db: {
      ...db,
      all: (sql, values) => {
        questions.push(sql)
        return db.all(sql, values)
      },
      first: (sql, values) => {
        questions.push(sql)
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
  let questions: string[]
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
  })
  afterAll(() => opened.close())
  beforeEach(async () => {
    clock = new HandClock()
    const ear = overheard(opened.db)
    questions = ear.questions
    services = wire(ear.db, clock)
    customer = await addCustomer(services, 0n)
  })
  const issue = async (options: Partial<Parameters<Services['customers']['issueToken']>[1]> = {}) =>
    services.customers.issueToken(customer, { name: 'test', ...options })
  const enter = (text: string | undefined, from?: string, scope: 'read' | 'trade' = 'read', of = services) =>
    of.customers.authenticate(text, from === undefined ? undefined : readAddress(from), scope)
  const codeOf = async (attempt: Promise<unknown>) => (await refusalOf(attempt)).code

  test('a token authenticates its own customer', async () => {
    const { text, token } = await issue()
    expect(await enter(text)).toEqual({
      customer,
      token: { id: token.id, cap: null, seen: { expiresAt: null, revocationEpoch: 0 } },
      scopes: ['read', 'trade', 'pay', 'passwords'],
    })
  })

  test('the text of a token is in no row and in no list', async () => {
    const { text } = await issue()
    const rows = await opened.db.all('SELECT * FROM tokens')
    const listed = await services.customers.listTokens(customer)
    const shown = Bun.inspect([rows, listed], { depth: 10 })
    expect(shown).not.toContain(text)
    expect(shown).not.toContain(text.slice(13))
  })

  test('a text that fails its checksum is refused without a query', async () => {
    const { text } = await issue()
    questions.length = 0
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
      expect(await codeOf(enter(bad))).toBe('invalid_token')
    }
    const flipped = text.slice(0, -1) + (text.endsWith('0') ? '1' : '0')
    expect(await codeOf(enter(flipped))).toBe('invalid_token')
    expect(questions).toEqual([])
    await enter(text)
    expect(questions).toHaveLength(1)
  })

  test('an unknown token with a good checksum is refused, and each attempt queries the database', async () => {
    const unknown = makeTokenText('production', crypto.getRandomValues(new Uint8Array(tokenRandomBytes)))
    questions.length = 0
    expect(await codeOf(enter(unknown))).toBe('invalid_token')
    expect(await codeOf(enter(unknown))).toBe('invalid_token')
    expect(questions).toHaveLength(2)
  })

  test('many requests of one token at once make one query', async () => {
    const { text } = await issue()
    questions.length = 0
    await Promise.all(Array.from({ length: 100 }, () => enter(text)))
    expect(questions).toHaveLength(1)
  })

  test('the process that revoked a token refuses it at once', async () => {
    const { text, token } = await issue()
    await enter(text)
    await services.customers.revokeToken(token.id)
    expect(await codeOf(enter(text))).toBe('invalid_token')
  })

  test('a token revoked, or a customer blocked, by another process is refused here within a second', async () => {
    const elsewhere = wire(openDatabase(opened.testDatabase.address), clock)
    const { text, token } = await issue()
    await enter(text)
    await elsewhere.setBlocked(customer, true)
    clock.advance(1000)
    expect(await codeOf(enter(text))).toBe('forbidden')
    await elsewhere.setBlocked(customer, false)
    clock.advance(1000)
    await enter(text)
    await elsewhere.customers.revokeToken(token.id)
    clock.advance(1000)
    expect(await codeOf(enter(text))).toBe('invalid_token')
    await elsewhere.db.close()
  })

  test('a token that another process revokes is refused here within 1 s of real time', async () => {
    const here = wire(opened.db)
    const elsewhere = wire(openDatabase(opened.testDatabase.address))
    const { text, token } = await here.customers.issueToken(customer, { name: 'real time' })
    await enter(text, undefined, 'read', here)
    await elsewhere.customers.revokeToken(token.id)
    const stopwatch = startStopwatch(engine)
    const isOpen = () =>
      enter(text, undefined, 'read', here).then(
        () => true,
        () => false,
      )
    expect(await untilTrue(async () => !(await isOpen()))).toBe(true)
    expect(stopwatch.elapsedMs()).toBeLessThan(1000)
    expect(await codeOf(enter(text, undefined, 'read', here))).toBe('invalid_token')
    await elsewhere.db.close()
  })

  test('a token made by another process works here at once', async () => {
    const elsewhere = wire(openDatabase(opened.testDatabase.address), clock)
    const { text } = await elsewhere.customers.issueToken(customer, { name: 'new' })
    expect(await enter(text)).toMatchObject({ customer })
    await elsewhere.db.close()
  })

  test('a sale accepts a cached token for 10 s, and never a cached refusal', async () => {
    const elsewhere = wire(openDatabase(opened.testDatabase.address), clock)
    const { text, token } = await issue()
    const toBuy = () => services.customers.authenticate(text, undefined, 'trade', 'sale')
    await toBuy()
    await elsewhere.setBlocked(customer, true)
    clock.advance(9_000)
    const seen = await toBuy()
    expect(seen.token).toMatchObject({ id: token.id, seen: { revocationEpoch: 0 } })
    expect((await refusalOf(buy(services, seen, 100n))).code).toBe('forbidden')
    expect(await codeOf(enter(text))).toBe('forbidden')
    expect(await codeOf(toBuy())).toBe('forbidden')
    await elsewhere.setBlocked(customer, false)
    clock.advance(500)
    expect((await toBuy()).token).toMatchObject({ id: token.id, seen: { revocationEpoch: 2 } })
    await elsewhere.db.close()
  })

  test('a token expires to the millisecond, cached or not', async () => {
    const { text } = await issue({ expiresAt: clock.nowMs + 1000 })
    await enter(text)
    clock.advance(999)
    await enter(text)
    clock.advance(1)
    expect(await codeOf(enter(text))).toBe('invalid_token')
  })

  test('a token with an address lock works from its addresses only, in any spelling', async () => {
    const allowedFrom = ['203.0.113.0/24', '2001:db8::/32'].map(
      (text) => readPrefix(text) as NonNullable<ReturnType<typeof readPrefix>>,
    )
    const { text } = await issue({ allowedFrom })
    for (const from of ['203.0.113.1', '203.0.113.255', '::ffff:203.0.113.9', '2001:db8:ffff::1']) {
      expect(await enter(text, from)).toMatchObject({ customer })
    }
    for (const from of ['203.0.114.1', '2001:db9::1', '127.0.0.1', '::1', undefined]) {
      expect(await codeOf(enter(text, from))).toBe('forbidden')
    }
  })

  test('a token is refused outside its scopes', async () => {
    const { text } = await issue({ scopes: ['read'] })
    await enter(text)
    expect(await codeOf(enter(text, undefined, 'trade'))).toBe('forbidden')
  })

  test('a token of an unknown customer is not issued', async () => {
    const unknownCustomer = 'cus_00000000000000000000000000' as CustomerId
    expect(await codeOf(services.customers.issueToken(unknownCustomer, { name: 'x' }))).toBe('not_found')
  })

  test('a customer never has more open tokens than the limit, also when many are issued at once', async () => {
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

  test('a list of tokens has the open ones and the newest revoked ones, at most 200', async () => {
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

  test('issuing and revoking tokens is refused after ten times the limit within a day', async () => {
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

  test("a sandbox's fixed token is accepted by a sandbox only", async () => {
    expect(await codeOf(services.customers.admitSandboxToken('a-fixed-token'))).toBe('conflict')
    expect(await codeOf(enter('a-fixed-token'))).toBe('invalid_token')
  })
})
