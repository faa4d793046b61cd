import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../../../../test/harness/database.ts'
import { openPremiumShop, type PremiumShop, pool } from '../../../../test/harness/premium.ts'
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

  const place = { country: 'DE', state: '', city: '', zip: '', asn: null }
  const local = { pool, kind: 'local', port: null, credentials: null, ...place } as const
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
