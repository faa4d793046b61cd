import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../src/db/open.ts'
import { enginesOf, makePreparedTestDatabase, makeTestDatabase, type TestDatabase } from '../harness/database.ts'
import { longTest } from '../harness/long-test.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import {
  endStarted,
  isAlive,
  launcher,
  pidOf,
  runCommand,
  runJson,
  runTurnpike,
  startTurnpike,
  testDatabaseEnv,
  untilTrue,
} from '../harness/turnpike.ts'

describe.each([...enginesOf('sqlite')])('operator commands on %s', (engine) => {
  let testDatabase: TestDatabase
  let env: Record<string, string>
  beforeAll(async () => {
    testDatabase = await makeTestDatabase(engine)
    env = testDatabaseEnv(testDatabase)
  })
  afterAll(() => testDatabase.remove())
  const run = (...args: string[]) => runJson(args, env)

  test('a command on a database without a schema names turnpike migrate, which creates the schema', async () => {
    const early = await run('customer', 'list')
    expect([early.exit, early.json.error.code]).toEqual([1, 'conflict'])
    expect(early.json.error.message).toContain('turnpike migrate')
    const made = await runTurnpike(['migrate', '--json'], env)
    expect(made.exit).toBe(0)
    expect(JSON.parse(made.out).applied[0]).toBe('0001-baseline')
    expect((await runCommand(['migrate'], env)).out).toBe('Nothing to do.\n')
  })

  test('commands create, credit, debit and block a customer and issue and revoke a token', async () => {
    const { json: customer } = await run('customer', 'create', 'Ada & Söhne')
    expect(customer).toMatchObject({ name: 'Ada & Söhne', blocked_at: null })
    const linked = { ...env, TURNPIKE_PUBLIC_URL: 'https://shop.example' }
    const { out: link } = await runCommand(['customer', 'link', customer.customer_id], linked)
    expect(link).toContain('https://shop.example/#enter=tpl_')
    const credited = await run('credit', customer.customer_id, '99.90', '--note', 'bank transfer')
    expect(credited.json).toMatchObject({ transaction: 1, amount_rub: 99.9, balance_rub: 99.9, repeated: false })
    const printed = await runTurnpike(['credit', customer.customer_id, '0.10'], env)
    expect(printed.out).toBe('Credited 0.10 RUB. The balance is 100.00 RUB.\n')
    const paid = ['credit', customer.customer_id, '50', '--key', 'invoice-17', '--reference', 'bank 4711'] as const
    expect((await run(...paid)).json).toMatchObject({ transaction: 3, balance_rub: 150 })
    expect((await runCommand([...paid], env)).out).toContain('nothing changed now')
    const taken = await run('debit', customer.customer_id, '50', '--note', 'wrong customer')
    expect(taken.json).toMatchObject({ transaction: 4, amount_rub: -50, balance_rub: 100 })
    const back = await runCommand(['debit', customer.customer_id, '0.50'], env)
    expect(back.out).toBe('Debited 0.50 RUB. The balance is 99.50 RUB.\n')
    await runCommand(['credit', customer.customer_id, '0.50'], env)
    expect((await run('credit', customer.customer_id, '1', '--key', '')).exit).not.toBe(0)
    expect((await run('credit', customer.customer_id, '1', '--key', 'bell\u0007')).exit).not.toBe(0)
    expect((await run('debit', customer.customer_id, '100.01')).json.error.code).toBe('insufficient_funds')
    expect((await run('debit', customer.customer_id, '1', '--key', 'invoice-17')).json.error.code).toBe(
      'idempotency_key_reused',
    )
    const { json: movements } = await run('transaction', 'list', customer.customer_id)
    expect(movements.items[3]).toMatchObject({
      kind: 'credit',
      key: 'invoice-17',
      reference: 'bank 4711',
      amount_rub: 50,
    })
    const { json: token } = await run(
      'token',
      'create',
      customer.customer_id,
      '--name=laptop',
      '--scopes',
      'read',
      '--expires',
      '2099-01-31',
      '--from',
      '203.0.113.0/24,::1',
      '--cap',
      '10',
    )
    expect(token.token).toMatch(/^tp_live_/)
    const listed = await runCommand(['token', 'list', customer.customer_id], env)
    expect(listed.out).toContain(token.token_id)
    expect(listed.out).not.toContain(token.token)
    expect((await run('token', 'revoke', token.token_id)).json).toEqual({ token_id: token.token_id, revoked: true })
    expect((await run('token', 'list', customer.customer_id)).json.items).toMatchObject([
      {
        name: 'laptop',
        scopes: ['read'],
        from: ['203.0.113.0/24', '::1'],
        cap_rub: 10,
        expires_at: '2099-01-31T00:00:00.000Z',
        revoked_at: expect.any(String),
      },
    ])
    expect((await run('customer', 'block', customer.customer_id)).json.blocked_at).not.toBeNull()
    const list = await run('customer', 'list')
    expect(list.json.items[0]).toMatchObject({ customer_id: customer.customer_id, balance_rub: 100 })
    expect((await run('customer', 'block', customer.customer_id, '--undo')).json.blocked_at).toBeNull()
    expect((await run('verify')).json).toMatchObject({ ok: true, found: 0 })
  })
})

