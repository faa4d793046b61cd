import type { Address } from '../../../core/address.ts'
import { contains, unmap } from '../../../core/address.ts'
import { classify } from '../../../core/reserved.ts'
import type { ConnectTarget } from '../ways-in/authority.ts'
import type { Grace, Policy } from './policy.ts'

const dnsPort = 53

/** Whether a device may reach this target after its end. An address is that of a host by the gateway's own resolver. */
export function isInGrace(
  { host, port }: ConnectTarget,
  literal: Address | undefined,
  transport: 'tcp' | 'udp',
  grace: Grace | undefined,
): boolean {
  if (!grace) return false
  const plain = literal && unmap(literal)
  if (transport === 'udp')
    return port === dnsPort && plain !== undefined && grace.resolvers.some((each) => contains(each, plain))
  return grace.hosts.some(
    (each) =>
      each.ports.includes(port) &&
      (plain ? each.prefixes.some((prefix) => contains(prefix, plain)) : isAtOrBelow(host, each.host)),
  )
}

/** No private address, whatever a name of the operator resolves to; loopback in a sandbox. */
export function isReachedInGrace(address: Address, { allowLoopback }: Policy): boolean {
  const addressClass = classify(unmap(address))
  return addressClass === 'public' || (allowLoopback && addressClass === 'loopback')
}

/** Whether a datagram asks for an address of one of the hosts (RFC 1035, 4.1): other questions could carry data. */
export function isGraceQuestion(payload: Uint8Array, grace: Grace | undefined): boolean {
  const name = readQuestion(payload)
  return name !== undefined && grace !== undefined && grace.hosts.some((each) => isAtOrBelow(name, each.host))
}

const headerLength = 12

/** The name of a query with one question. */
function readQuestion(payload: Uint8Array): string | undefined {
  const isQuery = ((payload[2] ?? 0x80) & 0x80) === 0 && payload[4] === 0 && payload[5] === 1
  if (!isQuery) return undefined
  const labels: string[] = []
  for (let at = headerLength; at < payload.length; ) {
    const length = payload[at] ?? 0
    if (length === 0) return labels.join('.').toLowerCase()
    if (length > 63 || at + 1 + length >= payload.length) return undefined
    labels.push(Buffer.from(payload.subarray(at + 1, at + 1 + length)).toString('latin1'))
    at += 1 + length
  }
  return undefined
}

const isAtOrBelow = (name: string, host: string): boolean => {
  const plain = name.toLowerCase().replace(/\.$/, '')
  return plain === host || plain.endsWith(`.${host}`)
}
