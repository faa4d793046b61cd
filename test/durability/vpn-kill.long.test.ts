import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Engine, enginesOf, makePreparedTestDatabase, type TestDatabase } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { runCommand } from '../harness/turnpike.ts'

const program = join(import.meta.dir, '../../src/app/turnpike.ts')
const token = 'sandbox-token-for-killing'
const kills = isLong ? 20 : 1

const settingsFor = (engine: Engine, testDatabase: TestDatabase) => ({
  TURNPIKE_DATA: testDatabase.folder,
  TURNPIKE_PORT: '0',
  TURNPIKE_SANDBOX_TOKEN: token,
  TURNPIKE_RATE_READS: '0',
  TURNPIKE_RATE_CHARGES: '0',
  TURNPIKE_LOG: 'error',
  ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: testDatabase.address }),
})

async function openShop(engine: Engine, testDatabase: TestDatabase) {
  const child = Bun.spawn([process.execPath, program, 'shop'], {
    env: { PATH: process.env['PATH'] ?? '', ...settingsFor(engine, testDatabase) },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const reader = child.stdout.getReader()
  let printed = ''
  while (!/open at (\S+)\n/.test(printed)) {
    const { value, done } = await reader.read()
    if (done) throw new Error('the shop ended before it opened')
    printed += new TextDecoder().decode(value)
  }
  return { child, url: /open at (\S+)\n/.exec(printed)?.[1] ?? '' }
}

/** Sends a charge; undefined if the shop died before it answered. */
async function post(url: string, path: string, body: unknown, key: string) {
  try {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: JSON.stringify(body),
    })
    return { status: response.status, text: await response.text() }
  } catch {
    return undefined
  }
}

describe.each([...enginesOf('sqlite')])('a shop killed while it sells VPN, on %s', (engine) => {
  test('a shop killed by SIGKILL has sold and charged or neither, and a retry with the same key completes it', async () => {
    const testDatabase = await makePreparedTestDatabase(engine, 'stocked')
    try {
      const answered = new Map<string, string>()
      const requests = new Map<string, { path: string; body: unknown }>()
      let uuid: string | undefined
      for (let round = 0; round < kills; round += 1) {
        const { child, url } = await openShop(engine, testDatabase)
        if (uuid === undefined) {
          const first = await post(url, '/vpn/buy', { period: 12 }, 'first')
          uuid = (JSON.parse(first?.text ?? '{}') as { data: { uuid: string } }).data.uuid
        }
        // Requests from before the kill are repeated: each has one effect and one answer.
        for (const [key, { path, body }] of requests) {
          const again = await post(url, path, body, key)
          expect(again?.status).toBe(200)
          if (answered.has(key)) expect(again?.text).toBe(answered.get(key))
          answered.set(key, again?.text ?? '')
        }
        requests.clear()
        // Other loops have requests running when the shop has answered so many.
        let awaited = isLong ? 1 + Math.floor(Math.random() * 12) : 3
        const sell = async (lane: number) => {
          for (let count = 0; awaited > 0 && count < 12; count += 1) {
            const key = `${round}-${lane}-${count}`
            const request =
              lane % 2 === 0
                ? { path: '/vpn/buy', body: { period: 1 } }
                : { path: '/vpn/renew', body: { uuid, period: 1 } }
            if (lane % 2 === 0 && round * 12 + count >= 20) return
            if (lane % 2 === 1 && round * 12 + count >= 50) return
            requests.set(key, request)
            const answer = await post(url, request.path, request.body, key)
            if (answer?.status === 200) answered.set(key, answer.text)
            else if (answer) requests.delete(key)
            awaited -= 1
            if (awaited === 0) child.kill('SIGKILL')
          }
        }
        await Promise.all([0, 1, 2, 3].map(sell))
        child.kill('SIGKILL')
        await child.exited
      }
      const { child, url } = await openShop(engine, testDatabase)
      for (const [key, { path, body }] of requests) {
        const again = await post(url, path, body, key)
        if (answered.has(key)) expect(again?.text).toBe(answered.get(key))
        if (again?.status === 200) answered.set(key, again.text)
      }
      const get = async (path: string) => {
        const response = await fetch(`${url}/api/v1${path}`, { headers: { Authorization: `Bearer ${token}` } })
        return (await response.json()) as { data: { orders: unknown[]; items: unknown[] } }
      }
      expect((await get('/orders?limit=500')).data.orders).toHaveLength(answered.size + 1)
      const bought = [...answered.values()].filter(
        (text) => text.includes('"period":1,') && !text.includes(`"uuid":"${uuid}"`),
      )
      expect((await get('/vpn/info')).data.items).toHaveLength(bought.length + 1)
      child.kill('SIGKILL')
      await child.exited
      const { out } = await runCommand(['verify', '--json'], settingsFor(engine, testDatabase))
      expect(JSON.parse(out)).toMatchObject({ ok: true, found: 0 })
    } finally {
      await testDatabase.remove()
    }
  })
})
