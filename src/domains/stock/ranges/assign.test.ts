import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { runtimeWith } from '../../../../test/harness/clock.ts'
import { engines } from '../../../../test/harness/database.ts'
import { refusalOf } from '../../../../test/harness/failure.ts'
import { HandProcess } from '../../../../test/harness/hand-process.ts'
import { buyProxies, kindIn, prefixOf } from '../../../../test/harness/proxies.ts'
import { useRangeShop } from '../../../../test/harness/ranges.ts'
import { scaled } from '../../../../test/harness/scale.ts'
import { createServices, realRuntime, type Services } from '../../../app/shop/services.ts'
import { addressToNumber, contains, formatAddress, formatPrefix, readAddress } from '../../../core/address.ts'
import { createCounter } from '../../../db/counter.ts'
import { maxTriedSingly } from '../../../node-protocol/tried.ts'
import { createStock } from '../index.ts'
import { maxWrittenOut } from '../rules.ts'
import {
  type AddressRun,
  awayWithinMs,
  covers,
  firstUnserved,
  isNormal,
  servingWithinMs,
  split,
  toPrefixes,
  type UnservedPosition,
  within,
  without,
} from './rules.ts'

describe.each([...engines])('ranges and gateways on %s', (engine) => {
  const shop = useRangeShop(engine)
  const { contact, addGateway, claimLocally, buy, available, gatewayOf } = shop
  const add = (prefix: string, ipv: 3 | 4 | 6 = 4, nodeIds: string[] = []) =>
    shop.services.stock.add(prefixOf(prefix), kindIn('AT', ipv), undefined, nodeIds)

  const isWithin = (prefix: string, text: string): boolean => {
    const address = readAddress(text)
    return address !== undefined && contains(prefixOf(prefix), address)
  }

  test.each([3, 4, 6] as const)('a slot of kind %d is not sold until a node serves it', async (ipv) => {
    const prefix = ipv === 6 ? '2001:db8::/64' : '203.0.113.0/30'
    await add(prefix, ipv)
    expect(await available(ipv)).toBe(0)
    expect(await refusalOf(buy(1, ipv))).toMatchObject({ code: 'unavailable', details: { charged: false } })
    const node = await addGateway('gate-1')
    expect((await refusalOf(buy(1, ipv))).code).toBe('out_of_stock')
    await claimLocally(node, prefix, [0, ipv === 6 ? 1 : 4])
    expect(await available(ipv)).toBe({ 3: 12, 4: 4, 6: 20_000 }[ipv])
    await contact(node)
    expect(await buy(2, ipv)).toHaveLength(2)
  })

  test('the shop sells only the addresses that a node reports as usable in its latest report', async () => {
    await add('203.0.113.0/29')
    const node = await addGateway('gate-1')
    await claimLocally(node, '203.0.113.0/29', [0, 2], [5, 1])
    expect(await available()).toBe(3)
    await contact(node)
    await claimLocally(node, '203.0.113.0/29', [5, 1])
    expect(await buy()).toEqual(['203.0.113.5'])
    expect(await refusalOf(buy())).toMatchObject({ code: 'out_of_stock', details: { available: 0 } })
  })

  test(`addresses of a node that is silent for over ${servingWithinMs / 1000} s are not sold until it reports again`, async () => {
    await add('203.0.113.0/30')
    const node = await addGateway('gate-1')
    await claimLocally(node, '203.0.113.0/30', [0, 4])
    shop.clock.advance(servingWithinMs)
    expect(await buy()).toHaveLength(1)
    shop.clock.advance(1001)
    expect((await refusalOf(buy())).code).toBe('unavailable')
    expect(await available()).toBe(0)
    await contact(node)
    expect(await buy()).toHaveLength(1)
  })

  test('a shop after a stall of 60 s sells on a gateway that reported before it, until 10 s of running time pass', async () => {
    await add('203.0.113.0/30')
    const node = await addGateway('gate-1')
    await claimLocally(node, '203.0.113.0/30', [0, 4])
    const stalledProcess = new HandProcess(shop.clock)
    const stalled = createServices(shop.db, stalledProcess.runtime, shop.services.config)
    const buyThere = () => buyProxies(stalled, shop.customer, { code: 'AT', ipv: 4, period: 7 })
    const countUnserved = async (by: Services): Promise<number> => {
      let count = 0
      for (let at: UnservedPosition | null = firstUnserved; at !== null; ) {
        const page: Awaited<ReturnType<Services['stock']['served']['unserved']>> = await by.stock.served.unserved(
          at,
          10,
          30_000,
        )
        count += page.leases.length
        at = page.next
      }
      return count
    }
    stalledProcess.run(2000)
    stalledProcess.stall(60_000)
    expect((await buyThere()).proxies).toHaveLength(1)
    stalledProcess.run(7000)
    expect((await buyThere()).proxies).toHaveLength(1)
    stalledProcess.run(2000)
    expect(await refusalOf(buyThere())).toMatchObject({ code: 'unavailable', details: { charged: false } })
    stalledProcess.run(18_000)
    // Another shop on this database was not stalled, and judges the same row by its own running time.
    expect([await countUnserved(stalled), await countUnserved(shop.services)]).toEqual([0, 2])
    stalledProcess.run(2000)
    expect(await countUnserved(stalled)).toBe(2)
    await contact(node)
    stalledProcess.run(1000)
    expect((await buyThere()).proxies).toHaveLength(1)
  })

  test('addresses of a silent gateway are refused as unavailable, and after 10 minutes as out_of_stock', async () => {
    await add('203.0.113.0/30')
    await add('2001:db8::/64', 6)
    const [gone, there] = [await addGateway('gate-1'), await addGateway('gate-2')]
    await claimLocally(gone, '203.0.113.0/30', [0, 4])
    await claimLocally(gone, '2001:db8::/64', [0, 1])
    const tryAt = async (silentMs: number, count = 1, ipv: 4 | 6 = 4) => {
      shop.clock.advance(silentMs)
      await contact(there)
      return (await refusalOf(buy(count, ipv))).code
    }
    expect(await tryAt(servingWithinMs + 1001)).toBe('unavailable')
    expect([await tryAt(0, 1, 6), await tryAt(0, 4), await tryAt(0, 5)]).toEqual([
      'unavailable',
      'unavailable',
      'out_of_stock',
    ])
    expect([await tryAt(awayWithinMs), await tryAt(0, 1, 6)]).toEqual(['out_of_stock', 'out_of_stock'])
    await contact(gone)
    expect(await buy(4)).toHaveLength(4)
  })

  test('a gateway that reports while a sale reads the nodes counts as serving or as away', async () => {
    const node = await addGateway('gate-1')
    shop.clock.advance(servingWithinMs + 1001)
    const { fleet, customers } = shop.services
    const reads = [await fleet.nodes('gateway')]
    await contact(node)
    const stock = createStock({
      ...runtimeWith(shop.clock),
      db: shop.db,
      fleet: { ...fleet, nodes: async (kind) => reads.shift() ?? fleet.nodes(kind) },
      customers,
      life: () => 0,
      slotIds: createCounter(shop.db, 'slot'),
      rangeIds: createCounter(shop.db, 'range'),
    })
    const { servingNodes, away } = await stock.prepare(kindIn('AT', 4), 1)
    expect([...servingNodes.map((each) => each.id as string), ...away]).toEqual([node])
  })

  test.each(['close', 'revoke'] as const)(
    'addresses of a node are not sold after %s by the operator, until the node is opened and reports',
    async (verb) => {
      await add('203.0.113.0/30')
      const node = await addGateway('gate-1')
      await claimLocally(node, '203.0.113.0/30', [0, 4])
      await shop.services.fleet[verb]('gate-1')
      expect((await refusalOf(buy())).code).toBe('unavailable')
      await shop.services.fleet.open('gate-1')
      await contact(node)
      expect(await buy()).toHaveLength(1)
    },
  )

  test('a node takes over no slot that a live node serves, and takes over all once that node is silent', async () => {
    await add('203.0.113.0/30')
    await add('2001:db8::/64', 6)
    const [first, second] = [await addGateway('gate-1'), await addGateway('gate-2')]
    const claimBoth = async (node: string, ...runs: AddressRun[]) => {
      await claimLocally(node, '203.0.113.0/30', ...runs)
      await claimLocally(node, '2001:db8::/64', [0, 1])
    }
    await claimBoth(first, [0, 2])
    await claimBoth(second, [0, 4])
    expect(await gatewayOf('203.0.113.0')).toBe(first)
    expect(await gatewayOf('203.0.113.2')).toBe(second)
    await claimBoth(first, [1, 1])
    expect(await gatewayOf('203.0.113.0')).toBe(second)
    expect(await gatewayOf('203.0.113.1')).toBe(first)
    shop.clock.advance(servingWithinMs + 1001)
    await contact(second)
    await claimBoth(second, [0, 4])
    expect(await gatewayOf('203.0.113.1')).toBe(second)
    expect(await buy(1, 6)).toHaveLength(1)
  })

  test.each([4, 6] as const)('60 sales of kind %d use both of two gateways with equal stock', async (ipv) => {
    const [first, second] = [await addGateway('gate-1'), await addGateway('gate-2')]
    const prefixes = ipv === 4 ? ['203.0.113.0/25', '203.0.113.128/25'] : ['2001:db8:1::/64', '2001:db8:2::/64']
    for (const [index, prefix] of prefixes.entries()) {
      await add(prefix, ipv)
      await claimLocally([first, second][index] ?? '', prefix, [0, ipv === 4 ? 128 : 1])
    }
    const sold = [...(await buy(30, ipv)), ...(await Promise.all(Array.from({ length: 30 }, () => buy(1, ipv)))).flat()]
    const [ofFirst] = prefixes.map((prefix) => sold.filter((each) => isWithin(prefix, each)).length)
    expect(sold).toHaveLength(60)
    expect(Math.abs((ofFirst ?? 0) - 30)).toBeLessThan(25)
  })

  test('a gateway with a ten-thousandth of the bandwidth gets at most 5 of 60 sales while the other has stock', async () => {
    const [fast, slow] = [await addGateway('gate-1'), await addGateway('gate-2')]
    await shop.db.transact((tx) => tx.run('UPDATE nodes SET link_mbit = 1 WHERE id = $1', [slow]))
    shop.clock.advance(1001)
    for (const node of [fast, slow]) await contact(node)
    for (const [node, prefix] of [
      [slow, '203.0.113.0/26'],
      [fast, '203.0.113.64/26'],
    ] as const) {
      await add(prefix)
      await claimLocally(node, prefix, [0, 64])
    }
    const isSlow = (each: string) => isWithin('203.0.113.0/26', each)
    expect((await buy(60)).filter(isSlow).length).toBeLessThanOrEqual(5)
    expect((await buy(60)).filter(isSlow).length).toBeGreaterThanOrEqual(51)
  })

  test('the shop ignores a node’s claims of ranges of other nodes, malformed runs and unknown ranges', async () => {
    const [own, other] = [await addGateway('gate-1'), await addGateway('gate-2')]
    await add('203.0.113.0/30', 4, [own])
    await claimLocally(other, '203.0.113.0/30', [0, 4])
    for (const runs of [
      [[0, 5]],
      [[4, 1]],
      [
        [2, 1],
        [0, 1],
      ],
      [
        [0, 1],
        [1, 1],
      ],
    ] as AddressRun[][]) {
      await claimLocally(own, '203.0.113.0/30', ...runs)
    }
    await shop.services.stock.ranges.tried(own, [{ range: 999, served: [[0, 1]], problems: [], seenAs: null }])
    expect(await available()).toBe(0)
    await contact(own)
    await claimLocally(own, '203.0.113.0/30', [0, 4])
    expect(await buy()).toHaveLength(1)
  })

  test('a range or a part of it that is assigned to another node is no longer served by its old node', async () => {
    const [first, second] = [await addGateway('gate-1'), await addGateway('gate-2')]
    await add('203.0.113.0/29')
    await claimLocally(first, '203.0.113.0/29', [0, 8])
    await shop.services.stock.ranges.assign(prefixOf('203.0.113.2/31'), [second])
    expect(await available()).toBe(0)
    await contact(first)
    await contact(second)
    for (const each of ['203.0.113.0/31', '203.0.113.4/30'])
      await claimLocally(first, each, [0, each.endsWith('30') ? 4 : 2])
    expect(await gatewayOf('203.0.113.2')).toBeNull()
    await claimLocally(first, '203.0.113.2/31', [0, 2])
    expect(await gatewayOf('203.0.113.2')).toBeNull()
    await claimLocally(second, '203.0.113.2/31', [0, 2])
    expect(await gatewayOf('203.0.113.2')).toBe(second)
    await shop.services.stock.ranges.assign(prefixOf('203.0.113.0/24'), [second])
    expect(await gatewayOf('203.0.113.0')).toBeNull()
    expect(await gatewayOf('203.0.113.3')).toBe(second)
    const nowhere = shop.services.stock.ranges.assign(prefixOf('198.51.100.0/24'), [])
    expect((await refusalOf(nowhere)).code).toBe('not_found')
    expect((await refusalOf(shop.services.stock.ranges.nodeIdsOf(['nobody']))).code).toBe('not_found')
  })

  test('an address is refused as an exit while it is in stock, and as stock while it is an exit', async () => {
    const location = { country: 'AT', state: '', city: '', zip: '', asn: null }
    const local = { pool: 'residential', kind: 'local' as const, port: null, credentials: null, ...location }
    await add('203.0.113.0/30')
    const exit = await shop.services.premium.exits.addOne({ ...local, host: '198.51.100.9' })
    expect((await refusalOf(shop.services.premium.exits.addOne({ ...local, host: '203.0.113.1' }))).code).toBe(
      'conflict',
    )
    expect((await refusalOf(add('198.51.100.0/24'))).code).toBe('conflict')
    expect(Number((await shop.db.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM stock'))?.n)).toBe(4)
    // A drained exit frees its address for the stock, and then cannot be put back.
    await shop.services.premium.exits.drain(exit.id, true)
    expect(await add('198.51.100.0/24')).toBe(256)
    expect((await refusalOf(shop.services.premium.exits.drain(exit.id, false))).code).toBe('conflict')
  })

  test('an exit inside an IPv6 block on sale is refused in either order, and its address is never sold', async () => {
    const location = { country: 'AT', state: '', city: '', zip: '', asn: null }
    const local = { pool: 'residential', kind: 'local' as const, port: null, credentials: null, ...location }
    const exits = shop.services.premium.exits
    await add('2001:db8:1::/96', 6)
    expect((await refusalOf(exits.addOne({ ...local, host: '2001:db8:1::7' }))).message).toContain('2001:db8:1::/96')
    await exits.addOne({ ...local, host: '2001:db8:2::7' })
    expect((await refusalOf(add('2001:db8:2::/64', 6))).code).toBe('conflict')
    expect(await shop.services.stock.hasBlock(prefixOf('2001:db8:2::/64'))).toBe(false)
    // A random source that always draws the same address, which is an exit, from 16 bytes.
    const lone = createServices(
      shop.db,
      {
        ...runtimeWith(shop.clock),
        random: (count: number) => (count === 16 ? new Uint8Array(16) : realRuntime.random(count)),
      },
      shop.services.config,
    )
    const node = await addGateway('gate-1')
    await claimLocally(node, '2001:db8:1::/96', [0, 1])
    await shop.db.transact(async (tx) => exits.add(tx, [{ ...local, host: '2001:db8:1::1' }]))
    const refused = buyProxies(lone, shop.customer, { code: 'AT', ipv: 6, period: 7, count: 1 })
    expect((await refusalOf(refused)).code).toBe('out_of_stock')
    expect(await buy(1, 6)).toHaveLength(1)
  })

  test('random sales sell exactly the slots that live nodes serve, and none twice', async () => {
    await add('203.0.113.0/27')
    const nodes = [await addGateway('gate-1'), await addGateway('gate-2'), await addGateway('gate-3')]
    const run = fc
      .tuple(fc.nat(31), fc.nat(8))
      .map(([first, count]): AddressRun => [first, Math.min(count + 1, 32 - first)])
    const step = fc.record({
      node: fc.nat(2),
      run: fc.option(run),
      silent: fc.boolean(),
      count: fc.integer({ min: 0, max: 3 }),
    })
    const sold = new Set<string>()
    const servedBy = new Map<number, number>()
    const able = new Map<number, AddressRun[]>()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 4 }), async (steps) => {
        for (const each of steps) {
          shop.clock.advance(1001)
          const reporting = nodes.filter((_, index) => index !== each.node || !each.silent)
          if (each.silent) shop.clock.advance(servingWithinMs)
          for (const node of reporting) await contact(node)
          const served = each.run === null || each.silent ? [] : [each.run]
          if (!each.silent) {
            await claimLocally(nodes[each.node] ?? '', '203.0.113.0/27', ...served)
            able.set(each.node, served)
          }
          // A lost slot goes to another node that can use it; an unserved slot goes to the reporting node.
          for (let offset = 0; offset < 32; offset += 1) {
            const row = await gatewayOf(`203.0.113.${offset}`)
            const index = row === null ? -1 : nodes.indexOf(row)
            if (index >= 0) expect(covers(able.get(index) ?? [], offset)).toBe(true)
            if (index >= 0) servedBy.set(offset, index)
            else servedBy.delete(offset)
          }
          const live = new Set(reporting)
          const unsold = [...servedBy].filter(([offset]) => !sold.has(`203.0.113.${offset}`))
          const onSale = unsold.filter(([, index]) => live.has(nodes[index] ?? ''))
          expect(await shop.services.stock.available(kindIn('AT', 4))).toBe(onSale.length)
          if (each.count === 0) continue
          if (onSale.length < each.count) {
            const { code, details } = await refusalOf(buy(each.count))
            const isAway = unsold.length >= each.count
            expect([code, details]).toEqual(
              isAway
                ? ['unavailable', { charged: false }]
                : ['out_of_stock', { available: onSale.length, charged: false }],
            )
            continue
          }
          for (const address of await buy(each.count)) {
            expect(sold.has(address)).toBe(false)
            expect(onSale.map(([offset]) => `203.0.113.${offset}`)).toContain(address)
            sold.add(address)
          }
        }
      }),
      { numRuns: scaled(8) },
    )
  })
})

