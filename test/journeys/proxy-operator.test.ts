import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readPrefix } from '../../src/core/address.ts'
import { openDatabase } from '../../src/db/open.ts'
import shipped from '../../src/domains/pricing/catalogue.yaml'
import { enginesOf, makePreparedTestDatabase, type TestDatabase } from '../harness/database.ts'
import { applyCatalogue, buyProxies } from '../harness/proxies.ts'
import { runCommand, runJson, testDatabaseEnv } from '../harness/turnpike.ts'
import { addCustomer, wire } from '../harness/wired.ts'

describe.each([...enginesOf('postgres')])('proxy, stock and refund commands on %s', (engine) => {
  let testDatabase: TestDatabase
  let env: Record<string, string>
  beforeAll(async () => {
    testDatabase = await makePreparedTestDatabase(engine, 'migrated')
    // The key that the test services encrypt with.
    env = { ...testDatabaseEnv(testDatabase), TURNPIKE_SECRET_KEY: '0'.repeat(64) }
    await runCommand(['migrate'], env)
  })
  afterAll(() => testDatabase.remove())
  const run = (...args: string[]) => runJson(args, env)

  test('commands show, interrupt, end and refund a proxy, write an event each, and refuse wrong usage', async () => {
    const db = openDatabase(testDatabase.address)
    const services = wire(db)
    await applyCatalogue(services, shipped)
    const block = readPrefix('10.9.0.0/30')
    if (block) await services.stock.add(block, { country: 'DE' as never, ipv: 4 })
    const customer = await addCustomer(services, 10n ** 7n)
    const bought = await buyProxies(services, customer, { code: 'DE', ipv: 4, count: 2 })
    await db.close()
    const [first, second] = bought.proxies.map((proxy) => String(proxy.id)) as [string, string]
    const shown = await run('proxy', 'show', first)
    expect(shown.json).toMatchObject({
      customer_id: customer,
      status: 'active',
      order_id: bought.receipt.order,
      addresses: [{}],
    })
    expect(JSON.stringify(shown.json)).not.toContain('password')
    expect((await runCommand(['proxy', 'show', first], env)).out).toContain('ipv 4 10.9.0.')
    expect((await runCommand(['proxy', 'show', first], env)).out).toContain(`on ${shown.json.node ?? 'no gateway'}, `)
    expect((await run('stock', 'quarantine', '10.9.0.0/30', '--dry-run')).json).toMatchObject({ customers: 1 })
    expect((await run('proxy', 'interrupted')).json.items).toEqual([])
    expect((await run('stock', 'quarantine', '10.9.0.0/30')).json).toMatchObject({ interrupted: 2 })
    expect((await run('proxy', 'interrupted')).json.items).toMatchObject([
      { reason: 'quarantine' },
      { reason: 'quarantine' },
    ])
    const ended = await run('proxy', 'end', first, '--no-refund', '--note', 'abuse', '--key', 'one')
    expect(ended.json).toMatchObject({ customer, amount_rub: 0 })
    const again = await runCommand(['proxy', 'end', first, '--no-refund', '--note', 'abuse', '--key', 'one'], env)
    expect(again.out).toStartWith('Already done with this key, nothing changed now: ')
    const refunded = await run('refund', bought.receipt.order, '--end', '--key', 'two')
    expect(refunded.json.proxies).toEqual([Number(second)])
    expect((await run('proxy', 'end', 'x')).exit).not.toBe(0)
    expect((await run('refund', bought.receipt.order, '--whole')).exit).not.toBe(0)
    const events = (await run('event', 'list', customer)).json.items.map((each: { type: string }) => each.type)
    expect(events).toEqual([
      'order.created',
      'proxy.interrupted',
      'proxy.interrupted',
      'proxy.ended',
      'order.refunded',
      'proxy.ended',
    ])
    expect((await run('verify')).json).toMatchObject({ ok: true })
  })
})
