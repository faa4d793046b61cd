import { describe, expect, test } from 'bun:test'
import { createCaller } from '../harness/caller.ts'
import { enginesOf, makePreparedTestDatabase } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { HandProcess } from '../harness/hand-process.ts'
import { joinNode } from '../harness/node.ts'
import { isLong } from '../harness/scale.ts'
import { startService } from '../harness/service.ts'
import { endStarted, runCommand, startTurnpike, untilTrue } from '../harness/turnpike.ts'
import { until } from '../harness/until.ts'

const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }

describe.each([...enginesOf('sqlite')])('a stalled shop on %s', (engine) => {
  test('a shop stalled for 60 s sells when it resumes, and answers 503 after 10 s without a node report', async () => {
    const shop = new HandProcess()
    const service = await startService(engine, {}, shop.runtime, false)
    try {
      const node = await joinNode(service)
      const report = () => node.report({})
      await report()
      await node.catchUp()
      // An IPv6 block is tried as one address; two addresses are enough of the others.
      const ranges = [...node.held.ranges.values()].map(({ id, prefix }) => ({
        id,
        served: [[0, prefix.includes(':') ? 1 : 2]],
        problems: [],
        seen_as: null,
      }))
      expect((await node.ask('POST', 'tried', { ranges })).status).toBe(200)
      const buy = () => service.post('/dedicated/buy', order)
      shop.run(2000)
      shop.stall(60_000)
      expect((await buy()).status).toBe(200)
      shop.run(10_000)
      const refused = await buy()
      expect([refused.status, refused.error?.code]).toEqual([503, 'unavailable'])
      await report()
      shop.run(1000)
      expect((await buy()).status).toBe(200)
    } finally {
      await service.stop()
    }
  })
})

/** Longer than the 10 s after which a silent gateway’s addresses are not sold. */
const stoppedMs = 13_000

if (isLong) {
  test('a shop process stopped for 13 s sells as soon as it runs, because its gateway kept reporting', async () => {
    const testDatabase = await makePreparedTestDatabase('sqlite', 'stocked')
    try {
      const [port, gatewayPort] = [freePort(), freePort()]
      const token = 'sandbox-token-of-a-stopped-shop'
      const env = { TURNPIKE_DATA: testDatabase.folder, TURNPIKE_GATEWAY_PORT: String(gatewayPort) }
      const shop = startTurnpike(['shop'], { ...env, TURNPIKE_PORT: String(port), TURNPIKE_SANDBOX_TOKEN: token })
      await shop.until(/open at/)
      const added = await runCommand(['node', 'add', 'gw', '--location', 'test', '--json'], env)
      const gateway = startTurnpike(['gateway'], {
        TURNPIKE_DATA: `${testDatabase.folder}/gateway`,
        TURNPIKE_SHOP_URL: `http://127.0.0.1:${port}`,
        TURNPIKE_NODE_KEY: JSON.parse(added.out).key,
        TURNPIKE_GATEWAY_PORT: String(gatewayPort),
      })
      await gateway.until(/gateway open/)
      const caller = await createCaller(`http://127.0.0.1:${port}`, token)
      const buy = () => caller.post('/dedicated/buy', order)
      expect(await untilTrue(async () => (await buy()).status === 200)).toBeTrue()
      const seenAt = async () =>
        JSON.parse((await runCommand(['node', 'list', '--json'], env)).out).items[0].last_seen_at as string
      const before = await seenAt()
      expect(await untilTrue(async () => (await seenAt()) !== before)).toBeTrue()
      shop.kill('SIGSTOP')
      const stoppedAt = performance.now()
      await until(() => performance.now() - stoppedAt > stoppedMs)
      // One request waits in the socket buffer when the process resumes, and one is sent right after.
      const early = buy()
      shop.kill('SIGCONT')
      expect([(await early).status, (await buy()).status]).toEqual([200, 200])
    } finally {
      await endStarted()
      await testDatabase.remove()
    }
  })
}
