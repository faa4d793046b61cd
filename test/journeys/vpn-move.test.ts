import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Node } from '../../src/domains/fleet/rules.ts'
import type { SubscriptionId } from '../../src/domains/vpn/rules.ts'
import { enginesOf } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { runCommand, testDatabaseEnv } from '../harness/turnpike.ts'
import { findingsOf, report } from '../harness/vpn.ts'

describe.each([...enginesOf('sqlite')])('moving a VPN subscription between nodes on %s', (engine) => {
  let service: Service
  const nodes = new Map<string, Node>()
  beforeAll(async () => {
    service = await startService(engine)
    const { db, fleet } = service.services
    for (const [name, location] of [
      ['paris-1', 'paris'],
      ['paris-2', 'paris'],
      ['rome-1', 'rome'],
    ] as const) {
      const endpoint = { host: `${name}.example.net`, port: 51_820 }
      nodes.set(name, await db.transact((tx) => fleet.add(tx, { kind: 'vpn', name, location, endpoint })))
    }
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  const named = (name: string): Node => nodes.get(name) as Node
  const seen = async (...names: string[]) => {
    for (const name of names) await service.services.fleet.seen(named(name).id, { version: 'test' })
  }
  const partOf = (config: string, key: string) => new RegExp(`^${key} = (.*)$`, 'm').exec(config)?.[1]
  const hostOf = (config: string) => partOf(config, 'Endpoint')?.split('.')[0]

  async function addSubscriber() {
    const { token } = await service.newCustomer(10_000n)
    const bought = (await service.post('/vpn/buy', { period: 1, location: 'paris' }, { token })).data
    return {
      uuid: bought.uuid as SubscriptionId,
      device: bought.device as string,
      config: async () => (await service.get('/vpn/config', { token })).data.config as string,
      info: async () => (await service.get('/vpn/info', { token })).data,
    }
  }

  test('vpn move keeps keys, addresses and counts, and the configuration names the new node', async () => {
    await seen('paris-1', 'paris-2')
    const { uuid, device, config, info } = await addSubscriber()
    const before = await config()
    const from = hostOf(before) ?? ''
    const to = from === 'paris-1' ? 'paris-2' : 'paris-1'
    await report(service, 'boot-1', [{ device, rx: 1000, tx: 500 }], named(from).id)
    const env = testDatabaseEnv(service.testDatabase)
    const moved = await runCommand(['vpn', 'move', uuid, '--to', to, '--json'], env)
    expect(JSON.parse(moved.out)).toEqual({ uuid, node: to, devices: 1 })
    const after = await config()
    expect(hostOf(after)).toBe(to)
    for (const key of ['PrivateKey', 'Address', 'DNS']) expect(partOf(after, key)).toBe(partOf(before, key) as string)
    // Late reports of the old node and reports of the new one are each counted once.
    await report(service, 'boot-1', [{ device, rx: 1500, tx: 500 }], named(from).id)
    await report(service, 'boot-7', [{ device, rx: 10, tx: 20 }], named(to).id)
    await report(service, 'boot-1', [{ device, rx: 1000, tx: 500 }], named(from).id)
    expect((await info()).devices[0]).toMatchObject({ rx_bytes: 1510, tx_bytes: 520 })
    expect((await runCommand(['vpn', 'move', uuid, '--to', 'nobody'], env)).exit).toBe(2)
  })

  test('a configuration names a live node once its own is silent for 5 min, until its own is back', async () => {
    await seen('paris-1', 'paris-2')
    const { uuid, config } = await addSubscriber()
    const from = hostOf(await config()) ?? ''
    const to = from === 'paris-1' ? 'paris-2' : 'paris-1'
    await service.services.vpn.move(uuid, named(to))
    service.clock.advance(5 * 60_000)
    await seen(from)
    expect(hostOf(await config())).toBe(to)
    service.clock.advance(1)
    expect(hostOf(await config())).toBe(from)
    service.clock.advance(1000)
    await seen(to)
    expect(hostOf(await config())).toBe(to)
  })

  test('a drained node gets no subscription, and its subscriptions use another node until undrain', async () => {
    await seen('paris-1', 'paris-2')
    const { uuid, config } = await addSubscriber()
    await service.services.vpn.move(uuid, named('paris-1'))
    expect(hostOf(await config())).toBe('paris-1')
    await service.services.fleet.drain('paris-1', true)
    expect(hostOf(await config())).toBe('paris-2')
    for (let count = 0; count < 8; count += 1) expect(hostOf(await (await addSubscriber()).config())).toBe('paris-2')
    await service.services.fleet.drain('paris-1', false)
    expect(hostOf(await config())).toBe('paris-1')
  })

  test('vpn move refuses a node of another location', async () => {
    await seen('paris-1', 'paris-2', 'rome-1')
    const { uuid, config } = await addSubscriber()
    const before = await config()
    expect(await failureOf(service.services.vpn.move(uuid, named('rome-1')))).toMatchObject({ code: 'conflict' })
    expect(await config()).toBe(before)
  })
})
