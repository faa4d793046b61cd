import type { ConnectTarget } from './authority.ts'
import type { CapsuleCodec, ProxyRequest } from './request.ts'
import { DatagramReader, toDatagram } from './trojan/datagrams.ts'

/** A hop to this name carries datagrams, each with its address. The name never resolves (RFC 6761, 6.4). */
export const datagramsTarget: ConnectTarget = { host: 'datagrams.turnpike.invalid', port: 1 }

/** The length has 16 bits. */
const maxPayload = 65_535

/** Datagrams in the bytes of a hop, in the format of Trojan: from the entry with destinations, to it with sources. */
export class HopDatagrams implements CapsuleCodec {
  readonly feed = new DatagramReader(maxPayload).feed
  readonly toCapsule = toDatagram
}

/** A hop for datagrams, from the CONNECT that another gateway sends; any other request as it is. */
export function withHopDatagrams(request: ProxyRequest): ProxyRequest {
  if (request.asks !== 'tunnel' || request.claim.kind !== 'ticket') return request
  const { host, port } = request.target
  if (host !== datagramsTarget.host || port !== datagramsTarget.port) return request
  const { wayIn, source, claim } = request
  return { wayIn, source, claim, asks: 'capsules', target: undefined, codec: new HopDatagrams() }
}

/** The destination that the ticket of a hop has signed; undefined for a request that no ticket opens. */
export function hopTargetOf(request: ProxyRequest): ConnectTarget | undefined {
  if (request.asks === 'tunnel') return request.target
  return request.asks === 'capsules' && request.codec instanceof HopDatagrams ? datagramsTarget : undefined
}
