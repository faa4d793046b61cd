import { afterAll, beforeAll, describe, expect } from 'bun:test'
import type { Services } from '../../src/app/shop/services.ts'
import type { Exit } from '../../src/domains/premium/exits/rules.ts'
import shippedCatalogue from '../../src/domains/pricing/catalogue.yaml'
import { addFleetGateway, type FleetNet, gatewayPort, openFleetNet, openFleetShop } from '../harness/fleet-net.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { runCommand, untilTrue } from '../harness/turnpike.ts'
import { waitLimitMs } from '../harness/until.ts'
import { addCustomer, findingsOf, keylessRequest } from '../harness/wired.ts'

const { test, isPossible } = await findNetnsSupport('tests of gateways in networks of their own')

/** Limit of a whole test; each wait within it has its own limit. */
const hangMs = 10 * waitLimitMs

const pool = 'residential'
const origin = '45.12.1.1'

describe('a local exit without a named gateway, and two gateways', () => {
  let net: FleetNet
  let services: Services
  let login = ''
  let first = ''
  let second = ''
  beforeAll(async () => {
    if (!isPossible) return
    net = await openFleetNet(2)
    services = await openFleetShop(net)
    await services.db.transact((tx) => services.pricing.apply(tx, shippedCatalogue))
    net.startOrigin(origin)
  }, hangMs)
  afterAll(async () => {
    await services?.db.close()
    await net?.close()
  })

  const run = (...args: string[]) => runCommand(args, { TURNPIKE_DATA: net.shopData })
  const exits = (): Promise<Exit[]> => services.premium.exits.list(pool, '', 10)
  const reportsOf = async (node: string) => {
    const ids = (await exits()).map((each) => each.id)
    return (await services.premium.exits.reports(ids)).filter((each) => each.node === node)
  }
  const idOf = async (name: string): Promise<string> => (await services.fleet.findByName(name))?.id ?? ''
  /** The head of the answer to a CONNECT from a gateway's machine to that gateway. */
  const connect = (index: number) =>
    net.askThrough(index, `http://${login}@45.12.${index}.2:${gatewayPort}`, `https://${origin}:8443/`)

  async function buyTraffic(): Promise<string> {
    const customer = await addCustomer(services, 10n ** 7n)
    await services.premium.traffic.buy(keylessRequest(customer), { pool, tenths: 10, subuser: undefined })
    const { subuser, password } = await services.premium.subusers.password(customer, undefined)
    return `${subuser.login}-pool-${pool}:${password}`
  }

  test(
    'a local exit added without --node is bound to the gateway whose machine has the address',
    async () => {
      net.startGateway(1, await addFleetGateway(services, 1, 'first'))
      first = await idOf('first')
      expect((await run('exit', 'add', pool, '--local', '45.12.1.2', '--country', 'DE')).exit).toBe(0)
      expect(await untilTrue(async () => (await exits())[0]?.node === first)).toBeTrue()
      login = await buyTraffic()
      expect(await untilTrue(async () => (await connect(1)).startsWith('HTTP/1.1 200'))).toBeTrue()
    },
    hangMs,
  )

  test(
    'a second gateway that joins later relays through the exit of the first and reports it up',
    async () => {
      net.startGateway(2, await addFleetGateway(services, 2, 'second'))
      second = await idOf('second')
      expect(await untilTrue(async () => (await reportsOf(second)).length > 0)).toBeTrue()
      expect(await untilTrue(async () => (await connect(2)).startsWith('HTTP/1.1 200'))).toBeTrue()
      expect(await untilTrue(async () => (await reportsOf(second)).every((each) => each.isUp))).toBeTrue()
      expect((await exits()).map((each) => each.node)).toEqual([first])
      expect(await findingsOf(services)).toEqual([])
    },
    hangMs,
  )
})
