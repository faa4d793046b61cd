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

describe('exits of two gateways', () => {
  let net: FleetNet
  let services: Services
  let access: { login: string; password: string }
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
  function connect(index: number, country: string): Promise<string> {
    const user = `${access.login}-pool-${pool}-country-${country}:${access.password}`
    return net.askThrough(index, `http://${user}@45.12.${index}.2:${gatewayPort}`, `https://${origin}:8443/`)
  }
  const untilAnswered = async (index: number, country: string, part: string) =>
    expect(await untilTrue(async () => (await connect(index, country)).includes(part))).toBeTrue()

  async function buyTraffic(): Promise<typeof access> {
    const customer = await addCustomer(services, 10n ** 7n)
    await services.premium.traffic.buy(keylessRequest(customer), { pool, tenths: 10, subuser: undefined })
    const { subuser, password } = await services.premium.subusers.password(customer, undefined)
    return { login: subuser.login, password }
  }

  test(
    'a local exit added without --node is bound to the gateway whose machine has the address',
    async () => {
      net.startGateway(1, await addFleetGateway(services, 1, 'first'))
      first = await idOf('first')
      expect((await run('exit', 'add', pool, '--local', '45.12.1.2', '--country', 'DE')).exit).toBe(0)
      expect(await untilTrue(async () => (await exits())[0]?.node === first)).toBeTrue()
      access = await buyTraffic()
      await untilAnswered(1, 'de', 'HTTP/1.1 200')
    },
    hangMs,
  )

  test(
    'a second gateway that joins later relays through the exit of the first and reports it up',
    async () => {
      net.startGateway(2, await addFleetGateway(services, 2, 'second'))
      second = await idOf('second')
      expect(await untilTrue(async () => (await reportsOf(second)).length > 0)).toBeTrue()
      await untilAnswered(2, 'de', 'HTTP/1.1 200')
      expect(await untilTrue(async () => (await reportsOf(second)).every((each) => each.isUp))).toBeTrue()
      expect((await exits()).map((each) => each.node)).toEqual([first])
      expect(await findingsOf(services)).toEqual([])
    },
    hangMs,
  )

  test(
    'both gateways use an exit after exit assign, and reach its gateway at the endpoint of node endpoint',
    async () => {
      const local = ['--local', '45.12.2.2', '--country', 'NL']
      const { exit_id: exit } = JSON.parse((await run('exit', 'add', pool, ...local, '--node', 'first', '--json')).out)
      for (const index of [1, 2]) await untilAnswered(index, 'nl', 'no_exit')
      expect((await run('exit', 'assign', exit, '--node', 'second')).exit).toBe(0)
      for (const index of [1, 2]) await untilAnswered(index, 'nl', 'HTTP/1.1 200')
      const setPort = (port: number) => run('node', 'endpoint', 'second', '--host', '45.12.2.2', '--port', String(port))
      await setPort(gatewayPort + 1)
      await untilAnswered(1, 'nl', 'no_exit')
      await setPort(gatewayPort)
      await untilAnswered(1, 'nl', 'HTTP/1.1 200')
      expect(await findingsOf(services)).toEqual([])
    },
    hangMs,
  )

  test(
    'a removed gateway and its exit are in no list, and the other gateway keeps serving its own exit',
    async () => {
      const [exit] = (await exits()).filter((each) => each.node === second)
      for (const args of [
        ['exit', 'drain', exit?.id ?? ''],
        ['exit', 'remove', exit?.id ?? ''],
        ['node', 'close', 'second'],
        ['node', 'remove', 'second'],
      ]) {
        expect((await run(...args)).exit).toBe(0)
      }
      await untilAnswered(1, 'nl', 'no_exit')
      await untilAnswered(1, 'de', 'HTTP/1.1 200')
      expect((await run('node', 'list')).out).not.toContain('second')
      expect((await exits()).map((each) => each.host)).toEqual(['45.12.1.2'])
      expect(await findingsOf(services)).toEqual([])
    },
    hangMs,
  )
})