test('nodes and the shop have the same size limit for blocks that are not listed by address', () => {
  expect(1n << BigInt(maxTriedSingly)).toBe(maxWrittenOut)
})

const runs = fc.uniqueArray(fc.nat(60), { maxLength: 30 }).map((offsets) => toRuns(offsets.toSorted((a, b) => a - b)))

function toRuns(offsets: readonly number[]): AddressRun[] {
  const made: [number, number][] = []
  for (const offset of offsets) {
    const last = made.at(-1)
    if (last && last[0] + last[1] === offset) last[1] += 1
    else made.push([offset, 1])
  }
  return made
}

test('the runs of without() and within() equal the difference and the intersection of sets', () => {
  fc.assert(
    fc.property(runs, runs, (a, b) => {
      for (const [found, wanted] of [
        [without(a, b), (offset: number) => covers(a, offset) && !covers(b, offset)],
        [within(a, b), (offset: number) => covers(a, offset) && covers(b, offset)],
      ] as const) {
        for (let offset = 0; offset < 64; offset += 1) expect(covers(found, offset)).toBe(wanted(offset))
        expect(isNormal(found, 64)).toBe(true)
      }
    }),
    { numRuns: scaled(300) },
  )
})

test('toPrefixes covers exactly the given addresses, and 256 consecutive ones with one /24', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(255), { maxLength: 256 }), (offsets) => {
      const base = addressToNumber(prefixOf('203.0.113.0/24').base)
      const numbers = offsets.toSorted((a, b) => a - b).map((each) => base + BigInt(each))
      const made = toPrefixes(4, numbers)
      const held = made.flatMap((prefix) =>
        Array.from({ length: 2 ** (32 - prefix.length) }, (_, at) => addressToNumber(prefix.base) + BigInt(at)),
      )
      expect(held).toEqual(numbers)
    }),
    { numRuns: scaled(300) },
  )
  expect(
    toPrefixes(
      4,
      Array.from({ length: 256 }, (_, at) => BigInt(at)),
    ).map(formatPrefix),
  ).toEqual(['0.0.0.0/24'])
})

test('split() of one address from a /24 returns 8 prefixes that contain every other address once', () => {
  const left = split(prefixOf('203.0.113.0/24'), prefixOf('203.0.113.77'))
  expect(left).toHaveLength(8)
  for (let last = 0; last < 256; last += 1) {
    const address = prefixOf(`203.0.113.${last}`).base
    expect([formatAddress(address), left.filter((each) => contains(each, address)).length]).toEqual([
      formatAddress(address),
      last === 77 ? 0 : 1,
    ])
  }
})
