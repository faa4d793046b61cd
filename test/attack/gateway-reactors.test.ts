import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { LinuxEngine } from '../../src/dataplane/gateway/engines/linux/engine.ts'
import { makeEngineDeps, passwordOf, type TestGatewayOptions, until } from '../harness/engine.ts'
import { longTest } from '../harness/long-test.ts'
import { openTunnel, startEcho } from '../harness/tunnel.ts'

let echo: ReturnType<typeof startEcho>
beforeAll(() => {
  echo = startEcho()
})
afterAll(() => echo.stop())

const login = (username: string) => ({ username, password: passwordOf(username) })
type Tunnel = Awaited<ReturnType<typeof openTunnel>>

let stop: () => Promise<void> = async () => {}
afterEach(() => stop())

function openReactors(reactors: number, options: TestGatewayOptions = {}) {
  const { deps, change, answerTo, faults } = makeEngineDeps(options)
  const deaths: unknown[] = []
  const engine = new LinuxEngine({ ...deps, reactors, isStrict: true, onRestart: (fault) => void deaths.push(fault) })
  answerTo(engine)
  const port = engine.start({ hostname: '127.0.0.1', port: 0 })
  engine.changed(change, () => {})
  stop = async () => {
    await engine.stop(0)
    await until(() => engine.status.open === 0)
    expect(faults).toEqual([])
  }
  const open = (username: string): Promise<Tunnel> =>
    openTunnel('http', { host: '127.0.0.1', port }, login(username), echo.spot)
  const counted = { proxies: 0, subusers: 0 }
  const readCounts = () => {
    const { proxies, subusers } = engine.dataPath.takeChanged()
    for (const { received, sent } of proxies) counted.proxies = received + sent
    for (const { received, sent } of subusers) counted.subusers = received + sent
    return counted
  }
  return { engine, open, deaths, readCounts, isServed: () => engine.threads.every(({ memory }) => memory.isServing) }
}

longTest('200 tunnels divide over 4 reactors: each has 30 to 70 of them', async () => {
  const { engine, open, isServed } = openReactors(4)
  await until(isServed)
  const tunnels: Tunnel[] = []
  for (let count = 0; count < 200; count += 1) tunnels.push(await open('anna'))
  await until(() => engine.status.tunnels === 200)
  for (const { tunnels: own, processorSeconds } of engine.reactors) {
    expect(own).toBeWithin(30, 71)
    expect(processorSeconds).toBeGreaterThan(0)
  }
  for (const tunnel of tunnels) tunnel.close()
})

for (const victim of [0, 2]) {
  test(`the death of reactor ${victim} of 4 ends only its tunnels of 200, and all bytes of the others are counted`, async () => {
    const { engine, open, deaths, readCounts, isServed } = openReactors(4)
    await until(isServed)
    const tunnels: { readonly tunnel: Tunnel; isClosed: boolean }[] = []
    for (let count = 0; count < 200; count += 1) {
      const tunnel = await open('pavel-pool-residential')
      const entry = { tunnel, isClosed: false }
      void tunnel.closedAt.then(() => (entry.isClosed = true))
      tunnels.push(entry)
    }
    await Promise.all(tunnels.map(({ tunnel }) => tunnel.echo('0123456789')))
    await until(() => readCounts().subusers === 200 * 20)
    const own = engine.threads[victim]?.memory.status.tunnels ?? 0
    expect(own).toBeGreaterThan(0)
    engine.threads[victim]?.terminate()
    await until(() => deaths.length === 1)
    await until(() => tunnels.filter(({ isClosed }) => isClosed).length === own)
    const survivors = tunnels.filter(({ isClosed }) => !isClosed)
    expect(await Promise.all(survivors.map(({ tunnel }) => tunnel.echo('abcde')))).toEqual(survivors.map(() => 'abcde'))
    const fresh = await Promise.all([open('pavel-pool-residential'), open('pavel-pool-residential')])
    for (const tunnel of fresh) expect(await tunnel.echo('xyz')).toBe('xyz')
    await until(() => readCounts().subusers === 200 * 20 + survivors.length * 10 + 12)
    await until(() => engine.status.tunnels === survivors.length + 2)
    for (const { tunnel } of tunnels) tunnel.close()
    for (const tunnel of fresh) tunnel.close()
    await until(isServed)
  })
}

test('a customer with a limit of 50 tunnels opens exactly 50 over 4 reactors, and 50 again after a reactor has died', async () => {
  const { engine, open, deaths, isServed } = openReactors(4, { customer: { tunnels: 50 } })
  await until(isServed)
  const openMany = async (): Promise<Tunnel[]> => {
    const outcomes = await Promise.allSettled(Array.from({ length: 80 }, () => open('anna')))
    return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
  }
  const first = await openMany()
  expect(first).toHaveLength(50)
  engine.threads[1]?.terminate()
  await until(() => deaths.length === 1)
  const left = engine.status.tunnels
  const second = await openMany()
  expect(second).toHaveLength(50 - left)
  for (const tunnel of [...first, ...second]) tunnel.close()
  await until(() => engine.status.tunnels === 0)
  const third = await openMany()
  expect(third).toHaveLength(50)
  for (const tunnel of third) tunnel.close()
})
