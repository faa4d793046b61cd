import type { Log } from '../core/log.ts'
import type { PaymentWatch, Purchases } from '../domains/payments/index.ts'
import type { Chore } from './chores.ts'

const atOnce = 20

/** Asks providers for what they have not told of, closes what was not paid in time, and buys what was paid for. */
export function paymentChores(
  { paymentWatch, purchases }: { paymentWatch: PaymentWatch; purchases: Purchases },
  notes: Pick<Log, 'warn'>,
): readonly Chore[] {
  return [
    {
      name: 'ask for payments',
      everyMs: 5_000,
      async work() {
        for (;;) {
          const { asked, silent } = await paymentWatch.lookAgain(atOnce)
          if (silent.length > 0) notes.warn('payment provider does not answer', { providers: silent })
          if (asked < atOnce) return
          await Bun.sleep(50)
        }
      },
    },
    {
      name: 'buy what was paid for',
      everyMs: 10_000,
      async work() {
        while ((await purchases.carryOutAll(atOnce)) === atOnce) await Bun.sleep(50)
      },
    },
  ]
}
