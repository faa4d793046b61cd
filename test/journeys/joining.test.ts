import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../harness/gateway.ts'
import { isLong } from '../harness/scale.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { startService } from '../harness/service.ts'
import { openServiceManager } from '../harness/service-manager.ts'
import { endStarted, runTurnpike, startTurnpike, untilTrue } from '../harness/turnpike.ts'

const key = `tpj_${'k'.repeat(40)}`

describe('a gateway that cannot join its shop', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-joining-'))
  })
  afterAll(async () => {
    await endStarted()
    rmSync(folder, { recursive: true, force: true })
  })
  const settings = (env: Record<string, string>) => ({
    TURNPIKE_DATA: folder,
    TURNPIKE_GATEWAY_PORT: String(freePort()),
    ...env,
  })

  test('a gateway with a missing or malformed key or a remote http URL exits 2 and names the remedy', async () => {
    for (const [env, text] of [
      [
        { TURNPIKE_SHOP_URL: 'https://shop.example' },
        'turnpike: No join key. On the shop run "turnpike node key NAME"',
      ],
      [{ TURNPIKE_SHOP_URL: 'https://shop.example', TURNPIKE_NODE_KEY: 'tpj_half' }, 'is not a join key'],
      [{ TURNPIKE_SHOP_URL: 'http://shop.example' }, 'in the clear: use https'],
    ] as const) {
      const ended = await runTurnpike(['gateway'], settings(env))
      expect([ended.exit, ended.out]).toEqual([2, ''])
      expect(ended.err).toContain(text)
    }
  })

  test('a gateway logs that the shop’s certificate is not trusted, and systemctl start does not wait for it', async () => {
    const shop = Bun.serve({ port: 0, hostname: '127.0.0.1', tls: selfSigned, fetch: () => new Response() })
    const notify = `@turnpike-joining-${shop.port}`
    const systemd = openServiceManager(notify)
    const env = { TURNPIKE_SHOP_URL: `https://localhost:${shop.port}`, TURNPIKE_NODE_KEY: key, NOTIFY_SOCKET: notify }
    const gateway = startTurnpike(['gateway'], settings(env))
    await gateway.until(/"event":"not joined yet".*the certificate of the shop is not trusted/)
    const notices: string[] = []
    expect(await untilTrue(() => notices.push(...systemd.receiveAll()) > 0 && notices.includes('READY=1'))).toBeTrue()
    expect(notices[0]).toStartWith('STATUS=Not serving yet: not joined yet. ')
    expect(notices[0]).toContain('the certificate of the shop is not trusted')
    expect([gateway.err(), ...notices].join()).not.toContain(key)
    gateway.kill('SIGTERM')
    expect(await gateway.exited).toBe(0)
    systemd.close()
    await shop.stop(true)
  })

  // The log line comes after 20 s without a key; `identity.test.ts` checks it with a manual clock in every run.
  if (isLong)
    test('a gateway without a join key logs the path of the key file it waits for', async () => {
      const gateway = startTurnpike(['gateway'], settings({}))
      await gateway.until(/"event":"no join key".*gateway\.key/)
    })
})

test('a gateway logs that its clock differs from the shop’s, and later that the shop does not answer', async () => {
  const service = await startService('sqlite')
  const { db, fleet } = service.services
  await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name: 'gw', location: 'test' }))
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-joining-'))
  const gateway = startTurnpike(['gateway'], {
    TURNPIKE_DATA: folder,
    TURNPIKE_SHOP_URL: service.url,
    TURNPIKE_NODE_KEY: (await fleet.issueKey('gw')).text,
    TURNPIKE_GATEWAY_PORT: String(freePort()),
  })
  await gateway.until(/"event":"clock differs from the shop","ahead_ms":-?\d{5,}/)
  await gateway.until(/"event":"gateway open"/)
  await service.stop()
  await gateway.until(/"event":"state not read".*"away_ms"/)
  await endStarted()
  rmSync(folder, { recursive: true, force: true })
})
