import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { engines, makePlace, type Place } from '../harness/database.ts'
import { runTurnpike, startTurnpike, untilTrue } from '../harness/turnpike.ts'

describe.each([...engines])("the operator's tool on %s", (engine) => {
  let place: Place
  let env: Record<string, string>
  beforeAll(async () => {
    place = await makePlace(engine)
    env = {
      TURNPIKE_DATA: place.folder,
      ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: place.address }),
    }
  })
  afterAll(() => place.remove())
  /** Runs a command and reads its JSON. */
  async function ask(...words: string[]) {
    const ended = await runTurnpike([...words, '--json'], env)
    // The shape is what each test looks at.
    // oxlint-disable-next-line typescript/no-explicit-any
    return { ...ended, json: JSON.parse(ended.out) as any }
  }

  test('a database without a schema is named, and migrate makes it', async () => {
    const early = await ask('customer', 'list')
    expect([early.exit, early.json.error.code]).toEqual([1, 'conflict'])
    expect(early.json.error.message).toContain('turnpike migrate')
    const made = await ask('migrate')
    expect(made.exit).toBe(0)
    expect(made.json.applied[0]).toBe('0001-shop')
    expect((await runTurnpike(['migrate'], env)).out).toBe('Nothing to do.\n')
  })

  test('a customer is made, paid in, given a token, charged back and shut out, in words or in JSON', async () => {
    const { json: customer } = await ask('customer', 'create', 'Ada & Söhne')
    expect(customer).toMatchObject({ id: expect.stringMatching(/^cus_/), name: 'Ada & Söhne', blocked_at: null })
    const credited = await ask('credit', customer.id, '99.90', '--note', 'bank transfer')
    expect(credited.json).toEqual({ customer: customer.id, transaction: 1, amount_rub: 99.9, balance_rub: 99.9 })
    const words = await runTurnpike(['credit', customer.id, '0.10'], env)
    expect(words.out).toBe('Credited 0.10 RUB. The balance is 100.00 RUB.\n')
    const { json: token } = await ask(
      'token',
      'create',
      customer.id,
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
    expect(token).toMatchObject({
      token: expect.stringMatching(/^tp_live_/),
      name: 'laptop',
      scopes: ['read'],
      from: ['203.0.113.0/24', '::1'],
      cap_rub: 10,
      expires_at: '2099-01-31T00:00:00.000Z',
    })
    const listed = await runTurnpike(['token', 'list', customer.id], env)
    expect(listed.out).toContain(token.id)
    expect(listed.out).not.toContain(token.token)
    expect((await ask('token', 'revoke', token.id)).json).toEqual({ id: token.id, revoked: true })
    expect((await ask('token', 'list', customer.id)).json[0].revoked_at).not.toBeNull()
    expect((await ask('customer', 'block', customer.id)).json).toEqual({ id: customer.id, blocked: true })
    const list = await ask('customer', 'list')
    expect(list.json[0]).toMatchObject({ id: customer.id, balance_rub: 100 })
    expect(list.json[0].blocked_at).not.toBeNull()
    expect((await ask('customer', 'block', customer.id, '--undo')).json.blocked).toBe(false)
    expect((await ask('verify')).json).toMatchObject({ ok: true, found: 0 })
  })

  test('what is not there is said to be missing, and what is mistyped is explained, with different endings', async () => {
    const nobody = 'cus_00000000000000000000000000'
    for (const [words, exit] of [
      [['credit', nobody, '1'], 1],
      [['customer', 'block', nobody], 1],
      [['token', 'list', nobody], 1],
      [['token', 'create', nobody], 1],
      [['token', 'revoke', 'tok_00000000000000000000000000'], 1],
      [['refund', 'ord_00000000000000000000000000'], 1],
      [['credit', nobody, '-5'], 2],
      [['credit', nobody, '1e3'], 2],
      [['credit', nobody, '0'], 2],
      [['credit', nobody], 2],
      [['credit', 'someone', '5'], 2],
      [['credit', nobody, '5', 'more'], 2],
      [['customer', 'create', ''], 2],
      [['customer', 'create', 'a\u0007b'], 2],
      [['customer', 'list', '--limit', '0'], 2],
      [['token', 'create', nobody, '--scopes', 'all'], 2],
      [['token', 'create', nobody, '--from', '10.0.0.1/8'], 2],
      [['token', 'create', nobody, '--expires', '2027-02-30'], 2],
      [['token', 'create', nobody, '--cap'], 2],
      [['verify', '--deep'], 2],
      [['verify', '--json=yes'], 2],
      [['dance'], 2],
    ] as const) {
      const ended = await runTurnpike([...words], env)
      expect({ words, exit: ended.exit, out: ended.out }).toEqual({ words, exit, out: '' })
      expect(ended.err).toMatch(/^turnpike: .+\n$/)
    }
  }, 60_000)
})

