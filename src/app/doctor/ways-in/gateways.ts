import { gatewayProtocols } from '../../../core/vpn-protocols.ts'
import { isServing, type Node } from '../../../domains/fleet/rules.ts'
import type { Services } from '../../shop/services.ts'
import { type Advice, ok, wrong } from '../advice.ts'
import { subject } from '../subjects.ts'
import { tryDevice, tryProxy, tryTlsProxy, vpnWay, type WayInOutcome } from './probe.ts'
import type { Spot, TlsSpot } from './tls.ts'

/** Gateways at a time: each is opened in up to eleven ways. */
const atOnce = 4

/** Opens each way in of each gateway that serves, where customers reach it, and says what failed. */
export async function lookAtWaysIn(
  services: Services,
  nodes: readonly Node[],
  nowMs: number,
  usual: Spot,
  shop: URL,
): Promise<Advice[]> {
  const serving = nodes.filter((node) => node.kind === 'gateway' && isServing(node, (at) => nowMs - at))
  const advice: Advice[] = []
  for (let from = 0; from < serving.length; from += atOnce) {
    const part = serving.slice(from, from + atOnce).map((node) => lookAtGateway(services, node, usual, shop))
    advice.push(...(await Promise.all(part)).flat())
  }
  return advice
}

async function lookAtGateway({ vpn }: Services, node: Node, usual: Spot, shop: URL): Promise<Advice[]> {
  const { tls, isForVpn } = node.health ?? {}
  const links = node.vpnLinks
  const at = tls && { host: tls.host, port: tls.port, pin: tls.pin ?? null }
  const atLinks: TlsSpot | undefined = at && isForVpn ? { ...at, port: links.port ?? at.port } : undefined
  const served = atLinks ? (links.protocols ?? gatewayProtocols) : []
  const keys = vpn.doctorDevice(node.id)
  const outcomes = await Promise.all([
    tryProxy('http', node.endpoint ?? usual),
    tryProxy('socks5', node.endpoint ?? usual),
    ...(at ? [tryTlsProxy('https', at), tryTlsProxy('h2', at)] : []),
    ...(atLinks ? served.map((protocol) => tryDevice(protocol, atLinks, keys, shop)) : []),
  ])
  const off = atLinks ? gatewayProtocols.filter((each) => !served.includes(each)).map(vpnWay) : []
  return adviseWaysIn(node.name, outcomes, off)
}

const nameOf = ({ host, port }: Spot): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

/** One line for all that work, and one for those that failed in the same way. */
export function adviseWaysIn(name: string, outcomes: readonly WayInOutcome[], off: readonly string[]): Advice[] {
  const of = subject.waysIn(name)
  const working = outcomes.filter(({ works }) => works).map(({ way }) => way)
  const failed = outcomes.flatMap((each) => (each.works ? [] : [{ ...each, at: nameOf(each.at) }]))
  const groups = [...Map.groupBy(failed, ({ at, stage, problem }) => `${at} ${stage} ${problem}`).values()]
  return [
    ...(working.length > 0 ? [ok(of, 'ways_in_work', { ways: working, off })] : []),
    ...groups.flatMap((group) => {
      const [first] = group
      if (!first) return []
      const { at, stage, problem } = first
      return [wrong(of, 'ways_in_fail', { ways: group.map(({ way }) => way), at, stage, problem })]
    }),
  ]
}
