import type { PaymentWatch } from '../../../domains/payments/index.ts'
import { readBytes } from '../../body.ts'
import type { PlainRoute } from '../../http.ts'

/** Notifications per minute and client prefix: more than any provider sends. */
const perMinute = 600

/** Notifications of providers. The provider's adapter authenticates the caller; the message is only a hint. */
export function notifyRoute({ paymentWatch }: { paymentWatch: PaymentWatch }): PlainRoute {
  return {
    path: '/api/v1/payments/notify/:provider',
    takes: 'POST',
    perMinute,
    async answer(request, params, from) {
      const body = await readBytes(request)
      await paymentWatch.notify(params['provider'] ?? '', { headers: request.headers, body, from })
      return Response.json({ ok: true })
    },
  }
}
