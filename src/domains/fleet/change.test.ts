import { describe, expect, test } from 'bun:test'
import { engines } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { kindIn, prefixOf } from '../../../test/harness/proxies.ts'
import { useRangeShop } from '../../../test/harness/ranges.ts'

/** `useRangeShop` checks after each test that `verify` finds nothing. */
describe.each([...engines])('changes of nodes on %s', (engine) => {
  const shop = useRangeShop(engine)
  const { addGateway, claimLocally, buy } = shop
  const range = '203.0.113.0/30'
  /** A gateway that serves four addresses. */
  async function addServing(name: string, nodeIds: string[] = []): Promise<string> {
    await shop.services.stock.add(prefixOf(range), kindIn('AT', 4), undefined, nodeIds)
    const node = await addGateway(name)
    await claimLocally(node, range, [0, 4])
    return node
  }

  test('a proxy that was bought before shows the new endpoint of its gateway, and so do the other gateways', async () => {
    const { dedicated, fleet, nodeSides } = shop.services
    const node = await addServing('gate-1')
    await buy()
    const shown = async () => (await dedicated.listAll(shop.customer, undefined)).map((each) => each.endpoint)
    expect(await shown()).toEqual([null])
    const marks = () => Promise.all(nodeSides.map((side) => side.mark(0)))
    const before = await marks()
    shop.clock.advance(1)
    const endpoint = { host: 'new.example.net', port: 10_801 }
    expect(await fleet.setEndpoint('gate-1', endpoint)).toMatchObject({ id: node, endpoint })
    expect(await shown()).toEqual([endpoint])
    expect(await marks()).not.toEqual(before)
  })

  test('rename keeps the id, addresses and leases of a node, and refuses a name in use', async () => {
    const { fleet } = shop.services
    const node = await addServing('gate-1')
    await addGateway('gate-2')
    expect((await refusalOf(fleet.rename('gate-1', 'gate-2'))).reason).toBe('node_name_taken')
    await addGateway('local-gateway')
    for (const [from, to] of [
      ['gate-1', 'local'],
      ['local-gateway', 'gate-3'],
    ] as const) {
      expect((await refusalOf(fleet.rename(from, to))).reason).toBe('node_name_local')
    }
    expect(await fleet.rename('gate-1', 'frankfurt')).toMatchObject({ id: node, name: 'frankfurt' })
    expect(await fleet.findByName('gate-1')).toBeUndefined()
    expect(await buy()).toHaveLength(1)
    expect(await fleet.rename('gate-2', 'gate-1')).toMatchObject({ name: 'gate-1' })
  })
})
