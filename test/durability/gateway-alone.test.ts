import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createCaller } from '../harness/caller.ts'
import { makePreparedTestDatabase } from '../harness/database.ts'
import { freePort, startOrigin } from '../harness/gateway.ts'
import { isLong } from '../harness/scale.ts'
import { endStarted, startTurnpike, untilTrue } from '../harness/turnpike.ts'

describe('a gateway whose shop is down', () => {
  afterAll(endStarted)

  test('a gateway restarted after SIGKILL serves its saved proxies while the shop is down, not a wrong password', async () => {
    const testDatabase = await makePreparedTestDatabase('sqlite', 'stocked')
    const port = String(freePort())
    const env = {
      TURNPIKE_DATA: testDatabase.folder,
      TURNPIKE_PORT: String(freePort()),
      TURNPIKE_GATEWAY_PORT: port,
      TURNPIKE_SANDBOX_TOKEN: 'sandbox-token-of-this-test',
    }
    const shop = startTurnpike(['shop', '--local-nodes=gateway'], env)
    const url = (await shop.until(/open at (http:\/\/\S+)/))[1] ?? ''
    const first = startTurnpike(['gateway'], env)
    await first.until(/gateway open/)
    const customer = await createCaller(url, env.TURNPIKE_SANDBOX_TOKEN)
    const bought = await customer.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 })
    const { username, password, exit_ip: from } = bought.data.proxies[0]
    const saved = join(testDatabase.folder, 'gateway', 'state.log')
    const origin = startOrigin()
    const through = (secret: string) =>
      fetch(origin.url, { proxy: `http://${username}:${secret}@127.0.0.1:${port}` }).then(
        (answer) => answer.status,
        () => 0,
      )
    expect(await untilTrue(async () => (await through(password)) === 200)).toBe(true)
    // The gateway may serve the proxy by the shop's answer to a question, before the page with the proxy is saved.
    expect(
      await untilTrue(() =>
        Bun.file(saved)
          .text()
          .then((text) => text.includes(username)),
      ),
    ).toBe(true)

    shop.kill('SIGTERM')
    await shop.exited
    first.kill('SIGKILL')
    await first.exited
    // It is ready for systemd at once, and open for `turnpike up` only after it has waited for the shop.
    const worker = join(import.meta.dir, '../harness/open-gateway-worker.ts')
    const opener = Bun.spawn([process.execPath, '--no-env-file', worker], { env, stdout: 'pipe', stderr: 'inherit' })
    const { isReady, events } = JSON.parse(await opener.stdout.text()) as { isReady: boolean; events: string[] }
    expect([isReady, events.includes('gateway open')]).toEqual([true, false])
    const second = startTurnpike(['gateway'], env)
    await second.until(/gateway open/)
    expect(await through(password)).toBe(200)
    expect(origin.seen.at(-1)?.from).toBe(from)
    expect(await through('wrong')).not.toBe(200)
    // A stop waits 5 s for a shop that is down; only a long run stops it in order.
    second.kill(isLong ? 'SIGTERM' : 'SIGKILL')
    expect(await second.exited).toBe(isLong ? 0 : 137)
    await origin.stop()
    await testDatabase.remove()
  })
})
