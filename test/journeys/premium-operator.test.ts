import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Service, startService } from '../harness/service.ts'
import { runCommand } from '../harness/turnpike.ts'

describe('the operator of premium proxies', () => {
  let service: Service
  beforeAll(async () => {
    service = await startService('sqlite')
  })
  afterAll(() => service.stop())

  /** Runs the operator's tool beside the shop, on the same data folder. */
  async function turnpike(...words: string[]) {
    const { exit, out, err } = await runCommand([...words, '--json'], { TURNPIKE_DATA: service.place.folder })
    return { exit, json: JSON.parse(out), text: out + err }
  }

  test('an added exit is offered after 1 s of the shop’s clock, a drained one is not, and its password is never shown', async () => {
    const secret = join(service.place.folder, 'upstream')
    await Bun.write(secret, 'upstream-password\n')
    const way = ['--upstream', 'socks5://proxy.example:1080', '--username', 'shop', '--password-file', secret]
    const added = await turnpike('exit', 'add', 'mobile', ...way, '--country', 'jp', '--city', 'Tōkyō', '--asn', '2516')
    expect(added.exit).toBe(0)
    service.clock.advance(1001)
    const cities = await service.post('/premium/locations/cities', { pool_type: 'mobile', country_code: 'JP' })
    expect(cities.data.cities).toEqual([{ country_code: 'JP', city: 'tokyo', name: 'Tōkyō', exits: 1 }])
    const listed = await turnpike('exit', 'list', '--pool', 'mobile')
    expect(listed.json.items.find((each: { exit_id: string }) => each.exit_id === added.json.exit_id)).toMatchObject({
      country: 'JP',
    })
    expect(added.text + listed.text).not.toContain('upstream-password')
    expect((await turnpike('exit', 'drain', added.json.exit_id)).exit).toBe(0)
    service.clock.advance(1001)
    const gone = await service.post('/premium/locations/cities', { pool_type: 'mobile', country_code: 'JP' })
    expect(gone.status).toBe(400)
    // No gateway has joined this shop, so none of them serves.
    expect((await turnpike('pool', 'list')).json.items).toContainEqual(
      expect.objectContaining({ pool: 'mobile', exits: 49, serving: 0 }),
    )
  })

  test.each([
    ['no way out', ['exit', 'add', 'mobile', '--country', 'DE']],
    ['two ways out', ['exit', 'add', 'mobile', '--country', 'DE', '--local', '127.0.0.1', '--upstream', 'http://a:1']],
    ['no country', ['exit', 'add', 'mobile', '--local', '127.0.0.1']],
    ['a way that is not an address', ['exit', 'add', 'mobile', '--country', 'DE', '--local', 'localhost']],
    ['credentials in the address', ['exit', 'add', 'mobile', '--country', 'DE', '--upstream', 'http://u:p@a:1']],
    ['a port that wraps', ['exit', 'add', 'mobile', '--country', 'DE', '--upstream', 'http://a:65616']],
    [
      'a city that no login can name',
      ['exit', 'add', 'mobile', '--country', 'DE', '--local', '127.0.0.1', '--city', '東京'],
    ],
    ['a number that is no network', ['exit', 'add', 'mobile', '--country', 'DE', '--local', '127.0.0.1', '--asn', '0']],
  ])('an exit with %s is refused as mistyped', async (_, words) => {
    expect((await turnpike(...words)).exit).toBe(2)
  })

  test('a pool that the catalogue does not know gets no exits', async () => {
    const answer = await turnpike('exit', 'add', 'space', '--local', '127.0.0.1', '--country', 'DE')
    expect(answer.exit).toBe(1)
    expect(answer.json.error.details[0].field).toBe('pool_type')
  })

  test('unused traffic is refunded once, bytes and money together, and verify agrees', async () => {
    const { data } = await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 2 })
    const refund = await turnpike('traffic', 'refund', data.order_id)
    expect(refund.json).toMatchObject({ returned_gb: 2, refunded_rub: 640, balance_rub: 100_000 })
    expect((await turnpike('traffic', 'refund', data.order_id)).exit).toBe(1)
    expect((await service.get('/premium/traffic/balance?pool_type=residential')).data.traffic_gb).toBe(0)
    expect((await turnpike('verify')).json).toMatchObject({ ok: true })
  })

  test('a claim in quarantine is listed, and verify tells of it without calling the books wrong', async () => {
    const { data } = await service.get('/premium/password')
    const subuser = data.subuser.subuser_id
    const counts = [{ subuser, pool: 'residential', received: 1234n, sent: 0n }]
    await service.services.premium.metering.takeReport({ node: 'rogue', boot: 'b', counts, wishes: [] })
    const listed = await turnpike('usage', 'quarantine')
    expect(listed.json.items).toEqual([expect.objectContaining({ node: 'rogue', bytes: 1234 })])
    const verified = await turnpike('verify')
    expect(verified.json).toMatchObject({ ok: true, covered: { 'subjects with claims in quarantine': 1 } })
  })
})
