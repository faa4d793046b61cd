/**
 * Buys without pause until it is killed, and prints a line for each acknowledged purchase. Run as its own process:
 * `load.ts ADDRESS CUSTOMER…`. The purchase is one function, so that it could also use HTTP.
 */
import { writeSync } from 'node:fs'
import type { CustomerId } from '../../src/core/ids.ts'
import { openDatabase } from '../../src/db/open.ts'
import { buy, wire } from '../harness/wired.ts'

/** Buys, and resolves with the order once the shop has answered. */
type Buyer = (customer: CustomerId, price: bigint, key: string) => Promise<string>

const callersPerCustomer = 6

function buyFromLedger(address: string): Buyer {
  const services = wire(openDatabase(address))
  return async (customer, price, key) => {
    const { body } = await buy(services, { customer, token: null }, price, { key })
    return (JSON.parse(body) as { order: string }).order
  }
}

async function buyForEver(buyer: Buyer, customer: CustomerId, caller: number): Promise<never> {
  for (let count = 0; ; count += 1) {
    const order = await buyer(customer, BigInt(1 + (count % 900)), `${process.pid}-${caller}-${count}`)
    // From here on the purchase counts as acknowledged: the text is in the pipe, whatever happens to this process.
    writeSync(1, `${order}\n`)
  }
}

const [address = '', ...customers] = process.argv.slice(2)
const buyer = buyFromLedger(address)
writeSync(1, 'begun\n')
await Promise.all(
  customers.flatMap((customer) =>
    Array.from({ length: callersPerCustomer }, (_, caller) => buyForEver(buyer, customer as CustomerId, caller)),
  ),
)
