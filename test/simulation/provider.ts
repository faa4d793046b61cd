import { createYookassa } from '../providers/yookassa.ts'
import type { Process } from './process.ts'
import { fromHeader, shopUrl } from './shop.ts'
import type { World } from './world.ts'

export const providerHost = 'api.yookassa.ru'
export const providerShop = { id: '100500', secret: 'test_secret-of-the-shop' }
/** One of the addresses that the provider publishes for its notifications. */
const notifiesFrom = '185.71.76.3'
const repeatMs = 1_500
const maxNotices = 12

/** A payment provider: payers pay its bills, and it notifies the shop until the shop accepts. */
export class Provider {
  readonly process: Process
  private readonly side
  private notifying = 0

  constructor(private readonly world: World) {
    this.process = world.start('provider')
    this.side = createYookassa(providerShop, {}, this.process.clock, () => `https://${providerHost}`)
  }

  readonly answer = (request: Request): Promise<Response> => this.side.act(request, new URL(request.url))

  get isIdle(): boolean {
    return this.notifying === 0
  }

  /** What payers have paid for a payment of the shop and not got back, in kopecks. */
  paidFor(payment: string): number {
    const bills = [...this.side.bills.values()].filter(({ mark, status }) => mark === payment && status === 'paid')
    return bills.reduce((sum, { hundredths, backHundredths }) => sum + hundredths - backHundredths, 0)
  }

  /** The payer pays, cancels, or gets money back. The provider notifies the shop of it. */
  change(payment: string, what: 'pay' | 'cancel' | 'charge back'): void {
    const bill = [...this.side.bills.values()].find(({ mark }) => mark === payment)
    if (!bill) return
    if (what === 'pay' && bill.status === 'waiting') this.side.pay(bill.id)
    else if (what === 'cancel' && bill.status === 'waiting') this.side.end(bill.id)
    else if (what === 'charge back' && bill.status === 'paid' && bill.backHundredths === 0)
      this.side.refund(bill.id, bill.hundredths)
    else return
    this.world.note(`the payer of ${payment}: ${what}`)
    this.notifying += 1
    this.process.run(() => {
      this.notify(bill.id)
        .catch((error: unknown) => this.world.fail(error))
        .finally(() => {
          this.notifying -= 1
        })
    })
  }

  private async notify(bill: string): Promise<void> {
    for (let notice = 0; notice < maxNotices; notice += 1) {
      const { headers, body } = this.side.notificationOf(bill)
      const isTaken = await fetch(`${shopUrl}/api/v1/payments/notify/yookassa`, {
        method: 'POST',
        headers: { ...headers, [fromHeader]: notifiesFrom },
        body,
        signal: AbortSignal.timeout(5_000),
      }).then(
        ({ ok }) => ok,
        () => false,
      )
      if (isTaken) return
      await new Promise<void>((resolve) => void setTimeout(resolve, repeatMs))
    }
  }
}
