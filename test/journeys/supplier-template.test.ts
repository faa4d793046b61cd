import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startConnectProxy } from '../harness/connect-proxy.ts'
import { openShopWithGateway, type ShopWithGateway } from '../harness/gateway.ts'
import { attempt, openTunnel, startEcho } from '../harness/tunnel.ts'
import { runCommand, runJson, testDatabaseEnv, untilTrue } from '../harness/turnpike.ts'

describe('an exit with a login template', () => {
  let shop: ShopWithGateway
  let supplier: ReturnType<typeof startConnectProxy>
  let echo: ReturnType<typeof startEcho>
  let login: string
  let password: string
  let exit: string
  const run = (...args: string[]) => runJson(args, testDatabaseEnv(shop.testDatabase))
  beforeAll(async () => {
    shop = await openShopWithGateway('sqlite')
    supplier = startConnectProxy()
    echo = startEcho()
    ;({ login, password } = await shop.buyTraffic(1, 'datacenter'))
    const file = join(shop.testDatabase.folder, 'supplier-password')
    writeFileSync(file, 'secret-of-the-supplier\n')
    const template = 'acct-country-{country}[-city-{city}][-session-{session}-ttl-{minutes}]'
    const upstream = ['--upstream', `http://127.0.0.1:${supplier.port}`, '--username', template]
    const added = await run('exit', 'add', 'datacenter', ...upstream, '--password-file', file, '--countries', 'any')
    expect(added).toMatchObject({ exit: 0 })
    exit = added.json.exit_id
    expect(await untilTrue(async () => (await reach('-country-jp')).status === 200)).toBeTrue()
  })
  afterAll(async () => {
    echo.stop()
    supplier.stop()
    await shop.stop()
  })
  const at = () => ({ host: '127.0.0.1', port: shop.port })
  const as = (parts: string) => ({ username: `${login}-pool-datacenter${parts}`, password })
  const reach = (parts: string) => attempt('http', at(), as(parts), echo.spot)
  const loginFor = async (parts: string) => {
    expect(await reach(parts)).toMatchObject({ status: 200 })
    return supplier.logins.at(-1) ?? ''
  }

  test('a templated exit sends the supplier the country and city of the customer’s login', async () => {
    expect(await loginFor('-country-jp')).toBe('acct-country-jp')
    expect(await loginFor('-country-jp-city-osaka')).toBe('acct-country-jp-city-osaka')
    expect((await reach('-country-jp-zip-12345')).code).toBe('no_exit')
  })

  test('a templated exit gives each session a stable supplier session without the customer’s name', async () => {
    const first = await loginFor('-country-kr-session-one-ttl-30')
    expect(first).toMatch(/^acct-country-kr-session-[0-9a-f]{20}-ttl-30$/)
    expect(await loginFor('-country-kr-session-one-ttl-30')).toBe(first)
    const others = [await loginFor('-country-kr-session-two'), await loginFor('-country-jp-session-one')]
    expect(new Set([first, ...others].map((each) => /session-(\w+)/.exec(each)?.[1])).size).toBe(3)
    expect(others[0]).toEndWith('-ttl-10')
  })

  test('a templated exit with --countries any serves every country in generate, and no zip code', async () => {
    const order = { pool_type: 'datacenter', countries: ['KZ'], type: 'sticky', quantity: 2, format_id: 2 }
    const listed = await shop.post('/premium/proxies/generate', order)
    expect(listed.status).toBe(200)
    expect((await shop.post('/premium/proxies/generate', { ...order, zipcodes: ['12345'] })).status).toBe(400)
  })

  test('exit compare compares the supplier’s bytes with the relayed bytes by day', async () => {
    const days = async () =>
      (await run('exit', 'compare', exit, '--from', today, '--to', today, '--supplied', '0')).json
    const today = new Date().toISOString().slice(0, 10)
    const before = (await days()).carried_bytes
    const tunnel = await openTunnel('http', at(), as('-country-jp'), echo.spot)
    await tunnel.echo('x'.repeat(40_000))
    tunnel.close()
    expect(await untilTrue(async () => (await days()).carried_bytes === before + 80_000)).toBeTrue()
    const file = join(shop.testDatabase.folder, 'bill.csv')
    writeFileSync(file, `day,bytes\n${today},${before + 90_000}\n2020-01-01,5\n`)
    const compared = await run('exit', 'compare', exit, '--from', today, '--to', today, '--supplied', file)
    expect(compared.json).toMatchObject({ supplied_bytes: before + 90_000, difference_bytes: 10_000 })
    writeFileSync(file, `${today},lots\nnonsense\n`)
    for (const bad of [file, 'lots', '-5']) {
      const args = ['exit', 'compare', exit, '--from', today, '--to', today, '--supplied', bad]
      expect((await runCommand(args, { TURNPIKE_DATA: shop.testDatabase.folder })).exit).toBe(2)
    }
  })

  test('exit add exits 2 for a malformed or contradictory template', async () => {
    const add = (...args: string[]) =>
      runCommand(['exit', 'add', 'datacenter', '--upstream', 'http://127.0.0.1:1', ...args], {
        TURNPIKE_DATA: shop.testDatabase.folder,
      })
    for (const args of [
      ['--username', 'a-{town}', '--countries', 'any'],
      ['--username', 'a-{city', '--countries', 'any'],
      ['--username', 'a-{city}'],
      ['--username', 'a-{city}', '--countries', 'XX'],
      ['--username', 'a-{city}', '--countries', 'any', '--country', 'DE'],
      ['--username', 'a-{city}', '--countries', 'any', '--node', 'gateway'],
      ['--username', 'plain', '--countries', 'any'],
    ]) {
      expect((await add(...args)).exit).toBe(2)
    }
  })
})
