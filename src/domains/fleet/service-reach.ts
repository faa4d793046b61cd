import type { Prefix } from '../../core/address.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { Customers } from '../customers/index.ts'
import { notForSale, nowhereToGo } from './errors.ts'
import { findUnreachable, isLoopback, isSellable, type Places, type Unreachable } from './reach.ts'
import type { Fleet } from './service.ts'

type Asked = { readonly product: string; readonly action: string; readonly wish: unknown }

/** What nobody could reach is not sold in production. A sandbox is for this machine, and everything in it is on it. */
export function createReach(deps: {
  readonly customers: Pick<Customers, 'mode'>
  readonly fleet: Pick<Fleet, 'nodes'>
  readonly places: Places | undefined
}) {
  const unreachable = deps.places ? findUnreachable(deps.places) : []
  const isProduction = async (): Promise<boolean> => (await deps.customers.mode()) === 'production'
  const lacks = (place: keyof Places): boolean => unreachable.some((each) => each.place === place)

  async function isOutOfReach({ product, wish }: Asked): Promise<boolean> {
    if (product === 'dedicated') return lacks('gateway') && hasIpv6(wish)
    if (product === 'premium') return lacks('gateway')
    if (product !== 'vpn' || !lacks('vpn')) return false
    const nodes = (await deps.fleet.nodes('vpn')).filter((node) => node.state === 'open')
    return nodes.length > 0 && nodes.every((node) => node.endpoint === null || isLoopback(node.endpoint.host))
  }

  return {
    /** Places that customers are sent to and cannot reach, for the log and for whoever watches. */
    warnings: async (): Promise<readonly Unreachable[]> =>
      unreachable.length > 0 && (await isProduction()) ? unreachable : [],

    /** Why something cannot be sold to anybody now. What was sold can be prolonged and renewed all the same. */
    async findObjection(asked: Asked): Promise<Refusal | undefined> {
      if (unreachable.length === 0 || asked.action !== 'buy' || !(await isProduction())) return undefined
      return (await isOutOfReach(asked)) ? nowhereToGo() : undefined
    },

    /** Refuses addresses that no customer could use, where customers are real. */
    async assertSellable(prefix: Prefix): Promise<void> {
      if (!isSellable(prefix) && (await isProduction())) throw notForSale()
    },
  }
}

/** An IPv6 proxy is reached at the gateway's own address; the others at the addresses that they leave from. */
const hasIpv6 = (wish: unknown): boolean => typeof wish === 'object' && wish !== null && 'ipv' in wish && wish.ipv === 6
