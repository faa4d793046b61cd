import { describe, expect, test } from 'bun:test'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import { enginesOf } from '../harness/database.ts'
import { freePort, openShopWithGateway } from '../harness/gateway.ts'
import { makeGatewayProcess } from '../harness/gateway-process.ts'
import { attempt, openTunnel, startEcho } from '../harness/tunnel.ts'
import { runCommand, testDatabaseEnv, untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

describe.each([...enginesOf('sqlite')])('an entry and an exit over TLS on %s', (engine) => {
  test('customers enter at one gateway and leave from another, are billed once, and tunnels survive reloads of both', async () => {
    const shop = await openShopWithGateway(engine)
    const files = putCertificate(await makeCertificate('exit'))
    const tls = { ...files.env, TURNPIKE_GATEWAY_TLS_PORT: String(freePort()) }
    const entry = await makeGatewayProcess(shop, freePort())
    const exit = await makeGatewayProcess(shop, freePort(), tls)
    const echo = startEcho()
    const env = testDatabaseEnv(shop.testDatabase)
    const run = async (...args: string[]) => {
      const ended = await runCommand([...args, '--json'], env)
      expect(ended).toMatchObject({ exit: 0 })
      return JSON.parse(ended.out)
    }
    const pathOf = async () => (await run('node', 'show', exit.name)).node.paths[0]
    try {
      await Promise.all([entry.start(), exit.start()])
      const refused = await runCommand(['node', 'exit', exit.name, '--via', entry.name], env)
      expect(refused).toMatchObject({ exit: 1 })
      expect(refused.err).toContain(`"turnpike node entry ${entry.name}"`)
      await run('node', 'entry', entry.name)
      await run('node', 'exit', exit.name, '--via', entry.name)
      expect(await untilTrue(async () => (await pathOf())?.state === 'up')).toBeTrue()
      expect(await pathOf()).toMatchObject({ entry: entry.name, exit: exit.name, over: 'tls', reason: null })

      await shop.stopGateway()
      for (const { range } of (await run('stock', 'ranges')).items)
        await run('stock', 'assign', range, '--node', exit.name)
      expect(await untilTrue(async () => (await shop.buyProxies().catch(() => [])).length === 1)).toBeTrue()
      const [proxy] = (await shop.get('/dedicated/list')).data.proxies
      expect({ ip: proxy.ip, port: proxy.port }).toEqual({ ip: '127.0.0.1', port: entry.port })
      expect(proxy.https_port).toBeNull()
      const at = { host: '127.0.0.1', port: entry.port }
      const isOpen = async () => (await attempt('http', at, proxy, echo.spot)).status === 200
      expect(await untilTrue(isOpen)).toBeTrue()
      const relayed = async (): Promise<number> => (await run('node', 'show', exit.name)).node.relayed_bytes ?? 0
      const tunnel = await openTunnel('http', at, proxy, echo.spot)
      expect(await tunnel.echo('x'.repeat(30_000))).toHaveLength(30_000)
      expect(echo.sources.at(-1)).toBe(proxy.exit_ip)
      expect(await untilTrue(async () => (await relayed()) === 60_000)).toBeTrue()
      const counted = async (): Promise<number> => {
        const [shown] = (await shop.get('/dedicated/list')).data.proxies
        return shown.traffic.rx_bytes + shown.traffic.tx_bytes
      }
      expect(await untilTrue(async () => (await counted()) === 60_000)).toBeTrue()

      for (const each of [exit, entry]) {
        await each.takeOver()
        expect(await tunnel.echo('still')).toBe('still')
        expect(await untilTrue(isOpen)).toBeTrue()
      }
      const next = await openTunnel('http', at, proxy, echo.spot)
      expect([await next.echo('new'), await tunnel.echo('old')]).toEqual(['new', 'old'])
      for (const each of [next, tunnel]) each.close()

      const doctor = await runCommand(['doctor'], env)
      expect(doctor.out).toContain(`path ${entry.name} → ${exit.name}`)
      await exit.kill()
      expect(await untilTrue(async () => (await pathOf()).state === 'down')).toBeTrue()
      expect((await pathOf()).reason).toBe('it refuses connections')
      await run('node', 'exit', exit.name)
      await run('node', 'entry', entry.name, '--undo')
      expect((await run('node', 'show', exit.name)).node.paths).toEqual([])
      expect(await findingsOf(shop.services)).toEqual([])
    } finally {
      await Promise.all([entry.kill(), exit.kill()])
      entry.remove()
      exit.remove()
      echo.stop()
      files.remove()
      await shop.stop()
    }
  })
})
