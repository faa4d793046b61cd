import { addressFromNumber, addressToNumber, type Prefix, readAddress } from '../../core/address.ts'
import type { BoundCases } from '../../core/bind.ts'
import { Refusal } from '../../core/refusal.ts'
import { type AddressClass, classify } from '../../core/reserved.ts'
import type { Customers } from '../customers/index.ts'
import type * as cases from './join.ts'

/** The hosts that customers are sent to: the gateway, VPN nodes without an endpoint of their own, and the shop. */
export type PublicHosts = { readonly gateway: string; readonly vpn: string; readonly shop: string }

/** A host that only this machine reaches, and its setting. */
export type Unreachable = { readonly service: keyof PublicHosts; readonly setting: string; readonly host: string }

const settings = {
  gateway: 'TURNPIKE_GATEWAY_HOST',
  vpn: 'TURNPIKE_VPN_HOST',
  shop: 'TURNPIKE_PUBLIC_URL',
} as const

export function isLoopback(host: string): boolean {
  const address = readAddress(host.replace(/^\[|\]$/g, ''))
  if (!address) return host === 'localhost' || host.endsWith('.localhost')
  return classify(address) === 'loopback' || address.bytes.every((byte) => byte === 0)
}

const notToSell: readonly AddressClass[] = ['loopback', 'private', 'link-local', 'metadata', 'multicast', 'reserved']

/** Whether addresses of a prefix are public. */
export function isSellable({ base, length }: Prefix): boolean {
  const bits = base.version === 4 ? 32 : 128
  const last = addressFromNumber(base.version, addressToNumber(base) + (1n << BigInt(bits - length)) - 1n)
  return [base, last].every((address) => !notToSell.includes(classify(address)))
}

/** An IPv6 proxy is reached at the gateway's own address; the others at the addresses that they leave from. */
const hasIpv6 = (input: unknown): boolean =>
  typeof input === 'object' && input !== null && 'ipv' in input && input.ipv === 6

type SaleRequest = { readonly product: string; readonly action: string; readonly input: unknown }

/** Refuses in production to sell goods that customers cannot reach. A sandbox is on one machine and sells them. */
export function createReach(deps: {
  readonly customers: Pick<Customers, 'mode'>
  readonly fleet: BoundCases<Pick<typeof cases, 'nodes'>>
  readonly hosts: PublicHosts | undefined
}) {
  const { hosts } = deps
  const unreachable: Unreachable[] = (['gateway', 'vpn', 'shop'] as const).flatMap((service) =>
    hosts && isLoopback(hosts[service]) ? [{ service, setting: settings[service], host: hosts[service] }] : [],
  )
  const isProduction = async (): Promise<boolean> => (await deps.customers.mode()) === 'production'
  const lacks = (service: keyof PublicHosts): boolean => unreachable.some((each) => each.service === service)

  const openVpnNodes = async () => (await deps.fleet.nodes('vpn')).filter((node) => node.state === 'open')

  async function isOutOfReach({ product, input }: SaleRequest): Promise<boolean> {
    if (product === 'dedicated') return lacks('gateway') && hasIpv6(input)
    if (product === 'premium') return lacks('gateway')
    if (product !== 'vpn' || !lacks('vpn')) return false
    const nodes = await openVpnNodes()
    return nodes.length > 0 && nodes.every((node) => node.endpoint === null || isLoopback(node.endpoint.host))
  }

  /** The host of VPN nodes concerns a shop only once a node is reached there. */
  const isUsed = async (service: keyof PublicHosts): Promise<boolean> =>
    service !== 'vpn' || (await openVpnNodes()).some((node) => node.endpoint === null)

  return {
    /** The hosts from the settings, at which customers reach nodes without an address of their own. */
    hosts,

    /** Hosts that customers are sent to and cannot reach. */
    async warnings(): Promise<readonly Unreachable[]> {
      if (unreachable.length === 0 || !(await isProduction())) return []
      const used = await Promise.all(unreachable.map(({ service }) => isUsed(service)))
      return unreachable.filter((_, index) => used[index])
    },

    /** Why something cannot be sold now. Prolonging and renewing are never refused here. */
    async findObjection(request: SaleRequest): Promise<Refusal | undefined> {
      if (unreachable.length === 0 || request.action !== 'buy' || !(await isProduction())) return undefined
      return (await isOutOfReach(request)) ? new Refusal('shop_url_missing', {}, { charged: false }) : undefined
    },

    async assertSellable(prefix: Prefix): Promise<void> {
      if (!isSellable(prefix) && (await isProduction())) throw new Refusal('address_not_public')
    },
  }
}
