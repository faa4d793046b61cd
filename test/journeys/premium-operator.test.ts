import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Service, startService } from '../harness/service.ts'
import { runJson, testDatabaseEnv } from '../harness/turnpike.ts'

describe('exit, pool, traffic and usage commands', () => {
  let service: Service
  beforeAll(async () => {
    service = await startService('sqlite')
  })
  afterAll(() => service.stop())

  const run = (...args: string[]) => runJson(args, testDatabaseEnv(service.testDatabase))

  test('exit add offers an exit within 1 s, exit drain removes it, and its password is never shown', async () => {
    const secret = join(service.testDatabase.folder, 'upstream')
    await Bun.write(secret, 'upstream-password\n')
    const upstream = ['--upstream', 'socks5://proxy.example:1080', '--username', 'shop', '--password-file', secret]
    const added = await run('exit', 'add', 'mobile', ...upstream, '--country', 'jp', '--city', 'Tōkyō', '--asn', '2516')
    expect(added.exit).toBe(0)
    service.clock.advance(1001)
    const cities = await service.post('/premium/locations/cities', { pool_type: 'mobile', country_code: 'JP' })
    expect(cities.data.cities).toEqual([{ country_code: 'JP', city: 'tokyo', name: 'Tōkyō', exits: 1 }])
    const listed = await run('exit', 'list', '--pool', 'mobile')
    expect(listed.json.items.find((each: { exit_id: string }) => each.exit_id === added.json.exit_id)).toMatchObject({
      country: 'JP',
    })
    expect(added.out + added.err + listed.out + listed.err).not.toContain('upstream-password')
    expect((await run('exit', 'drain', added.json.exit_id)).exit).toBe(0)
    service.clock.advance(1001)
    const gone = await service.post('/premium/locations/cities', { pool_type: 'mobile', country_code: 'JP' })
    expect(gone.status).toBe(400)
    // No gateway has joined this shop, so no exit serves.
    expect((await run('pool', 'list')).json.items).toContainEqual(
      expect.objectContaining({ pool: 'mobile', exits: 49, serving: 0 }),
    )
  })

  test('exit assign gives an exit to a gateway or to every gateway, and refuses any other name', async () => {
    const added = await run('exit', 'add', 'mobile', '--upstream', 'http://proxy.example:8080', '--country', 'FI')
    const id = added.json.exit_id
    await run('node', 'add', 'gate-fi')
    await run('node', 'add', 'vpn-fi', '--kind', 'vpn')
    expect((await run('exit', 'assign', id, '--node', 'gate-fi')).json).toEqual({ exit_id: id, node: 'gate-fi' })
    const nodeOf = async () =>
      (await run('exit', 'list', '--limit', '10000')).json.items.find(
        (each: { exit_id: string }) => each.exit_id === id,
      ).node
    expect(await nodeOf()).toBe('gate-fi')
    for (const wrong of [['--node', 'vpn-fi'], ['--node', 'nowhere'], [], ['--any', '--node', 'gate-fi']])
      expect((await run('exit', 'assign', id, ...wrong)).exit).toBe(2)
    expect(await nodeOf()).toBe('gate-fi')
    expect((await run('exit', 'assign', id, '--any')).json).toEqual({ exit_id: id, node: null })
    expect(await nodeOf()).toBeNull()
    expect((await run('audit', 'list', '--action', 'assignExit')).json.items).toHaveLength(2)
    expect((await run('exit', 'remove', id)).json.error.code).toBe('conflict')
    await run('exit', 'drain', id)
    expect((await run('exit', 'remove', id)).json).toEqual({ exit_id: id, removed: true })
    expect((await run('exit', 'drain', id, '--undo')).json.error.code).toBe('not_found')
    expect((await run('exit', 'list', '--limit', '10000')).out).not.toContain(id)
    await run('node', 'close', 'gate-fi')
    expect((await run('node', 'remove', 'gate-fi')).json).toMatchObject({ name: 'gate-fi', removed: true })
    expect((await run('node', 'list')).out).not.toContain('gate-fi')
    expect((await run('node', 'add', 'gate-fi')).exit).toBe(0)
    expect((await run('verify')).json).toMatchObject({ ok: true })
  })

  test.each([
    ['neither --local nor --upstream', ['exit', 'add', 'mobile', '--country', 'DE']],
    [
      'both --local and --upstream',
      ['exit', 'add', 'mobile', '--country', 'DE', '--local', '127.0.0.1', '--upstream', 'http://a:1'],
    ],
    ['no country', ['exit', 'add', 'mobile', '--local', '127.0.0.1']],
    ['a name for --local', ['exit', 'add', 'mobile', '--country', 'DE', '--local', 'localhost']],
    ['credentials in --upstream', ['exit', 'add', 'mobile', '--country', 'DE', '--upstream', 'http://u:p@a:1']],
    ['port 65616', ['exit', 'add', 'mobile', '--country', 'DE', '--upstream', 'http://a:65616']],
    ['a city that has no slug', ['exit', 'add', 'mobile', '--country', 'DE', '--local', '127.0.0.1', '--city', '東京']],
    ['AS number 0', ['exit', 'add', 'mobile', '--country', 'DE', '--local', '127.0.0.1', '--asn', '0']],
  ])('exit add exits 2 for %s', async (_, args) => {
    expect((await run(...args)).exit).toBe(2)
  })

  test('exit add refuses a pool that is not in the price list', async () => {
    const answer = await run('exit', 'add', 'space', '--local', '127.0.0.1', '--country', 'DE')
    expect(answer.exit).toBe(1)
    expect(answer.json.error.details[0].field).toBe('pool_type')
  })

  test('traffic refund returns unused bytes and their price once, and verify finds nothing', async () => {
    const { data } = await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 2 })
    const refund = await run('traffic', 'refund', data.order_id)
    expect(refund.json).toMatchObject({ returned_gb: 2, refunded_rub: 640, balance_rub: 100_000 })
    expect((await run('traffic', 'refund', data.order_id)).exit).toBe(1)
    expect((await service.get('/premium/traffic/balance?pool_type=residential')).data.traffic_gb).toBe(0)
    expect((await run('verify')).json).toMatchObject({ ok: true })
  })

  test('usage quarantine lists a node’s claim, and verify counts it without a finding', async () => {
    const { data } = await service.get('/premium/password')
    const subuser = data.subuser.subuser_id
    const counts = [{ subuser, pool: 'residential', received: 1234n, sent: 0n }]
    await service.services.premium.metering.takeReport({ node: 'rogue', boot: 'b', counts, leaseRequests: [] })
    const listed = await run('usage', 'quarantine')
    expect(listed.json.items).toEqual([expect.objectContaining({ node: 'rogue', bytes: 1234 })])
    const verified = await run('verify')
    expect(verified.json).toMatchObject({ ok: true, covered: { 'subjects with claims in quarantine': 1 } })
  })
})