describe('start, stop and errors of the program', () => {
  let testDatabase: TestDatabase
  beforeAll(async () => {
    testDatabase = await makePreparedTestDatabase('sqlite', 'stocked')
  })
  afterAll(async () => {
    await endStarted()
    await testDatabase.remove()
  })
  const gatewayPort = String(20_000 + (process.pid % 20_000))
  const settings = () => ({
    TURNPIKE_DATA: testDatabase.folder,
    TURNPIKE_PORT: '0',
    TURNPIKE_LOG: 'debug',
    TURNPIKE_GATEWAY_PORT: gatewayPort,
  })
  const openLine = /open at (http:\/\/\S+)/

  test('a command exits 1 for a missing object and 2 for wrong usage, each with one line on stderr', async () => {
    const unknownCustomer = 'cus_00000000000000000000000000'
    await runCommand(['migrate'], settings())
    const attempts = [
      [['credit', unknownCustomer, '1'], 1],
      [['token', 'create', unknownCustomer], 1],
      [['refund', 'ord_00000000000000000000000000'], 1],
      [['credit', unknownCustomer, '1e3'], 2],
      [['credit', unknownCustomer], 2],
      [['credit', 'someone', '5'], 1],
      [['customer', 'create', 'a\u0007b'], 2],
      [['token', 'create', unknownCustomer, '--from', '10.0.0.1/8'], 2],
      [['token', 'create', unknownCustomer, '--expires', '2027-02-30'], 2],
      [['verify', '--deep'], 2],
      [['backup', '/nowhere', '--shop', 'https://shop.example.net'], 2],
      [['dance'], 2],
    ] as const
    for (const [args, exit] of attempts) {
      const isFirst = attempts.findIndex((each) => each[1] === exit) === attempts.findIndex((each) => each[0] === args)
      const ended = await (isFirst ? runTurnpike : runCommand)([...args], settings())
      expect({ args, exit: ended.exit, out: ended.out }).toEqual({ args, exit, out: '' })
      expect(ended.err).toMatch(/^turnpike: .+\n$/)
    }
  })

  test('migrate exits 2 and names TURNPIKE_DATA when a file is in place of the data folder', async () => {
    const file = join(testDatabase.folder, 'a-file')
    writeFileSync(file, '')
    for (const data of [file, join(file, 'inside')]) {
      const ended = await runCommand(['migrate'], { ...settings(), TURNPIKE_DATA: data })
      expect([ended.exit, ended.err]).toEqual([2, expect.stringMatching(/a file is there.*TURNPIKE_DATA/)])
    }
  })

  test('--help lists every setting with its variable, and COMMAND --help its own options', async () => {
    const { exit, out } = await runCommand(['--help'])
    expect(exit).toBe(0)
    for (const name of ['HOST', 'PORT', 'DATA', 'DATABASE_URL', 'SANDBOX_TOKEN', 'RATE_READS', 'RATE_CHARGES', 'LOG']) {
      expect(out).toContain(`TURNPIKE_${name}`)
    }
    const commands = [...out.matchAll(/^ {2}turnpike (\S+(?: [a-z]+)?) {2}/gm)].map((found) => found[1] ?? '')
    expect(commands).toContain('verify')
    const one = await runCommand(['token', 'create', '--help'])
    expect([one.exit, one.out.split('\n')[0]]).toEqual([0, 'turnpike token create CUSTOMER [options]'])
    expect(one.out).toContain('--cap')
    expect(one.out).not.toContain('TURNPIKE_')
    expect(one.out).toEndWith('and the settings: "turnpike --help" lists them.\n')
    expect((await runTurnpike([])).exit).toBe(2)
  })

  test('a command prefix lists the commands that start with it, and an unknown command names that list', async () => {
    for (const [args, exit] of [
      [['customer'], 2],
      [['customer', '--help'], 0],
      [['help', 'customer'], 0],
    ] as const) {
      const ended = await runCommand(args)
      expect([ended.exit, ended.err]).toEqual([exit, ''])
      const listed = [...ended.out.matchAll(/^ {2}turnpike (\S+)/gm)].map((found) => found[1])
      expect([listed.length > 1, new Set(listed)]).toEqual([true, new Set(['customer'])])
    }
    const wrong = await runCommand(['customer', 'dance'])
    expect([wrong.exit, wrong.out]).toEqual([2, ''])
    expect(wrong.err).toContain('no command "customer dance". "turnpike customer" lists')
  })

  test('a malformed setting exits 2 with one line that names it and never shows its value', async () => {
    const secret = 'hunter2secret'
    for (const [env, name] of [
      [{ TURNPIKE_PORT: 'http' }, 'TURNPIKE_PORT'],
      [{ TURNPIKE_DATABASE_URL: `mysql://root:${secret}@db/x` }, 'TURNPIKE_DATABASE_URL'],
      [{ TURNPIKE_SANDBOX_TOKEN: `${secret} with spaces` }, 'TURNPIKE_SANDBOX_TOKEN'],
    ] as const) {
      for (const role of ['up', 'shop']) {
        // Both roles read settings in the same way, so each role starts as a process only once.
        const run = name === 'TURNPIKE_DATABASE_URL' ? runTurnpike : runCommand
        const { exit, out, err } = await run([role], { ...settings(), ...env })
        expect([exit, out]).toEqual([2, ''])
        expect(err).toMatch(new RegExp(`^turnpike: ${name} .*\\n$`))
        expect(err).not.toContain(secret)
      }
    }
  })

  test('a shop exits with one line when its port is in use', async () => {
    const holder = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const { exit, err } = await runTurnpike(['shop'], {
      ...settings(),
      TURNPIKE_LOG: 'silent',
      TURNPIKE_PORT: String(holder.port),
    })
    await holder.stop(true)
    expect(exit).not.toBe(0)
    expect(err).toMatch(/^turnpike: .*\n$/)
  })

  longTest('an idle shop exits 0 after SIGTERM, SIGINT and SIGHUP', async () => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      const shop = startTurnpike(['shop'], settings(), launcher)
      await shop.until(openLine)
      shop.kill(signal)
      expect(await shop.exited).toBe(0)
      expect(shop.err()).toContain('shop closed')
    }
  })

  test('a shop finishes an open request after SIGTERM, answers new ones 503 and exits 0 within 10 s', async () => {
    const postgres = await makePreparedTestDatabase('postgres', 'stocked')
    const shop = startTurnpike(['shop'], { ...settings(), TURNPIKE_DATABASE_URL: postgres.address })
    const url = (await shop.until(openLine))[1] ?? ''
    const token = (await shop.until(/TOKEN='(tp_test_\w+)'/))[1] ?? ''
    const readBalance = () =>
      fetch(`${url}/api/v1/balance`, { headers: { Authorization: `Bearer ${token}`, Connection: 'close' } })
    const held = openDatabase(postgres.address)
    const locked = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const holding = held.transact(async (tx) => {
      await tx.run('LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE')
      locked.resolve()
      await release.promise
    })
    await locked.promise
    const running = readBalance()
    const waiters = `SELECT COUNT(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
    expect(await untilTrue(async () => (await held.first<{ n: bigint }>(waiters))?.n === 1n)).toBe(true)
    const stopwatch = startStopwatch('postgres')
    shop.kill('SIGTERM')
    const refused = Promise.withResolvers<Response>()
    expect(
      await untilTrue(async () => {
        const answer = await fetch(`${url}/api/v1/openapi.json`)
        if (answer.status === 503) refused.resolve(answer)
        return answer.status === 503
      }),
    ).toBe(true)
    expect(await (await refused.promise).json()).toMatchObject({ ok: false, error: { code: 'unavailable' } })
    release.resolve()
    await holding
    expect(await (await running).json()).toMatchObject({ ok: true, data: { balance_rub: 100_000 } })
    expect(await shop.exited).toBe(0)
    expect(stopwatch.elapsedMs()).toBeLessThan(10_000)
    await held.close()
    await postgres.remove()
  })

  test('a killed launcher leaves no supervisor and no shop behind', async () => {
    const up = startTurnpike(['up'], settings(), launcher)
    await up.until(openLine)
    const shop = pidOf(up, 'shop')
    up.kill('SIGKILL')
    expect(await untilTrue(() => !isAlive(shop))).toBe(true)
  })
})
