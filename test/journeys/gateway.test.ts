import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../harness/database.ts'
import { openRoad, type Road, startOrigin } from '../harness/gateway.ts'

/** What curl says: status, body and the headers of the last answer. */
async function curl(...args: string[]): Promise<{ status: string; body: string; exit: number }> {
  const child = Bun.spawn(['curl', '-sS', '--max-time', '10', '-w', '\n%{http_code}', ...args], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const text = await child.stdout.text()
  const at = text.lastIndexOf('\n')
  return { status: text.slice(at + 1), body: text.slice(0, at), exit: await child.exited }
}

describe.each(engines)('a proxy bought on %s', (engine) => {
  let road: Road
  let origin: ReturnType<typeof startOrigin>
  beforeAll(async () => {
    road = await openRoad(engine)
    origin = startOrigin()
  })
  afterAll(async () => {
    await origin.stop()
    await road.stop()
  })

  test('carries curl the moment its purchase is answered, and leaves from the leased address', async () => {
    const [proxy] = await road.buyProxies()
    const at = `http://${proxy?.username}:${proxy?.password}@${proxy?.ip}:${proxy?.port}`
    expect(await curl('-x', at, origin.url)).toMatchObject({ status: '200', exit: 0 })
    expect(await curl('-p', '-x', at, origin.url)).toMatchObject({ status: '200', exit: 0 })
    for (const seen of origin.seen) expect(seen.from).toBe(proxy?.exit_ip ?? '')
  })

  test('premium traffic is counted and paid for', async () => {
    const { login, password } = await road.buyTraffic(1)
    const at = `http://${login}-pool-residential-country-us:${password}@127.0.0.1:${road.port}`
    expect(await curl('-x', at, `${origin.url}/?bytes=3000000`)).toMatchObject({ status: '200', exit: 0 })
    await Bun.sleep(1500)
    const left = (await road.get('/premium/traffic/balance?pool_type=residential')).data
    expect(left.used_gb).toBeGreaterThan(0.003)
  })
})
