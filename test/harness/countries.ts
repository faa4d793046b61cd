import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'bun:test'
import type { CustomerId } from '../../src/core/ids.ts'
import type { Engine } from './database.ts'
import { addStock, buyProxies, type DomainShop, openDomainShop, shippedWith } from './proxies.ts'
import { addCustomer, findingsOf } from './wired.ts'

const codes = 'AT BE BG CH CY CZ DK EE ES FI GR HR HU IE'.split(' ')
const rich = 10n ** 9n

/** The market of one test: a country that no other test uses, and a customer with enough money. */
export type Country = {
  readonly floor: DomainShop
  readonly code: string
  /** The number of the test in its file, from 1. */
  readonly number: number
  readonly customer: CustomerId
  readonly buy: (count: number, period?: number) => ReturnType<typeof buyProxies>
  /** The customer's events, without those of purchases. */
  readonly events: () => ReturnType<DomainShop['services']['events']['list']>
}

/** The shipped price list with all countries of these tests. */
export const countriesList = () => shippedWith(...codes)

/**
 * One set of services for the tests around this call. Each test finds `prefixOf` its number in stock in its own
 * country. After each test `verify` must find nothing.
 */
export function sellInCountries(engine: Engine, prefixOf: (number: number) => string): Country {
  let floor: DomainShop
  let customer: CustomerId
  let number = 0
  beforeAll(async () => {
    floor = await openDomainShop(engine, countriesList())
  })
  beforeEach(async () => {
    number += 1
    if (number > codes.length) throw new Error('there are more tests than countries')
    customer = await addCustomer(floor.services, rich)
    await addStock(floor.services, prefixOf(number), here.code, 4)
  })
  afterEach(async () => {
    expect(await findingsOf(floor.services)).toEqual([])
  })
  afterAll(() => floor.close())
  const here: Country = {
    get floor() {
      return floor
    },
    get code() {
      return codes[number - 1] ?? ''
    },
    get number() {
      return number
    },
    get customer() {
      return customer
    },
    buy: (count, period = 30) => buyProxies(floor.services, customer, { code: here.code, ipv: 4, count, period }),
    events: async () => {
      const events = await floor.services.events.list(customer, { after: 0, type: undefined, limit: 500 })
      return events.filter(({ type }) => type !== 'order.created' && type !== 'proxy.renewed')
    },
  }
  return here
}
