import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../../../../test/harness/database.ts'
import { refusalOf } from '../../../../test/harness/failure.ts'
import { leaseLastsMs, openPremiumShop, type PremiumShop, pool } from '../../../../test/harness/premium.ts'
import type { ExitId } from '../../../core/ids.ts'
import type { Exit, NewExit } from './rules.ts'

describe.each([...engines])('exits and gateways on %s', (engine) => {
  let shop: PremiumShop
  const nodes = ['', '']
  beforeAll(async () => {
    shop = await openPremiumShop(engine)
    const { db, fleet } = shop.services
    for (const index of nodes.keys()) {
      const added = { kind: 'gateway', name: `gate-${index + 1}`, location: 'test' } as const
      nodes[index] = (await db.transact((tx) => fleet.add(tx, added))).id
    }
  })
  afterAll(async () => {
    expect(await shop.findings()).toEqual([])
    await shop.close()
  })

  const location = { country: 'DE', state: '', city: '', zip: '', asn: null }
  const local = { pool, kind: 'local', port: null, credentials: null, ...location } as const
  const add = async (of: NewExit): Promise<ExitId> => (await shop.services.premium.exits.addOne(of)).id
  const find = async (id: ExitId): Promise<Exit | undefined> =>
    (await shop.services.premium.exits.list(undefined, '', 100)).find((each) => each.id === id)
  const report = (node: string | undefined, exit: ExitId, isUp: boolean) =>
    shop.services.premium.exits.takeReports(node ?? '', [{ exit, isUp, sinceAt: shop.clock.nowMs, reason: '' }])
  const mark = () => shop.services.premium.nodes.mark(0)

  test('a local exit without a gateway is bound to the first gateway that reports it up, and stays there', async () => {
    const [first, second] = nodes
    const id = await add({ ...local, host: '203.0.113.7' })
    await report(second, id, false)
    expect((await find(id))?.node).toBeNull()
    const before = await mark()
    shop.clock.advance(1)
    await report(first, id, true)
    expect(await find(id)).toMatchObject({ node: first, changedAt: shop.clock.nowMs })
    expect(await mark()).not.toBe(before)
    await report(second, id, true)
    expect((await find(id))?.node).toBe(first ?? '')
  })

  test('assign gives an exit to another gateway or to every gateway, and marks the change for nodes', async () => {
    const { exits } = shop.services.premium
    const [first = '', second = ''] = nodes
    const id = await add({ ...local, host: '203.0.113.8', node: first })
    for (const node of [second, null]) {
      const before = await mark()
      shop.clock.advance(1)
      await exits.assign(id, node)
      expect(await find(id)).toMatchObject({ node, changedAt: shop.clock.nowMs })
      expect(await mark()).not.toBe(before)
    }
    await report(first, id, true)
    expect((await find(id))?.node).toBe(first)
  })

  test('assign refuses an unknown exit, and a gateway for a supplier whose login is a template', async () => {
    const { exits } = shop.services.premium
    expect((await refusalOf(exits.assign('ext_01k73sf8000000000000000000' as ExitId, null))).code).toBe('not_found')
    const offers = { countries: 'any', parts: [] } as const
    const id = await add({ ...local, kind: 'http', host: 'up.example.net', port: 8080, country: 'ZZ', offers })
    expect((await refusalOf(exits.assign(id, nodes[0] ?? ''))).code).toBe('invalid_request')
    await exits.assign(id, null)
  })

  test('a removed exit is in no list, and the bytes through it still add up', async () => {
    const { exits } = shop.services.premium
    const [first = ''] = nodes
    const credentials = { username: 'shop', password: 'secret' }
    const id = await add({ ...local, kind: 'http', host: 'gone.example.net', port: 8080, credentials })
    const count = (received: bigint) => exits.takeCounts(first, 'boot-1', [{ exit: id, received, sent: 1n }])
    await count(100n)
    expect((await refusalOf(exits.remove(id))).reason).toBe('exit_in_service')
    await exits.drain(id, true)
    await exits.remove(id)
    expect(await find(id)).toBeUndefined()
    for (const work of [() => exits.remove(id), () => exits.drain(id, false), () => exits.assign(id, first)]) {
      expect((await refusalOf(work())).reason).toBe('exit_not_found')
    }
    await count(150n)
    const day = Math.floor(shop.clock.nowMs / 86_400_000) * 86_400_000
    const compared = await exits.compare(id, { from: day, to: day, total: 151n, byDay: new Map() })
    expect(compared.relayed).toBe(151n)
    expect(await shop.services.db.first('SELECT credentials FROM exits WHERE id = $1', [id])).toEqual({
      credentials: null,
    })
    expect(await shop.findings()).toEqual([])
  })

  test('a removed gateway leaves no finding: its leases lapse, and the bytes that it relayed stay billed', async () => {
    const { fleet, premium, removeNode, traffic } = shop.services
    const [, second = ''] = nodes
    const customer = await shop.newCustomer()
    const { id: subuser } = await premium.subusers.load(customer, undefined)
    await shop.buy(customer, 10)
    const of = { node: second, boot: 'boot-1' }
    const lease = (turn: number, received: bigint) =>
      premium.metering.takeReport({
        ...of,
        counts: [{ subuser, pool, received, sent: 0n }],
        leaseRequests: [{ subuser, pool, turn, want: 'lease' }],
      })
    await lease(1, 0n)
    shop.clock.advance(10_000)
    await lease(2, 1_000_000n)
    await fleet.close('gate-2')
    await removeNode('gate-2')
    expect((await shop.account(subuser)).aside).toBeGreaterThan(0n)
    expect(await shop.findings()).toEqual([])
    shop.clock.advance(leaseLastsMs + 1)
    await traffic.leases.lapse()
    expect(await shop.account(subuser)).toMatchObject({ balance: 999_000_000n, aside: 0n, used: 1_000_000n })
    expect(await shop.findings()).toEqual([])
  })

  test.each([
    ['127.0.0.1', { ...local, host: '127.0.0.1' }],
    ['127.9.8.7', { ...local, host: '127.9.8.7' }],
    ['::1', { ...local, host: '::1' }],
    ['a supplier’s proxy', { ...local, kind: 'http', host: '203.0.113.9', port: 8080 }],
  ] as const)('%s stays an exit of every gateway when a gateway reports it up', async (_, exit) => {
    const id = await add(exit)
    await report(nodes[0], id, true)
    expect((await find(id))?.node).toBeNull()
  })
})
