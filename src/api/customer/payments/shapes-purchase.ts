import { buyDedicated } from '../dedicated/shapes.ts'
import { buyTraffic } from '../premium/shapes-traffic.ts'
import { buyVpn } from '../vpn/shapes.ts'

/** The names of a purchase's fields; undefined where it names no product that there is. */
export function fieldsOfPurchase(product: unknown): readonly string[] | undefined {
  const of = { dedicated: buyDedicated.body, traffic: buyTraffic.body, vpn: buyVpn.body }
  const isKnown = (name: unknown): name is keyof typeof of => typeof name === 'string' && Object.hasOwn(of, name)
  return isKnown(product) ? ['product', ...Object.keys(of[product].shape)] : undefined
}
