import type { Sha256 } from '../../../core/chain.ts'
import { type Hmac, hasPasswordMac, toLookupName } from '../../../core/password-mac.ts'
import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import type { NodeProxy, NodeSubuser } from '../../../node-protocol/state.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import type { Credentials } from '../ways-in/http1/basic-auth.ts'
import { readAuthorization } from '../ways-in/http1/request.ts'
import { matches, noDigest } from './admission.ts'

/** Checked in place of missing credentials. */
const decoy = { username: 'nobody', password: 'nothing' }

/** User names of VPN devices are their ids, with an exit behind a dash or without. */
const isDeviceName = (username: string): boolean => /^dev_[0-9a-z]{26}$/.test(toLookupName(username))

/**
 * Whether the values of Proxy-Authorization are a customer's or another gateway's, at once. Of unknown credentials,
 * only those with a MAC of the shop are a customer's: the engine asks the shop about them, so a purchase works at once.
 * About others the shop is never asked: the wait would tell a prober that credentials are checked. VPN devices are all
 * in the snapshot, so a removed one is a stranger in spite of its MAC. All values take the same work. The engine
 * authenticates each client again.
 */
export function createCustomerCheck(deps: {
  readonly snapshot: Snapshot
  /** Of the MACs in passwords, newest first. */
  readonly passwordKeys: () => readonly Uint8Array[]
  readonly sha256: Sha256
  readonly hmac: Hmac
}) {
  const { snapshot, sha256, hmac } = deps
  /** Right credentials, and what they opened. Found only with the right password, so it tells a prober nothing. */
  const proven = new WeakMap<Credentials, NodeProxy | NodeSubuser>()

  /** They were right before, and any change at the shop would have replaced what they opened. */
  const isProven = (credentials: Credentials): boolean => {
    const opened = proven.get(credentials)
    if (!opened) return false
    const { username } = credentials
    return (snapshot.proxies.get(username) ?? snapshot.findLogin(toLookupName(username))) === opened
  }

  const isCustomer = (values: readonly string[], ofDevice: readonly GatewayProtocol[] = ['http']): boolean => {
    const authorization = readAuthorization(values)
    const { credentials, ticket } = 'type' in authorization ? {} : authorization
    if (ticket !== undefined) return snapshot.gateways.has(/^from=([0-9a-z_]{1,40});/.exec(ticket)?.[1] ?? '')
    const { username, password } = credentials ?? decoy
    if (credentials && isProven(credentials)) return true
    const digest = sha256(password)
    const proxy = snapshot.proxies.get(username)
    // The login without its parts: the engine names a wrong part to a customer.
    const subuser = snapshot.findLogin(toLookupName(username))
    const [isProxy, isSubuser] = [proxy, subuser].map((each) => matches(digest, each?.digest ?? noDigest))
    const isDevice = matches(digest, snapshot.findDeviceOfLogin(username)?.password ?? noDigest)
    const opened = isProxy ? proxy : isSubuser ? subuser : undefined
    if (credentials && opened) proven.set(credentials, opened)
    const hasMac = hasPasswordMac(hmac, deps.passwordKeys(), username, password)
    const isOfShop = hasMac && !isDeviceName(username)
    const isServed = isDevice && ofDevice.some((each) => snapshot.isOn(each))
    return credentials !== undefined && (isProxy === true || isSubuser === true || isServed || isOfShop)
  }

  return { isCustomer, isProven }
}
