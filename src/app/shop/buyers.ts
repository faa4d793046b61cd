import type { OrderId } from '../../core/ids.ts'
import type { Dedicated } from '../../domains/dedicated/index.ts'
import type { Answer, PurchaseRequest } from '../../domains/orders/index.ts'
import type { Buyer } from '../../domains/payments/index.ts'
import type { Premium } from '../../domains/premium/index.ts'
import type { Vpn } from '../../domains/vpn/index.ts'

type Products = { readonly dedicated: Dedicated; readonly premium: Premium; readonly vpn: Vpn }
type Asked = Parameters<Buyer['buy']>[0]
type Ordered = { readonly order: OrderId }

/** What a payment can buy as soon as it is made. A wish is kept as its product understood it when it was priced. */
export function buyersOf({ dedicated, premium, vpn }: Products): readonly Buyer[] {
  return [
    {
      product: 'dedicated',
      quote: async (wish) => (await dedicated.quote(wish as DedicatedWish)).total,
      buy: (asked, wish) =>
        orderOf(
          asked,
          ({ receipt }: { receipt: Ordered }) => receipt.order,
          (request) => dedicated.buy(request, wish as DedicatedWish),
        ),
    },
    {
      product: 'traffic',
      async quote(wish) {
        const { pool, tenths } = wish as TrafficWish
        return (await premium.traffic.quote(pool, tenths)).total
      },
      buy: (asked, wish) =>
        orderOf(
          asked,
          ({ order }: Ordered) => order,
          (request) => premium.traffic.buy(request, wish as TrafficWish),
        ),
    },
    {
      product: 'vpn',
      async quote(wish) {
        const [offer] = await vpn.quote((wish as VpnWish).months)
        if (!offer) throw new Error('a period that is offered has no price')
        return offer.total
      },
      buy: (asked, wish) =>
        orderOf(
          asked,
          ({ order }: Ordered) => order,
          (request) => vpn.buy(request, wish as VpnWish),
        ),
    },
  ]
}

type DedicatedWish = Parameters<Dedicated['buy']>[1]
type TrafficWish = Parameters<Premium['traffic']['buy']>[1]
type VpnWish = Parameters<Vpn['buy']>[1]

/** Buys by itself, and tells which order it was; the same again for who asks again. */
async function orderOf<Bought>(
  asked: Asked,
  toOrder: (bought: Bought) => OrderId,
  buy: (request: PurchaseRequest<Bought>) => Promise<Answer>,
): Promise<OrderId> {
  const { body } = await buy({ ...asked, toBody: toOrder, automatic: true })
  return body as OrderId
}
