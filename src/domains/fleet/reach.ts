import { addressFromNumber, addressToNumber, type Prefix, readAddress } from '../../core/address.ts'
import { type AddressClass, classify } from '../../core/reserved.ts'

/** Where customers are told to go: the gateway, VPN nodes without an endpoint of their own, and the shop itself. */
export type Places = { readonly gateway: string; readonly vpn: string; readonly shop: string }

/** A place that nobody but this machine reaches, and the setting that says it. */
export type Unreachable = { readonly place: keyof Places; readonly setting: string; readonly host: string }

const settings: Readonly<Record<keyof Places, string>> = {
  gateway: 'TURNPIKE_GATEWAY_HOST',
  vpn: 'TURNPIKE_VPN_HOST',
  shop: 'TURNPIKE_PUBLIC_URL',
}

/** Whether a host is this machine to whoever reads it. */
export function isLoopback(host: string): boolean {
  const address = readAddress(host.replace(/^\[|\]$/g, ''))
  if (!address) return host === 'localhost' || host.endsWith('.localhost')
  return classify(address) === 'loopback' || address.bytes.every((byte) => byte === 0)
}

export const findUnreachable = (places: Places): Unreachable[] =>
  (['gateway', 'vpn', 'shop'] as const)
    .filter((place) => isLoopback(places[place]))
    .map((place) => ({ place, setting: settings[place], host: places[place] }))

const notToSell: readonly AddressClass[] = ['loopback', 'private', 'link-local', 'metadata', 'multicast', 'reserved']

/** Whether customers elsewhere can come to, and leave from, addresses of a prefix. */
export function isSellable({ base, length }: Prefix): boolean {
  const bits = base.version === 4 ? 32 : 128
  const last = addressFromNumber(base.version, addressToNumber(base) + (1n << BigInt(bits - length)) - 1n)
  return [base, last].every((address) => !notToSell.includes(classify(address)))
}
