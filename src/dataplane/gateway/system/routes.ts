import { ptr } from 'bun:ffi'
import type { Address } from '../../../core/address.ts'
import type { IsDeliveredHere, Transport } from '../dial/upstream.ts'
import type { Libc } from './libc.ts'
import * as n from './numbers.ts'

/** `struct nlmsghdr`, then `struct rtmsg`, then attributes, in host byte order. */
const headBytes = 16
const routeAt = headBytes
const typeAt = routeAt + 7
const attributesAt = headBytes + 12
const maxAnswerBytes = 4096
const maxAnswers = 8

const protocols = { tcp: n.IPPROTO_TCP, udp: n.IPPROTO_UDP } as const

/** Routes that end at this machine. */
const localTypes: readonly number[] = [n.RTN_LOCAL, n.RTN_BROADCAST, n.RTN_ANYCAST]
/** No route, or a prohibiting one: connecting fails too. */
const routeless: readonly number[] = [n.ENETUNREACH, n.EHOSTUNREACH, n.EACCES, n.EINVAL, n.EAFNOSUPPORT, n.ENODEV]

/**
 * Asks the kernel for a connection's route (rtnetlink, RTM_GETROUTE), which honours all current routing tables and
 * rules. The answer is available at once; no answer counts as local. Throws if there is no such socket.
 */
export function openRouteLookup(libc: Libc): {
  readonly descriptor: number
  readonly isDeliveredHere: IsDeliveredHere
} {
  const arena = new Uint8Array(new ArrayBuffer(maxAnswerBytes))
  const view = new DataView(arena.buffer)
  const base = Number(ptr(arena))
  const descriptor = libc.socket(n.AF_NETLINK, n.SOCK_RAW | n.NONBLOCK_CLOEXEC, n.NETLINK_ROUTE)
  if (descriptor < 0) throw new Error(`the routing tables cannot be asked: AF_NETLINK fails with ${libc.errno[0]}`)
  let sequence = 0

  function addAttribute(at: number, type: number, value: Uint8Array): number {
    view.setUint16(at, 4 + value.length, true)
    view.setUint16(at + 2, type, true)
    arena.set(value, at + 4)
    return at + 4 + Math.ceil(value.length / 4) * 4
  }

  function writeRequest(there: Address, port: number, from: Address | undefined, transport: Transport): number {
    sequence = (sequence + 1) >>> 0
    const bits = there.bytes.length * 8
    arena.fill(0, 0, attributesAt)
    view.setUint8(routeAt, there.version === 4 ? n.AF_INET : n.AF_INET6)
    view.setUint8(routeAt + 1, bits)
    view.setUint8(routeAt + 2, from ? bits : 0)
    let end = addAttribute(attributesAt, n.RTA_DST, there.bytes)
    if (from) end = addAttribute(end, n.RTA_SRC, from.bytes)
    end = addAttribute(end, n.RTA_IP_PROTO, Uint8Array.of(protocols[transport]))
    end = addAttribute(end, n.RTA_DPORT, Uint8Array.of(port >> 8, port & 255))
    view.setUint32(0, end, true)
    view.setUint16(4, n.RTM_GETROUTE, true)
    view.setUint16(6, n.NLM_F_REQUEST, true)
    view.setUint32(8, sequence, true)
    return end
  }

  /** Route type, negative errno, or undefined without an answer. */
  function ask(there: Address, port: number, from: Address | undefined, transport: Transport): number | undefined {
    if (libc.send(descriptor, base, writeRequest(there, port, from, transport), 0) < 0) return undefined
    for (let left = maxAnswers; left > 0; left -= 1) {
      const bytes = libc.recv(descriptor, base, maxAnswerBytes, 0)
      if (bytes < headBytes + 4) return undefined
      // An answer to an earlier request.
      if (view.getUint32(8, true) !== sequence) continue
      const kind = view.getUint16(4, true)
      if (kind === n.NLMSG_ERROR) return view.getInt32(headBytes, true)
      return kind === n.RTM_NEWROUTE && bytes > typeAt ? view.getUint8(typeAt) : undefined
    }
    return undefined
  }

  const isDeliveredHere: IsDeliveredHere = (there, port, from, transport) => {
    let type = ask(there, port, from, transport)
    // A source address of another machine has no route here.
    if (from && type !== undefined && type < 0) type = ask(there, port, undefined, transport)
    return type === undefined || (type < 0 ? !routeless.includes(-type) : localTypes.includes(type))
  }

  return { descriptor, isDeliveredHere }
}
