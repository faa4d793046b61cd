import { Resolver } from 'node:dns/promises'
import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { contains, readAddress, readPrefix } from '../../core/address.ts'
import { findIdentity } from '../../dataplane/agent/identity.ts'
import { createShopLink, LinkError, LinkSettingError, type ShopLink } from '../../dataplane/agent/shop-link.ts'
import { readSavedState } from '../../dataplane/agent/sync.ts'
import { createLookup, toFailure } from '../../dataplane/gateway/dial/resolve.ts'
import { readChanges } from '../../dataplane/wireguard/changes.ts'
import { findMissing, lookAtMachine } from '../../dataplane/wireguard/run.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import { shopUrlOf } from '../node/agent.ts'
import { type Config, nodeFolder } from '../settings/config.ts'
import { type Advice, adviseShopClock, note, ok, wrong } from './advice.ts'
import { subject } from './subjects.ts'

const answerWithinMs = 5_000
const units = { gateway: 'turnpike-gateway', vpn: 'turnpike-vpn-node' } as const

/** Checks a node of this machine: its link to the shop, and what it needs to serve customers. */
export async function lookAtNode(config: Config, kind: NodeKind): Promise<Advice[]> {
  const folder = nodeFolder(config, kind)
  const hasRun = existsSync(folder)
  return [
    ...(hasRun
      ? []
      : [
          wrong(kind === 'gateway' ? subject.gateway : subject.vpnNode, 'role_unstarted', {
            unit: units[kind],
            folder,
          }),
        ]),
    ...(await lookAtLink(config, kind)),
    ...(kind === 'gateway'
      ? [...adviseListening(config, folder), await lookAtDns(config)]
      : [...(hasRun ? [adviseVpn(folder)] : []), adviseWireguard()]),
  ]
}

/** Whether the shop is reached, trusted and accepts this node, and how far the two clocks differ. */
async function lookAtLink(config: Config, kind: NodeKind): Promise<Advice[]> {
  const of = subject.link
  const url = shopUrlOf(config)
  const saved = findIdentity(nodeFolder(config, kind))
  const identity = saved === 'damaged' ? undefined : saved
  let link: ShopLink
  try {
    link = createShopLink({ url, publicUrl: config.publicUrl, secret: identity?.secret ?? '' })
  } catch (error) {
    if (error instanceof LinkSettingError) return [wrong(of, 'link_setting', { error: error.message })]
    throw error
  }
  const trouble = await findTrouble(link, identity && kind)
  if (trouble && trouble.trouble !== 'refused') {
    const error = trouble.message.replace(/^.*\(request \w+\): /, '')
    return [wrong(of, 'link_broken', { url, error })]
  }
  const clock = adviseShopClock(await clockAheadMs(url))
  if (!identity) return [...clock, wrong(of, 'node_unjoined')]
  return [...clock, trouble ? wrong(of, 'link_refused', { url }) : ok(of, 'link_answers', { url })]
}

/** A VPN node asks for its setup: a request for the state would mark a stopped node as seen. */
async function findTrouble(link: ShopLink, kind: NodeKind | undefined): Promise<LinkError | undefined> {
  try {
    await (kind === 'vpn' ? link.vpn() : link.state(undefined, 0))
    return undefined
  } catch (error) {
    if (error instanceof LinkError) return error
    throw error
  }
}

/** The clock of this machine minus the clock of the shop, to the second; 0 for a shop on this machine. */
async function clockAheadMs(url: string): Promise<number> {
  if (!URL.parse(url)?.protocol.startsWith('http')) return 0
  const answer = await fetch(new URL('/healthz', url), {
    redirect: 'manual',
    signal: AbortSignal.timeout(answerWithinMs),
  }).catch(() => undefined)
  const shopAt = Date.parse(answer?.headers.get('date') ?? '')
  return Number.isNaN(shopAt) ? 0 : Date.now() - shopAt
}

/** Customers reach an IPv4 proxy at its own address, so a gateway that listens on one address serves no other. */
export function adviseListening({ gatewayListen }: Pick<Config, 'gatewayListen'>, folder: string): Advice[] {
  const only = readAddress(gatewayListen)
  if (!only || only.bytes.every((byte) => byte === 0)) return []
  const identity = findIdentity(folder)
  const own = identity === undefined || identity === 'damaged' ? '' : identity.node
  const pages = readSavedState(folder, { error() {}, warn() {}, info() {} })
  const ranges = new Map(pages.flatMap((page) => page.ranges.map((each) => [each.id, each] as const)))
  const unheard = [...ranges.values()].find(({ prefix: text, gone, node_ids: nodes }) => {
    const prefix = readPrefix(text)
    const isHere = !gone && (nodes.length === 0 || nodes.includes(own))
    return isHere && prefix?.base.version === 4 && !(prefix.length === 32 && contains(prefix, only))
  })
  return unheard ? [wrong(subject.gateway, 'listens_on_one', { address: gatewayListen, prefix: unheard.prefix })] : []
}

/** Looks a name up as the gateway does. A sandbox may be on a machine without a network. */
async function lookAtDns(config: Config): Promise<Advice> {
  const isTrial = config.sandbox && config.shopUrl?.startsWith('https:') !== true
  const hosts = [config.shopUrl, config.publicUrl].map((url) => URL.parse(url ?? '')?.hostname ?? '')
  const name = hosts.find((host) => host.includes('.') && isIP(host) === 0) ?? 'example.com'
  const servers = new Resolver().getServers()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('no answer in time')), answerWithinMs)
  try {
    await Promise.race([createLookup()(name, 4), late])
  } catch (error) {
    if (toFailure(error) === 'resolver_failed') {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      return (isTrial ? note : wrong)(subject.dns, 'dns_fails', { servers, error: code.replace(/^Error: /, '') })
    }
  } finally {
    clearTimeout(timer)
  }
  return ok(subject.dns, 'dns_answers', { servers })
}

export const runsVpnNode = (config: Config): boolean => readChanges(nodeFolder(config, 'vpn'))?.runs === true

function adviseVpn(folder: string): Advice {
  const held = readChanges(folder)
  return held?.runs ? ok(subject.vpnNode, 'vpn_runs', { pid: held.pid }) : wrong(subject.vpnNode, 'vpn_stopped')
}

function adviseWireguard(): Advice {
  // The node has its capability from its unit; the doctor needs none.
  const missing = findMissing({ ...lookAtMachine(), mayChangeNetwork: true })
  if (missing.length === 0) return ok(subject.wireguard, 'wireguard_ready')
  const params = { missing: missing.map((each) => each.what), how: missing.map((each) => each.how) }
  return wrong(subject.wireguard, 'wireguard_missing', params)
}
