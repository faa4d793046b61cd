import type { PaymentWatch } from '../../../domains/payments/index.ts'
import { readBytes } from '../../body.ts'
import type { PlainRoute } from '../../http.ts'

/** What one source may send in a minute: more than any provider does. */
const perMinute = 600

/** Where providers call. Whoever calls is checked by the provider's adapter, and what he says is only a hint. */
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
