/**
 * Runs all payment work of a shop without pause, until it is killed: begins payments, some with a purchase, takes
 * notifications, polls payments, makes paid purchases, and refunds. Run as its own process: `payments-worker.ts ADDRESS
 * PROVIDER METHOD AHEAD CUSTOMER…`, with a clock AHEAD by so many milliseconds; notifications are lines of JSON on
 * stdin. It prints `ready`, and then a line for each payment `begun` or `refused`, each notification taken (`notified`)
 * and each run that `bought` something.
 */
import { writeSync } from 'node:fs'
import type { CustomerId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Payment } from '../../src/domains/payments/rules.ts'
import { wire } from '../harness/wired.ts'

const [address = '', provider = '', method = '', ahead = '0', ...customers] = process.argv.slice(2)
const services = wire(openDatabase(address), { read: () => Date.now() + Number(ahead) })
/** 32 roubles, of the 100 and more that are paid. */
const purchase = { product: 'traffic', input: { pool: 'residential', tenths: 1 } }

/** A refusal by a limit of the shop or the provider is retried. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}

async function beginPayments(customer: CustomerId): Promise<never> {
  for (let count = 0; ; count += 1) {
    const input = {
      amount: kopecks(BigInt(10_000 + count)),
      method,
      returnUrl: undefined,
      email: undefined,
      ...(count % 2 === 0 && { purchase }),
    }
    const key = `${process.pid}-${count}`
    const begun = services.payments.begin({ customer, token: null }, key, input, 'http://shop.test')
    // After this line the payment counts as acknowledged: the text is in the pipe, whatever happens to this process.
    await begun.then(
      ({ payment }) => writeSync(1, `begun ${payment.id}\n`),
      (error: unknown) => {
        ignoreRefusal(error)
        writeSync(1, 'refused\n')
      },
    )
    await Bun.sleep(5)
  }
}

async function take(line: string): Promise<void> {
  const { headers, body } = JSON.parse(line) as { headers: Record<string, string>; body: string }
  const from = { version: 4 as const, bytes: Uint8Array.of(127, 0, 0, 1) }
  const notification = { headers: new Headers(headers), body: new TextEncoder().encode(body), from }
  const taken = services.paymentWatch.notify(provider, notification)
  await taken.then(() => writeSync(1, 'notified\n'), ignoreRefusal)
}

async function takeNotifications(): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of Bun.stdin.stream()) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) await take(line)
  }
}

async function pollPayments(): Promise<never> {
  for (;;) {
    await services.paymentWatch.pollDue(20)
    if ((await services.purchases.fulfilAll(20)) > 0) writeSync(1, 'bought\n')
    await Bun.sleep(10)
  }
}

/** Each refund has its own key, so that the next process can continue it. */
async function refund({ id, amount }: Payment, count: number): Promise<void> {
  const isPart = provider === 'yookassa' && count % 2 === 0
  const input = { amount: isPart ? kopecks(amount / 3n) : ('all' as const), intoDebt: true, note: 'back' }
  await services.paymentOperator.refund(id, { ...input, key: `back ${id} ${isPart}` }).catch(ignoreRefusal)
}

async function refundPayments(): Promise<never> {
  for (let count = 0; ; count += 1) {
    const paid = await services.paymentOperator.list({ customer: '', state: 'paid', before: undefined, limit: 9 })
    const chosen = paid[count % 9]
    if (chosen) await refund(chosen, count)
    await Bun.sleep(20)
  }
}

writeSync(1, 'ready\n')
await Promise.all([
  ...customers.map((each) => beginPayments(each as CustomerId)),
  takeNotifications(),
  pollPayments(),
  ...(provider === 'crypto_pay' ? [] : [refundPayments()]),
])
