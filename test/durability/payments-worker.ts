/**
 * Begins payments, takes notifications and asks for payments without pause until it is killed. Run as a process of its
 * own: `payments-worker.ts ADDRESS PROVIDER METHOD CUSTOMER…`; notifications come as lines of JSON.
 */
import { writeSync } from 'node:fs'
import { openDatabase } from '../../src/db/open.ts'
import type { CustomerId } from '../../src/kernel/ids.ts'
import { kopecks } from '../../src/kernel/money.ts'
import { Refusal } from '../../src/kernel/refusal.ts'
import { wire } from '../harness/wired.ts'

const [address = '', provider = '', method = '', ...customers] = process.argv.slice(2)
const services = wire(openDatabase(address))

/** Too much at once, for the shop or for the provider: it is tried again. */
function passOverRefusal(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}

async function beginForEver(customer: CustomerId): Promise<never> {
  for (let count = 0; ; count += 1) {
    const wish = { amount: kopecks(BigInt(10_000 + count)), method, returnUrl: undefined, email: undefined }
    const key = `${process.pid}-${count}`
    const begun = services.payments.begin({ customer, token: null }, key, wish, 'http://shop.test')
    // Past this line its customer knows of it: the text is in the pipe, whatever happens to this process.
    await begun.then(({ payment }) => writeSync(1, `${payment.id}\n`), passOverRefusal)
    await Bun.sleep(5)
  }
}

async function takeForEver(): Promise<void> {
  for await (const line of console) {
    const { headers, body } = JSON.parse(line) as { headers: Record<string, string>; body: string }
    const from = { version: 4 as const, bytes: Uint8Array.of(127, 0, 0, 1) }
    const notification = { headers: new Headers(headers), body: new TextEncoder().encode(body), from }
    await services.paymentWatch.notify(provider, notification).catch(() => undefined)
  }
}

async function askForEver(): Promise<never> {
  for (;;) {
    await services.paymentWatch.lookAgain(20)
    await Bun.sleep(10)
  }
}

writeSync(1, 'begun\n')
await Promise.all([...customers.map((each) => beginForEver(each as CustomerId)), takeForEver(), askForEver()])
