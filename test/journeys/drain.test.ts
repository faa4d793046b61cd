import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareFolder } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { endStarted, startTurnpike, untilTrue } from '../harness/turnpike.ts'

afterAll(endStarted)

test('a shop with a drain time of 2 s answers /readyz 503 after SIGTERM, still serves requests and exits 0', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-drain-'))
  const port = freePort()
  const token = 'sandbox-token-of-a-test'
  const shop = startTurnpike(['shop'], {
    TURNPIKE_DATA: prepareFolder(folder, 'stocked'),
    TURNPIKE_PORT: String(port),
    TURNPIKE_METRICS_LISTEN: '',
    TURNPIKE_SANDBOX_TOKEN: token,
    TURNPIKE_DRAIN_SECONDS: '2',
  })
  await shop.until(/Turnpike is open at/)
  const statusOf = async (path: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status
  }
  expect(await statusOf('/readyz')).toBe(200)
  shop.kill('SIGTERM')
  expect(await untilTrue(async () => (await statusOf('/readyz')) === 503)).toBeTrue()
  expect(await statusOf('/api/v1/balance')).toBe(200)
  expect(await shop.exited).toBe(0)
  rmSync(folder, { recursive: true, force: true })
})