describe('starting and stopping', () => {
  let place: Place
  beforeAll(async () => {
    place = await makePlace('sqlite')
  })
  afterAll(() => place.remove())
  const settings = () => ({
    TURNPIKE_DATA: place.folder,
    TURNPIKE_PORT: '0',
    TURNPIKE_LOG: 'debug',
    TURNPIKE_GATEWAY_PORT: '0',
  })
  const opened = /open at (http:\/\/\S+)/

  test('help names every setting with its variable, and every command explains itself', async () => {
    const { exit, out } = await runTurnpike(['--help'])
    expect(exit).toBe(0)
    for (const name of ['HOST', 'PORT', 'DATA', 'DATABASE_URL', 'SANDBOX_TOKEN', 'RATE_READS', 'RATE_CHARGES', 'LOG']) {
      expect(out).toContain(`TURNPIKE_${name}`)
    }
    const commands = [...out.matchAll(/^ {2}turnpike (\S+(?: [a-z]+)?) {2}/gm)].map((found) => found[1] ?? '')
    expect(commands).toContain('verify')
    const one = await runTurnpike(['token', 'create', '--help'])
    expect([one.exit, one.out.split('\n')[0]]).toEqual([0, 'turnpike token create CUSTOMER [options]'])
    expect((await runTurnpike([])).exit).toBe(2)
  })

  test('a bad setting stops the start with one clear line and 2, and never repeats a value that may be a secret', async () => {
    const secret = 'hunter2secret'
    for (const [env, name] of [
      [{ TURNPIKE_PORT: 'http' }, 'TURNPIKE_PORT'],
      [{ TURNPIKE_PORT: '70000' }, 'TURNPIKE_PORT'],
      [{ TURNPIKE_HOST: 'not a host' }, 'TURNPIKE_HOST'],
      [{ TURNPIKE_DATABASE_URL: `mysql://root:${secret}@db/x` }, 'TURNPIKE_DATABASE_URL'],
      [{ TURNPIKE_DATABASE_URL: `postgres://root:${secret}@[::1/x` }, 'TURNPIKE_DATABASE_URL'],
      [{ TURNPIKE_SANDBOX_TOKEN: `${secret} with spaces` }, 'TURNPIKE_SANDBOX_TOKEN'],
      [{ TURNPIKE_SANDBOX: 'maybe' }, 'TURNPIKE_SANDBOX'],
      [{ TURNPIKE_RATE_READS: '-1' }, 'TURNPIKE_RATE_READS'],
      [{ TURNPIKE_RATE_CHARGES: '1e3' }, 'TURNPIKE_RATE_CHARGES'],
      [{ TURNPIKE_TRUSTED_PROXIES: '10.0.0.1/8' }, 'TURNPIKE_TRUSTED_PROXIES'],
      [{ TURNPIKE_LOG: 'loud' }, 'TURNPIKE_LOG'],
    ] as const) {
      for (const role of ['up', 'shop']) {
        const { exit, out, err } = await runTurnpike([role], { ...settings(), ...env } as Record<string, string>)
        expect([exit, out]).toEqual([2, ''])
        expect(err).toMatch(new RegExp(`^turnpike: ${name} .*\\n$`))
        expect(err).not.toContain(secret)
      }
    }
  }, 60_000)

  test('a port that is taken stops the start with one clear line', async () => {
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

  test('told to stop, the shop ends with 0 at once when nothing runs, under any of the usual signals', async () => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      const shop = startTurnpike(['shop'], settings())
      await shop.until(opened)
      shop.kill(signal)
      expect(await shop.exited).toBe(0)
      expect(shop.err()).toContain('shop closed')
    }
  }, 60_000)

  test('told to stop while a request runs, it finishes that, refuses new ones, and ends with 0 within ten seconds', async () => {
    const shop = startTurnpike(['shop'], settings())
    const url = (await shop.until(opened))[1] ?? ''
    await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/healthz`)))
    const load = Array.from({ length: 200 }, () =>
      fetch(`${url}/api/v1/openapi.json`).then(
        (answer) => answer.status,
        () => 0,
      ),
    )
    const startedMs = performance.now()
    shop.kill('SIGTERM')
    const statuses = new Set(await Promise.all(load))
    expect(await shop.exited).toBe(0)
    expect(performance.now() - startedMs).toBeLessThan(10_000)
    // Answered, told that it is shutting down, or not let in any more; never broken off in the middle by a fault.
    for (const status of statuses) expect([200, 503, 0]).toContain(status)
  }, 60_000)

  const pidOfShop = (log: string) => Number([...log.matchAll(/"role":"shop","pid":(\d+)/g)].at(-1)?.[1] ?? Number.NaN)
  const isAlive = (pid: number) => {
    try {
      process.kill(pid, 0)
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2] !== 'Z'
    } catch {
      return false
    }
  }

  test('the supervisor brings a killed shop back on the same port, and stops it in order when told', async () => {
    const free = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const port = String(free.port)
    await free.stop(true)
    const up = startTurnpike(['up'], { ...settings(), TURNPIKE_PORT: port })
    const url = (await up.until(opened))[1] ?? ''
    const first = pidOfShop(up.err())
    process.kill(first, 'SIGKILL')
    await up.until(/"event":"died"/)
    expect(
      await untilTrue(() =>
        fetch(`${url}/healthz`).then(
          (answer) => answer.ok,
          () => false,
        ),
      ),
    ).toBe(true)
    const second = pidOfShop(up.err())
    expect(second).not.toBe(first)
    up.kill('SIGTERM')
    expect(await up.exited).toBe(0)
    expect(isAlive(second)).toBe(false)
  }, 60_000)

  test('when the supervisor is killed outright, the shop does not stay behind', async () => {
    const up = startTurnpike(['up'], settings())
    await up.until(opened)
    const shop = pidOfShop(up.err())
    const supervisor = Number(readFileSync(`/proc/${shop}/stat`, 'utf8').split(') ')[1]?.split(' ')[1])
    process.kill(supervisor, 'SIGKILL')
    expect(await untilTrue(() => !isAlive(shop))).toBe(true)
    expect(await up.exited).not.toBe(0)
  }, 60_000)
})
