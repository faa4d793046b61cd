import { describe, expect, test } from 'bun:test'
import { engines } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { makeSecret } from '../../../test/harness/node.ts'
import { kindIn, prefixOf } from '../../../test/harness/proxies.ts'
import { useRangeShop } from '../../../test/harness/ranges.ts'
import { untilTrue } from '../../../test/harness/turnpike.ts'

/** `useRangeShop` checks after each test that `verify` finds nothing. */
describe.each([...engines])('changes of nodes on %s', (engine) => {
  // A test of concurrent changes needs four connections.
  const shop = useRangeShop(engine, 4)
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
    const shown = async () =>
      (await Array.fromAsync(dedicated.pagesOf(shop.customer, undefined))).flat().map((each) => each.endpoint)
    expect(await shown()).toEqual([null])
    const marks = () => Promise.all(nodeSides.map((side) => side.mark(0)))
    const before = await marks()
    shop.clock.advance(1)
    const endpoint = { host: 'new.example.net', port: 10_801 }
    expect(await fleet.setEndpoint('gate-1', endpoint)).toMatchObject({ id: node, endpoint })
    expect(await shown()).toEqual([endpoint])
    expect(await marks()).not.toEqual(before)
  })

  test('a new endpoint of a gateway sends its customers one proxy.moved for each proxy, and the same endpoint none', async () => {
    const { events, setEndpoint } = shop.services
    await addServing('gate-1')
    await addGateway('gate-2')
    const bought = await buy(2)
    const moved = async () => {
      const all = await events.list(shop.customer, { after: 0, type: 'proxy.moved', limit: 100 })
      return { count: all.length, of: new Set(all.map((each) => each.data['ip'])) }
    }
    const endpoint = { host: 'new.example.net', port: 10_801 }
    await setEndpoint('gate-2', endpoint)
    expect((await moved()).count).toBe(0)
    for (let time = 0; time < 2; time += 1) await setEndpoint('gate-1', endpoint)
    expect(await moved()).toEqual({ count: 2, of: new Set(bought) })
  })

  test('proxies of an exit are reached at its entry, and their customers learn of a path and of a new endpoint of the entry', async () => {
    const { dedicated, events, fleet, setEndpoint, setExit } = shop.services
    await addServing('gate-1')
    await addGateway('gate-2')
    await buy()
    const endpoint = { host: 'entry.example.net', port: 10_801 }
    await setEndpoint('gate-2', endpoint)
    const shown = async () =>
      (await Array.fromAsync(dedicated.pagesOf(shop.customer, undefined)))
        .flat()
        .map(({ endpoint: at, isEntered }) => ({ at, isEntered }))
    const moved = async () => (await events.list(shop.customer, { after: 0, type: 'proxy.moved', limit: 100 })).length
    expect((await refusalOf(setExit('gate-1', 'gate-2'))).reason).toBe('node_not_entry')
    await fleet.setEntry('gate-2', true)
    expect((await refusalOf(setExit('gate-2', 'gate-2'))).reason).toBe('node_is_entry')
    await setExit('gate-1', 'gate-2')
    expect(await shown()).toEqual([{ at: endpoint, isEntered: true }])
    expect(await moved()).toBe(1)
    await setEndpoint('gate-2', { ...endpoint, port: 10_802 })
    expect(await moved()).toBe(2)
    expect((await refusalOf(fleet.setEntry('gate-2', false))).reason).toBe('entry_in_use')
    expect((await refusalOf(fleet.setEntry('gate-1', true))).reason).toBe('node_is_exit')
    await setExit('gate-1', null)
    await fleet.setEntry('gate-2', false)
    expect(await shown()).toEqual([{ at: null, isEntered: false }])
  })

  test('an entry with exits cannot be removed', async () => {
    const { fleet, removeNode, setExit } = shop.services
    await addGateway('gate-1')
    await addGateway('gate-2')
    await fleet.setEntry('gate-2', true)
    await setExit('gate-1', 'gate-2')
    await fleet.close('gate-2')
    expect((await refusalOf(removeNode('gate-2'))).reason).toBe('entry_in_use')
    await setExit('gate-1', null)
    await removeNode('gate-2')
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

  const removalRefused = async (name: string) => (await refusalOf(shop.services.removeNode(name))).reason

  test('remove hides a closed node for good, and its name can be used again', async () => {
    const { db, fleet, removeNode } = shop.services
    const node = await addServing('gate-1')
    const { text: key } = await fleet.issueKey('gate-1')
    const secret = makeSecret()
    await fleet.join(key, secret, '0')
    expect(await removalRefused('gate-1')).toBe('node_open')
    await fleet.close('gate-1')
    expect((await removeNode('gate-1')).id as string).toBe(node)
    expect(await fleet.nodes('gateway')).toEqual([])
    for (const work of [fleet.open, fleet.issueKey, removeNode]) {
      for (const name of ['gate-1', node]) expect((await refusalOf(work(name))).reason).toBe('node_not_found')
    }
    expect((await refusalOf(fleet.authenticate(secret))).reason).toBe('node_secret_invalid')
    expect((await refusalOf(fleet.join(key, secret, '0'))).reason).toBe('invalid_join_key')
    expect(await shop.gatewayOf('203.0.113.0')).toBeNull()
    expect(await db.all('SELECT * FROM stock_trials')).toEqual([])
    expect(await addGateway('gate-1')).not.toBe(node)
    const vpn = await db.transact((tx) => fleet.add(tx, { kind: 'vpn', name: 'vpn-1', location: 'test' }))
    await fleet.close('vpn-1')
    expect((await removeNode('vpn-1')).id).toBe(vpn.id)
    expect(await fleet.nodes('vpn')).toEqual([])
  })

  test('remove refuses a gateway whose addresses are leased, until another gateway serves them', async () => {
    const { fleet, removeNode } = shop.services
    const node = await addServing('gate-1')
    expect(await buy()).toHaveLength(1)
    await fleet.close('gate-1')
    expect(await removalRefused('gate-1')).toBe('node_has_proxies')
    expect((await fleet.findByName('gate-1'))?.id as string).toBe(node)
    const other = await addGateway('gate-2')
    await claimLocally(other, range, [0, 4])
    await removeNode('gate-1')
    expect(await shop.gatewayOf('203.0.113.0')).toBe(other)
    expect(await buy()).toHaveLength(1)
  })

  test('remove gives free addresses to another gateway that has reported them', async () => {
    const { fleet, removeNode } = shop.services
    const node = await addServing('gate-1')
    const other = await addGateway('gate-2')
    await claimLocally(other, range, [0, 2])
    expect(await shop.gatewayOf('203.0.113.0')).toBe(node)
    await fleet.close('gate-1')
    await removeNode('gate-1')
    expect([await shop.gatewayOf('203.0.113.0'), await shop.gatewayOf('203.0.113.2')]).toEqual([other, null])
  })

  test('remove refuses a gateway that a range names or that has an exit, until they are assigned elsewhere', async () => {
    const { fleet, premium, removeNode, stock } = shop.services
    const [node, other] = [await addGateway('gate-1'), await addGateway('gate-2')]
    await stock.add(prefixOf(range), kindIn('AT', 4), undefined, [node])
    const location = { country: 'AT', state: '', city: '', zip: '', asn: null }
    const local = { pool: 'residential', kind: 'local', host: '203.0.113.9', port: null, credentials: null } as const
    const exit = await premium.exits.addOne({ ...local, ...location, node })
    await fleet.close('gate-1')
    expect(await removalRefused('gate-1')).toBe('node_has_exits')
    await premium.exits.assign(exit.id, other)
    expect(await removalRefused('gate-1')).toBe('node_has_ranges')
    await stock.ranges.assign(prefixOf(range), [other])
    await removeNode('gate-1')
    expect(await fleet.nodes('gateway')).toMatchObject([{ name: 'gate-2' }])
    expect((await refusalOf(premium.exits.assign(exit.id, node))).reason).toBe('node_not_found')
    expect((await refusalOf(stock.ranges.assign(prefixOf(range), [node]))).reason).toBe('node_not_found')
  })

  /** How many connections wait for a lock. */
  const waiting = async () => {
    const sql = `SELECT COUNT(*) AS n FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`
    return Number((await shop.services.db.first<{ n: bigint }>(sql))?.n ?? 0n)
  }

  // SQLite runs one transaction at a time.
  if (engine === 'postgres')
    test.each(['an exit', 'a range', 'a new range'] as const)(
      'a removal or a concurrent assignment of %s to the same gateway is refused',
      async (thing) => {
        const { db, fleet, premium, removeNode, stock } = shop.services
        const node = await addGateway('gate-1')
        await stock.add(prefixOf(range), kindIn('AT', 4))
        const location = { country: 'AT', state: '', city: '', zip: '', asn: null }
        const local = { pool: 'residential', kind: 'local', port: null, credentials: null } as const
        const exit = await premium.exits.addOne({ ...local, ...location, host: '203.0.113.9' })
        await fleet.close('gate-1')
        const { promise: held, resolve: release } = Promise.withResolvers<void>()
        const { promise: locked, resolve: setLocked } = Promise.withResolvers<void>()
        const holding = db.transact(async (tx) => {
          await fleet.lockPresent(tx, node)
          setLocked()
          await held
        })
        await locked
        // The removal has passed its first checks and waits for the node's row.
        const removing = Promise.allSettled([removeNode('gate-1')])
        expect(await untilTrue(async () => (await waiting()) === 1)).toBeTrue()
        const assign = {
          'an exit': () => premium.exits.assign(exit.id, node),
          'a range': () => stock.ranges.assign(prefixOf(range), [node]),
          'a new range': () => stock.add(prefixOf('198.51.100.0/30'), kindIn('AT', 4), undefined, [node]),
        }
        const assigning = Promise.allSettled([assign[thing]()])
        expect(await untilTrue(async () => (await waiting()) === 2)).toBeTrue()
        release()
        await holding
        const [[removed], [assigned]] = [await removing, await assigning]
        expect([removed.status, assigned.status].toSorted()).toEqual(['fulfilled', 'rejected'])
      },
    )

  if (engine === 'postgres')
    test.each(['a range', 'a part of a range', 'an exit'] as const)(
      'an assignment of %s that waits for a lock does not hold the row of its gateway',
      async (thing) => {
        const { db, premium, stock } = shop.services
        const node = await addGateway('gate-1')
        await stock.add(prefixOf(range), kindIn('AT', 4))
        const location = { country: 'AT', state: '', city: '', zip: '', asn: null }
        const local = { pool: 'residential', kind: 'local', port: null, credentials: null } as const
        const exit = await premium.exits.addOne({ ...local, ...location, host: '203.0.113.9' })
        const { promise: held, resolve: release } = Promise.withResolvers<void>()
        const { promise: locked, resolve: setLocked } = Promise.withResolvers<void>()
        const holding = db.transact(async (tx) => {
          await tx.all('SELECT id FROM stock_ranges FOR UPDATE')
          await tx.all('SELECT id FROM exits FOR UPDATE')
          setLocked()
          await held
          // Waiting here would be a deadlock, which the database ends by undoing one of the two.
          await tx.all('SELECT id FROM nodes WHERE id = $1 FOR UPDATE NOWAIT', [node])
        })
        await locked
        const assign = {
          'a range': () => stock.ranges.assign(prefixOf(range), [node]),
          'a part of a range': () => stock.ranges.assign(prefixOf('203.0.113.0/32'), [node]),
          'an exit': () => premium.exits.assign(exit.id, node),
        }
        const assigning = Promise.allSettled([assign[thing]()])
        expect(await untilTrue(async () => (await waiting()) === 1)).toBeTrue()
        release()
        const [outcome] = await Promise.allSettled([holding])
        expect([outcome.status, (await assigning)[0].status]).toEqual(['fulfilled', 'fulfilled'])
      },
    )
})
