import { afterAll, beforeAll, describe, expect } from 'bun:test'
import type { Services } from '../../src/app/shop/services.ts'
import type { Database } from '../../src/db/transaction.ts'
import shippedCatalogue from '../../src/domains/pricing/catalogue.yaml'
import type { Kind } from '../../src/domains/stock/rules.ts'
import { addFleetGateway, type FleetNet, gatewayPort, openFleetNet, openFleetShop } from '../harness/fleet-net.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { addStock, buyProxies, kindIn } from '../harness/proxies.ts'
import { runCommand, untilTrue } from '../harness/turnpike.ts'
import { waitLimitMs } from '../harness/until.ts'
import { addCustomer } from '../harness/wired.ts'

const { test, isPossible } = await findNetnsSupport('tests of gateways in networks of their own')

/** Limit of a whole test; each wait within it has its own limit. */
const hangMs = 10 * waitLimitMs

type RangeShown = { range: string; served: number; served_by: string[]; problems: string[] }

describe('stock of two gateways with their own addresses', () => {
  let net: FleetNet
  let db: Database
  let services: Services
  let first: Bun.Subprocess
  const [german, dutch] = [kindIn('DE', 4), kindIn('NL', 4)]

  /** The addresses that a purchase could lease now. The transaction is rolled back. */
  async function onSale(kind: Kind): Promise<string[]> {
    const ready = await services.stock.prepare(kind, 1)
    const found: string[] = []
    const undone = new Error('undone')
    const taking = db.transact(async (tx) => {
      for (const held = new Set<string>(); ; ) {
        const [slot] = await services.stock.take(tx, kind, 1, held, ready).catch(() => [])
        if (!slot) throw undone
        held.add(slot.address)
        found.push(slot.address)
      }
    })
    expect(await taking.catch((error: unknown) => error)).toBe(undone)
    return found.toSorted()
  }
  async function untilOnSale(kind: Kind, addresses: readonly string[]): Promise<void> {
    // Reads without a write transaction, so that gateways and shop do not wait for the test.
    await untilTrue(async () => (await services.stock.available(kind)) === addresses.length)
    expect(await onSale(kind)).toEqual([...addresses])
  }
  async function shown(range: string): Promise<RangeShown | undefined> {
    const { out } = await runCommand(['stock', 'ranges', '--json'], { TURNPIKE_DATA: net.shopData })
    return (JSON.parse(out).items as RangeShown[]).find((each) => each.range === range)
  }

  beforeAll(async () => {
    if (!isPossible) return
    net = await openFleetNet(2)
    for (const address of ['45.12.1.10', '45.12.1.11']) await net.ip(1, `address add ${address}/32 dev w0`)
    for (const address of ['45.12.2.10', '45.12.2.11']) await net.ip(2, `address add ${address}/32 dev w0`)
    services = await openFleetShop(net)
    db = services.db
    await addStock(services, '45.12.1.10/31', 'DE', 4)
    await addStock(services, '45.12.2.10/31', 'NL', 4)
    first = net.startGateway(1, await addFleetGateway(services, 1, 'first'))
    net.startGateway(2, await addFleetGateway(services, 2, 'second'))
  }, hangMs)
  afterAll(async () => {
    await db?.close()
    await net?.close()
  })

  test(
    'each of two gateways serves the 2 addresses of its own machine and none of the other',
    async () => {
      await untilOnSale(german, ['45.12.1.10', '45.12.1.11'])
      await untilOnSale(dutch, ['45.12.2.10', '45.12.2.11'])
      expect(await shown('45.12.1.10/31')).toMatchObject({ served: 2, served_by: ['first'], problems: [] })
      expect(await shown('45.12.2.10/31')).toMatchObject({ served: 2, served_by: ['second'], problems: [] })
      const { trials } = await services.stock.ranges.overview()
      expect(trials.map((each) => each.seenAs)).toEqual(trials.map(() => null))
      const networks = trials.flatMap(({ provenFrom }) => (provenFrom === null ? [] : [provenFrom.slice(0, -2)]))
      expect(networks.toSorted()).toEqual(['45.12.1.', '45.12.2.'])
    },
    hangMs,
  )

  test(
    'an address that its machine lost or whose packets are dropped is not sold until it works again',
    async () => {
      await net.ip(1, 'address del 45.12.1.11/32 dev w0')
      await net.drop('45.12.2.11', true)
      await untilOnSale(german, ['45.12.1.10'])
      expect((await shown('45.12.1.10/31'))?.problems).toContain(
        'first: 45.12.1.11 is not on this machine: run "turnpike range setup 45.12.1.10/31" on first',
      )
      await untilOnSale(dutch, ['45.12.2.10'])
      expect((await shown('45.12.2.10/31'))?.problems).toContain(
        'second: 45.12.2.11 cannot leave: no call from there reaches the shop. ' +
          'Check that your provider routes 45.12.2.10/31 to second, and run "turnpike range setup 45.12.2.10/31" there',
      )
      await net.ip(1, 'address add 45.12.1.11/32 dev w0')
      await net.drop('45.12.2.11', false)
      await untilOnSale(german, ['45.12.1.10', '45.12.1.11'])
      await untilOnSale(dutch, ['45.12.2.10', '45.12.2.11'])
    },
    hangMs,
  )

  test(
    'no address of a stopped gateway is sold until the gateway is back',
    async () => {
      await untilOnSale(german, ['45.12.1.10', '45.12.1.11'])
      first.kill('SIGTERM')
      await untilOnSale(german, [])
      expect((await shown('45.12.1.10/31'))?.problems).toContain('first is stopping')
      expect(await first.exited).toBe(0)
      net.startGateway(1, '')
      await untilOnSale(german, ['45.12.1.10', '45.12.1.11'])
    },
    hangMs,
  )

  test(
    'a gateway refuses its customers the machines of the shop and of the other gateway',
    async () => {
      await untilOnSale(german, ['45.12.1.10', '45.12.1.11'])
      await db.transact((tx) => services.pricing.apply(tx, shippedCatalogue))
      const { proxies } = await buyProxies(services, await addCustomer(services, 10n ** 7n), { code: 'DE', ipv: 4 })
      const [bought] = proxies
      const proxy = `http://${bought?.username}:${bought?.password}@45.12.1.2:${gatewayPort}`
      for (const authority of ['45.13.0.1:8443', `45.12.2.2:${gatewayPort}`]) {
        let head = ''
        // 407 until the gateway has read the proxy from the shop.
        await untilTrue(async () => {
          head = await net.askThrough(1, proxy, `http://${authority}/`)
          return !head.startsWith('HTTP/1.1 407')
        })
        expect(head).toContain('destination_is_ours')
      }
    },
    hangMs,
  )
})
