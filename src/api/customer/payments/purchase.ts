import { namedWithin } from '../../../core/refusal.ts'
import type { PurchaseInput } from '../../../domains/payments/index.ts'
import type { z } from '../../operation.ts'
import { readFields } from '../../validate.ts'
import { buyDedicated } from '../dedicated/shapes.ts'
import { readSubuser } from '../premium/reading.ts'
import { buyTraffic } from '../premium/shapes-traffic.ts'
import { buyVpn, loadPeriod } from '../vpn/shapes.ts'

/** What is to be bought with a payment: the fields of that product's purchase, understood as it does. */
export function readPurchase(asked: Readonly<Record<string, unknown>>): PurchaseInput {
  const { product, ...fields } = asked
  if (product === 'dedicated') {
    const { country_code: country, period, count, ipv } = read(buyDedicated.body, fields)
    return { product, wish: { country, period, count, ipv } }
  }
  if (product === 'traffic') {
    const { pool_type: pool, gb: tenths, subuser_id: id } = read(buyTraffic.body, fields)
    const subuser = readSubuser(id)
    return { product, wish: { pool, tenths, ...(subuser !== undefined && { subuser }) } }
  }
  const wish = read(buyVpn.body, fields)
  const { name, public_key: publicKey, location, auto_renew: autoRenew } = wish
  return {
    product: 'vpn',
    wish: {
      months: loadPeriod(wish),
      ...(name !== undefined && { name }),
      ...(publicKey !== undefined && { publicKey }),
      ...(location !== undefined && { location }),
      // It renews by itself only if that was asked for: left out, it is the same as no.
      ...(autoRenew === true && { autoRenew }),
    },
  }
}

/** Problems of a product's own fields, named as they stand in the payment. */
function read<Schema extends z.ZodType>(schema: Schema, fields: unknown): z.output<Schema> {
  try {
    return readFields(schema, fields)
  } catch (error) {
    throw namedWithin('then', error)
  }
}
