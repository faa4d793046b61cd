import { describe, expect, test } from 'bun:test'
import type { CustomerId, SubuserId } from '../../src/core/ids.ts'
import { enginesOf } from '../harness/database.ts'
import { freePort, openShopWithGateway } from '../harness/gateway.ts'
import { makeGatewayProcess } from '../harness/gateway-process.ts'
import { attempt, openTunnel, startEcho } from '../harness/tunnel.ts'
import { runCommand, testDatabaseEnv, untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

describe.each([...enginesOf('sqlite')])('a login used at two gateways on %s', (engine) => {
  test('a login uses the exits of both gateways, is billed once, and keeps working when one gateway dies', async () => {
    const shop = await openShopWithGateway(engine)
    const other = await makeGatewayProcess(shop, freePort())
    const echo = startEcho()
    const env = testDatabaseEnv(shop.testDatabase)
    const run = async (...args: string[]) => {
      const ended = await runCommand([...args, '--json'], env)
      expect(ended).toMatchObject({ exit: 0 })
      return JSON.parse(ended.out)
    }
    const add = (address: string, node: string, city: string) =>
      run('exit', 'add', 'mobile', '--local', address, '--node', node, '--country', 'NL', '--city', city)
    try {
      await other.start()
      await add('127.231.0.1', `gateway-${shop.port}`, 'Near')
      const far = await add('127.231.0.2', other.name, 'Far')
      const { login, password } = await shop.buyTraffic(1, 'mobile')
      const as = (parts: string) => ({ username: `${login}-pool-mobile${parts}`, password })
      const spots = [shop.port, other.port].map((port) => ({ host: '127.0.0.1', port }))
      const codeOf = async (at: { host: string; port: number }, parts: string) =>
        (await attempt('http', at, as(parts), echo.spot)).status

      for (const at of spots) {
        for (const [city, from] of [
          ['near', '127.231.0.1'],
          ['far', '127.231.0.2'],
        ] as const) {
          expect(await untilTrue(async () => (await codeOf(at, `-city-${city}`)) === 200)).toBeTrue()
          const tunnel = await openTunnel('socks', at, as(`-city-${city}`), echo.spot)
          expect(await tunnel.echo('x'.repeat(20_000))).toHaveLength(20_000)
          expect(echo.sources.at(-1)).toBe(from)
          tunnel.close()
        }
      }
      const used = async () => {
        const sql = `SELECT customer_id, id FROM subusers WHERE login = $1`
        const row = await shop.services.db.first<{ customer_id: CustomerId; id: SubuserId }>(sql, [login])
        if (!row) throw new Error('there is no sub-user')
        const { pools } = await shop.services.premium.traffic.balance(row.customer_id, row.id, 'mobile')
        return Number(pools[0]?.used ?? 0n)
      }
      expect(await untilTrue(async () => (await used()) === 4 * 40_000)).toBeTrue()
      const relayed = async () =>
        (await run('node', 'list')).items.map((node: { relayed_bytes: number | null }) => node.relayed_bytes ?? 0)
      expect(
        await untilTrue(async () => (await relayed()).filter((bytes: number) => bytes === 40_000).length === 2),
      ).toBeTrue()

      await other.kill()
      const [here] = spots
      if (!here) throw new Error('there is no gateway')
      expect(
        await untilTrue(async () => (await attempt('http', here, as('-city-far'), echo.spot)).code === 'no_exit'),
      ).toBeTrue()
      for (let turn = 0; turn < 10; turn += 1) expect(await codeOf(here, '-country-nl')).toBe(200)
      const shown = async () =>
        (await run('exit', 'list', '--pool', 'mobile')).items.find(
          (each: { exit_id: string }) => each.exit_id === far.exit_id,
        )
      const isReported = async () =>
        (await shown()).said.some((report: { reason: string }) => report.reason === 'it refuses connections')
      expect(await untilTrue(isReported)).toBeTrue()

      await other.start()
      expect(await untilTrue(async () => (await codeOf(here, '-city-far')) === 200)).toBeTrue()
      await run('node', 'revoke', other.name)
      expect(await untilTrue(async () => (await codeOf(here, '-city-far')) === 502)).toBeTrue()
      expect(await findingsOf(shop.services)).toEqual([])
    } finally {
      await other.kill()
      other.remove()
      echo.stop()
      await shop.stop()
    }
  })
})
