import { describe, expect, test } from 'bun:test'
import { engines } from '../../../../test/harness/database.ts'
import { refusalOf } from '../../../../test/harness/failure.ts'
import { addStock, prefixOf, replaceProxy } from '../../../../test/harness/proxies.ts'
import { useRangeShop } from '../../../../test/harness/ranges.ts'
import { findingsOf } from '../../../../test/harness/wired.ts'
import { readAddress } from '../../../core/address.ts'
import { noStalls, runningSince } from '../../../core/stall-monitor.ts'
import { lookAtRanges } from '../index.ts'
import { leasedWithinMs, proofMs, proofRenewedMs, servingWithinMs } from './rules.ts'

describe.each([...engines])('proofs of ranges by gateways on %s', (engine) => {
  const shop = useRangeShop(engine)
  const { contact, addGateway, claim, available, gatewayOf } = shop
  const request = (node: string, from: string) =>
    shop.services.stock.ranges.seen(node, readAddress(from) ?? expect.unreachable(`${from} is no address`))
  const buy = async (ipv: 4 | 6 = 4): Promise<string> => (await shop.buy(1, ipv))[0] ?? ''
  const problemsOf = async (prefix: string): Promise<string> => {
    const shown = await lookAtRanges(shop.services, runningSince({ clock: () => shop.clock.nowMs, stalls: noStalls }))
    return shown.find((each) => each.range.prefix === prefix)?.problems.join('; ') ?? ''
  }

  test.each([
    [4, '203.0.113.0/30', '203.0.113.2', '203.0.113.4', 4, 4],
    [6, '2001:db8::/64', '2001:db8::9:7', '2001:db8:0:1::7', 1, 20_000],
    [6, '2001:db8::/126', '2001:db8::3', '2001:db8::4', 4, 4],
  ] as const)(
    'IPv%d range %s is sold after a request of its gateway from %s, and not after a claim or a request from %s',
    async (ipv, prefix, within, outside, served, onSale) => {
      const node = await addGateway('gate-1')
      await addStock(shop.services, prefix, 'AT', ipv)
      await claim(node, prefix, [0, served])
      await request(node, outside)
      expect(await available(ipv)).toBe(0)
      expect((await refusalOf(buy(ipv))).code).toBe('out_of_stock')
      expect(await problemsOf(prefix)).toContain(`gate-1: ${served} claimed and not proven, not sold`)
      await request(node, within)
      expect(await available(ipv)).toBe(onSale)
      expect(await problemsOf(prefix)).toBe('')
      expect(await buy(ipv)).not.toBe('')
      const { trials } = await shop.services.stock.ranges.overview()
      expect(trials).toMatchObject([{ node, provenFrom: within, proofUntil: shop.clock.nowMs - 1001 + proofMs }])
    },
  )

  test('a range that no gateway has although its gateway reports is lost after a minute, and not if the gateway is silent', async () => {
    const lost = async () => {
      const shown = await lookAtRanges(shop.services, runningSince({ clock: () => shop.clock.nowMs, stalls: noStalls }))
      return shown.filter((each) => each.isLost).map((each) => each.range.prefix)
    }
    const [first, second] = [await addGateway('gate-1'), await addGateway('gate-2')]
    await addStock(shop.services, '203.0.113.0/30', 'AT', 4)
    await request(first, '203.0.113.1')
    const contacts = async (...nodes: string[]) => {
      for (const each of nodes) await contact(each)
    }
    await claim(first, '203.0.113.0/30', [0, 4])
    await claim(second, '203.0.113.0/30')
    expect(await lost()).toEqual([])
    // gate-1 has the range and is silent: that is the alert of a lost node.
    shop.clock.advance(120_000)
    await contacts(second)
    expect(await lost()).toEqual([])
    await contacts(first, second)
    await claim(first, '203.0.113.0/30')
    expect(await lost()).toEqual([])
    shop.clock.advance(61_000)
    await contacts(first, second)
    expect(await lost()).toEqual(['203.0.113.0/30'])
    await claim(first, '203.0.113.0/30', [0, 4])
    expect(await lost()).toEqual([])
  })

  test('a proof of a range by one gateway does not count for another gateway', async () => {
    const [honest, other] = [await addGateway('gate-1'), await addGateway('gate-2')]
    await addStock(shop.services, '203.0.113.0/30', 'AT', 4)
    await request(honest, '203.0.113.1')
    await claim(other, '203.0.113.0/30', [0, 4])
    expect(await available()).toBe(0)
    await claim(honest, '203.0.113.0/30', [0, 4])
    expect(await gatewayOf('203.0.113.0')).toBe(honest)
  })

  test('an expired proof stops new sales and keeps sold addresses on their gateway, until the next request', async () => {
    const node = await addGateway('gate-1')
    await addStock(shop.services, '203.0.113.0/30', 'AT', 4)
    await addStock(shop.services, '2001:db8::/64', 'AT', 6)
    for (const from of ['203.0.113.0', '2001:db8::1']) await request(node, from)
    await claim(node, '203.0.113.0/30', [0, 4])
    await claim(node, '2001:db8::/64', [0, 1])
    const sold = await buy()
    shop.clock.advance(proofMs)
    await contact(node)
    expect(await available()).toBe(0)
    for (const ipv of [4, 6] as const) expect((await refusalOf(buy(ipv))).code).toBe('unavailable')
    expect(await gatewayOf(sold)).toBe(node)
    const slot = await shop.db.first<{ id: bigint }>('SELECT id FROM stock WHERE address = $1', [sold])
    expect((await shop.services.stock.served.servedAmong([Number(slot?.id)])).size).toBe(1)
    expect(await problemsOf('203.0.113.0/30')).toContain('4 claimed and not proven, not sold')
    expect(await findingsOf(shop.services)).toEqual([])
    await request(node, '203.0.113.3')
    expect(await available()).toBe(3)
    expect(await buy()).not.toBe(sold)
  })

  test('a request renews a proof that is 15 minutes old, and does not change a younger one', async () => {
    const node = await addGateway('gate-1')
    await addStock(shop.services, '203.0.113.0/30', 'AT', 4)
    const untilOf = async () => (await shop.services.stock.ranges.overview()).trials[0]?.proofUntil
    await request(node, '203.0.113.0')
    const first = shop.clock.nowMs + proofMs
    shop.clock.advance(proofRenewedMs - 1)
    await request(node, '203.0.113.1')
    expect(await untilOf()).toBe(first)
    shop.clock.advance(1)
    await request(node, '203.0.113.1')
    expect(await untilOf()).toBe(first + proofRenewedMs)
  })

  test('a gateway that proves a range takes it over from a live gateway whose proof has expired', async () => {
    const [first, second] = [await addGateway('gate-1'), await addGateway('gate-2')]
    await addStock(shop.services, '203.0.113.0/30', 'AT', 4)
    await request(first, '203.0.113.0')
    await claim(first, '203.0.113.0/30', [0, 4])
    shop.clock.advance(proofMs)
    for (const node of [first, second]) await contact(node)
    await claim(second, '203.0.113.0/30', [0, 4])
    expect(await gatewayOf('203.0.113.0')).toBe(first)
    await request(second, '203.0.113.0')
    expect(await gatewayOf('203.0.113.0')).toBe(second)
    await request(first, '203.0.113.0')
    expect(await gatewayOf('203.0.113.0')).toBe(second)
  })

  /** The address of a proxy that was bought on gate-1, a gateway that serves the range, and a hostile gateway. */
  async function buyOnHonest() {
    const [honest, hostile] = [await addGateway('gate-1'), await addGateway('gate-2')]
    await addStock(shop.services, '203.0.113.0/30', 'AT', 4)
    await request(honest, '203.0.113.0')
    await claim(honest, '203.0.113.0/30', [0, 4])
    return { honest, hostile, bought: await buy() }
  }

  test('a request through a proxy bought on another gateway proves no range until 1 day after its lease', async () => {
    const { honest, hostile, bought } = await buyOnHonest()
    await request(hostile, bought)
    await claim(hostile, '203.0.113.0/30', [0, 4])
    // gate-1 does not report, and may still serve the sold address.
    shop.clock.advance(servingWithinMs + 1)
    await contact(hostile)
    await request(hostile, bought)
    await claim(hostile, '203.0.113.0/30', [0, 4])
    expect(await available()).toBe(0)
    expect(await gatewayOf(bought)).toBe(honest)
    // The lease ends by a replacement that gate-1 may not know yet.
    await contact(honest)
    const [[held] = []] = await Array.fromAsync(shop.services.dedicated.pagesOf(shop.customer, undefined))
    await replaceProxy(shop.services, shop.customer, held?.id ?? 0)
    shop.clock.advance(leasedWithinMs)
    const provenFrom = async () =>
      (await shop.services.stock.ranges.overview()).trials.find((each) => each.node === hostile)?.provenFrom
    await request(hostile, bought)
    expect(await provenFrom()).toBeNull()
    shop.clock.advance(1)
    await request(hostile, bought)
    expect(await provenFrom()).toBe(bought)
  })

  test('a request from a sold address renews the proof of its gateway, except while another gateway claims it', async () => {
    const { honest, hostile, bought } = await buyOnHonest()
    const untilOf = async () =>
      (await shop.services.stock.ranges.overview()).trials.find((each) => each.node === honest)?.proofUntil
    shop.clock.advance(proofRenewedMs)
    for (const node of [honest, hostile]) await contact(node)
    await claim(hostile, '203.0.113.0/30', [0, 4])
    const before = await untilOf()
    await request(honest, bought)
    expect(await untilOf()).toBe(before)
    shop.clock.advance(servingWithinMs + 1)
    await contact(honest)
    await request(honest, bought)
    expect(await untilOf()).toBe(shop.clock.nowMs + proofMs)
  })

  test('a gateway that returns takes its range back once the proof of the other gateway has expired', async () => {
    const [first, second] = [await addGateway('gate-1'), await addGateway('gate-2')]
    await addStock(shop.services, '203.0.113.0/30', 'AT', 4)
    await request(first, '203.0.113.0')
    await claim(first, '203.0.113.0/30', [0, 4])
    shop.clock.advance(servingWithinMs + 1)
    await contact(second)
    await request(second, '203.0.113.0')
    await claim(second, '203.0.113.0/30', [0, 4])
    expect(await gatewayOf('203.0.113.0')).toBe(second)
    shop.clock.advance(proofRenewedMs)
    for (const node of [first, second]) await contact(node)
    await request(first, '203.0.113.0')
    await claim(first, '203.0.113.0/30', [0, 4])
    expect(await gatewayOf('203.0.113.0')).toBe(second)
    shop.clock.advance(proofMs - proofRenewedMs)
    for (const node of [first, second]) await contact(node)
    await claim(first, '203.0.113.0/30', [0, 4])
    expect(await gatewayOf('203.0.113.0')).toBe(first)
  })

  test('a gateway that the operator assigns needs no proof, also for 1 hour after "stock assign --any"', async () => {
    const node = await addGateway('gate-1')
    await addStock(shop.services, '203.0.113.0/30', 'AT', 4)
    await claim(node, '203.0.113.0/30', [0, 4])
    expect(await available()).toBe(0)
    await shop.services.stock.ranges.assign(prefixOf('203.0.113.0/30'), [node])
    shop.clock.advance(proofMs)
    await contact(node)
    expect(await available()).toBe(4)
    expect([await problemsOf('203.0.113.0/30'), (await shop.services.stock.ranges.unproven()).size]).toEqual(['', 0])
    await shop.services.stock.ranges.assign(prefixOf('203.0.113.0/30'), [])
    shop.clock.advance(5000)
    expect(await available()).toBe(4)
    expect(await problemsOf('203.0.113.0/30')).toContain('gate-1: 4 claimed and not proven, sold only until ')
    expect(await shop.services.stock.ranges.unproven()).toEqual(new Map([[node, 1]]))
    expect(await buy()).not.toBe('')
    shop.clock.advance(proofMs)
    await contact(node)
    expect(await available()).toBe(0)
  })
})
