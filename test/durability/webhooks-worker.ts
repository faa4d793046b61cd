/**
 * Delivers webhooks without pause, until it is killed, and writes events of the customers: `webhooks-worker.ts ADDRESS
 * AHEAD EVENTS CUSTOMER…`, with a clock AHEAD by so many milliseconds. It writes EVENTS events of each customer, and
 * prints `ready`, and `written` after the last event.
 */
import { writeSync } from 'node:fs'
import { createVault } from '../../src/adapters/crypto.ts'
import { createSenders } from '../../src/adapters/webhook-sender.ts'
import { realRuntime } from '../../src/app/shop/services.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { openDatabase } from '../../src/db/open.ts'
import { createWebhooks } from '../../src/domains/webhooks/index.ts'
import { startDeliveries } from '../../src/jobs/webhooks.ts'
import { wire } from '../harness/wired.ts'

const [address = '', ahead = '0', count = '0', ...customers] = process.argv.slice(2)
const clock = () => Date.now() + Number(ahead)
const services = wire(openDatabase(address), { read: clock })
const webhooks = createWebhooks({
  ...realRuntime,
  ...services,
  clock,
  vault: createVault(new Uint8Array(32)),
  customers: { mode: async () => 'sandbox', blockedAmong: services.customers.blockedAmong },
  openSender: createSenders(),
})
startDeliveries(
  { webhooks, events: services.events },
  { error: (event, fields) => process.stderr.write(`${event} ${JSON.stringify(fields)}\n`) },
)
writeSync(1, 'ready\n')

async function writeEvents(customer: CustomerId): Promise<void> {
  for (let number = 0; number < Number(count); number += 1) {
    const event = { customer, type: 'proxy.ended', order: null, subject: null, data: { number } } as const
    await services.db.transact((tx) => services.events.note(tx, [event]))
  }
}
await Promise.all(customers.map((each) => writeEvents(each as CustomerId)))
writeSync(1, 'written\n')
