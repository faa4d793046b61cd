import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { findLack, LinuxEngine } from '../../src/dataplane/gateway/engines/linux/engine.ts'
import { makeEngineDeps, passwordOf, until } from '../harness/engine.ts'
import { freePort } from '../harness/gateway.ts'
import { RawClient } from '../harness/raw-client.ts'
import { openTunnel, startEcho } from '../harness/tunnel.ts'

let echo: ReturnType<typeof startEcho>
beforeAll(() => {
  echo = startEcho()
})
afterAll(() => echo.stop())

const login = (username: string) => ({ username, password: passwordOf(username) })
const descriptors = (): number => readdirSync('/proc/self/fd').length

test('LinuxEngine restarts a dead reactor: its connections close, its counts stay, new connections are served', async () => {
  const { deps, change, answerTo } = makeEngineDeps({})
  const deaths: unknown[] = []
  const before = descriptors()
  const engine = new LinuxEngine({
    ...deps,
    reactors: 1,
    isStrict: true,
    onRestart: (fault) => void deaths.push(fault),
  })
  answerTo(engine)
  const port = engine.start({ hostname: '127.0.0.1', port: 0 })
  engine.changed(change, () => {})
  const at = { host: '127.0.0.1', port }
  const first = await openTunnel('http', at, login('anna'), echo.spot)
  await first.echo('0123456789')
  const metered = await openTunnel('http', at, login('pavel-pool-residential'), echo.spot)
  await metered.echo('01234')
  const counted = { proxies: 0, subusers: 0 }
  const readCounts = (): boolean => {
    const { proxies, subusers } = engine.dataPath.takeChanged()
    for (const { received, sent } of proxies) counted.proxies = received + sent
    for (const { received, sent } of subusers) counted.subusers = received + sent
    return counted.proxies === 20 && counted.subusers === 10
  }
  await until(readCounts)
  engine.threads[0]?.terminate()
  await first.closedAt
  await metered.closedAt
  await until(() => deaths.length === 1 && engine.status.open === 0)
  const again = await openTunnel('http', at, login('anna'), echo.spot)
  expect(await again.echo('abc')).toBe('abc')
  const meteredAgain = await openTunnel('http', at, login('pavel-pool-residential'), echo.spot)
  expect(await meteredAgain.echo('abcd')).toBe('abcd')
  again.close()
  meteredAgain.close()
  await until(() => {
    readCounts()
    return counted.proxies === 26 && counted.subusers === 18
  })
  await engine.stop(0)
  await until(() => engine.status.open === 0)
  await until(() => descriptors() <= before)
})

test('LinuxEngine applies ports opened and closed while its reactor is dead to the next reactor', async () => {
  const { deps, change } = makeEngineDeps({})
  const deaths: unknown[] = []
  const before = descriptors()
  const engine = new LinuxEngine({
    ...deps,
    reactors: 1,
    isStrict: true,
    onRestart: (fault) => void deaths.push(fault),
  })
  engine.start({ hostname: '127.0.0.1', port: 0 })
  engine.changed(change, () => {})
  const [first, second] = [freePort(), freePort()]
  const portsOf = (...ports: number[]): void => {
    const subuser = deps.snapshot.subusers.get('sub-pavel')
    if (!subuser) throw new Error('pavel is not there')
    const listed = ports.map((port) => ({ port, login: 'pavel-pool-residential' }))
    const page = { proxies: [], subusers: [{ ...subuser, whitelist: ['127.0.0.1'], ports: listed }], exits: [] }
    engine.changed(deps.snapshot.apply(page), (_, error) => {
      throw error
    })
  }
  portsOf(first)
  engine.threads[0]?.terminate()
  portsOf(second)
  await until(() => deaths.length === 1)
  const client = await RawClient.open(second)
  client.send('\x05\x01\x00')
  await client.readUntil((text) => text.length === 2)
  expect(client.text).toBe('\x05\x00')
  client.reset()
  const isClosed = await RawClient.open(first).then(
    () => false,
    () => true,
  )
  expect(isClosed).toBeTrue()
  await engine.stop(0)
  await until(() => engine.status.open === 0)
  await until(() => descriptors() <= before)
})

test('findLack names the missing system or processor', () => {
  expect(findLack('linux', process.arch)).toBeUndefined()
  expect(findLack('darwin', 'arm64')).toBe('it needs Linux, and this is darwin')
  expect(findLack('linux', 'riscv64')).toBe('it knows no riscv64 processors')
})
