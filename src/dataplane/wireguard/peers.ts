import { formatAddress, type Prefix, readPrefix } from '../../core/address.ts'
import { readKey } from '../../core/wireguard.ts'
import type { NodePeer } from '../../node-protocol/state.ts'

/** Parsed `wg show IFACE dump`, without the private key. */
export type DeviceState = { readonly listenPort: number; readonly peers: readonly DevicePeer[] }

/** `received` went to the customer. Includes WireGuard's overhead. */
export type DevicePeer = {
  readonly publicKey: string
  /** Canonical, with prefix length. */
  readonly allowed: readonly string[]
  readonly handshakeAt: number | null
  readonly endpoint: string | null
  readonly received: number
  readonly sent: number
}

/** Twice the addresses of the largest network sold. */
const maxKnown = 131_072

/**
 * Strict, because bytes are billed by it. Errors never quote a line: the first holds the private key. `known` caches
 * parsed address lists, which repeat every second.
 */
export function readDump(text: string, known = new Map<string, readonly string[]>()): DeviceState {
  if (known.size > maxKnown) known.clear()
  const lines = text.split('\n')
  if (lines.pop() !== '') throw new Error('the dump breaks off within a line')
  const [head, ...peers] = lines
  const fields = head?.split('\t') ?? []
  const listenPort = readCount(fields[2])
  if (fields.length !== 4 || listenPort === undefined || listenPort > 65_535) {
    throw new Error('the dump does not begin with a device')
  }
  const read = peers.map((line, index) => readPeerLine(line, index, known))
  if (new Set(read.map((each) => each.publicKey)).size < read.length) throw new Error('the dump has a peer twice')
  return { listenPort, peers: read }
}

function readPeerLine(line: string, index: number, known: Map<string, readonly string[]>): DevicePeer {
  const [publicKey = '', , endpoint = '', allowedText = '', handshake, rx, tx, keepalive, ...rest] = line.split('\t')
  const allowed = known.get(allowedText) ?? readAllowed(allowedText)
  const [seconds, sent, received] = [handshake, rx, tx].map(readCount)
  const isWhole = keepalive !== undefined && rest.length === 0 && readKey(publicKey) !== undefined
  if (!isWhole || !allowed || seconds === undefined || sent === undefined || received === undefined) {
    throw new Error(`line ${index + 2} of the dump is not a peer`)
  }
  known.set(allowedText, allowed)
  return {
    publicKey,
    allowed,
    handshakeAt: seconds === 0 ? null : seconds * 1000,
    endpoint: endpoint === '(none)' ? null : endpoint,
    received,
    sent,
  }
}

function readAllowed(text: string): string[] | undefined {
  if (text === '(none)') return []
  const prefixes = text.split(',').map((part) => readPrefix(part))
  return prefixes.includes(undefined) ? undefined : prefixes.flatMap((each) => (each ? [toAllowed(each)] : []))
}

function readCount(text: string | undefined): number | undefined {
  if (text === undefined || !/^(0|[1-9]\d{0,15})$/.test(text)) return undefined
  const count = Number(text)
  return Number.isSafeInteger(count) ? count : undefined
}

/** `allowed` is canonical; no two peers share a block. */
export type WantedPeer = Readonly<Pick<NodePeer, 'public_key' | 'allowed'>>

type Difference = { readonly remove: readonly string[]; readonly set: readonly WantedPeer[] }

/** The changes that make a device have exactly the wanted peers. */
export function diffPeers(
  held: readonly Pick<DevicePeer, 'publicKey' | 'allowed'>[],
  wanted: readonly WantedPeer[],
): Difference {
  const keys = new Set(wanted.map((each) => each.public_key))
  const heldAllowed = new Map(held.map((each) => [each.publicKey, each.allowed]))
  return {
    remove: held.filter((each) => !keys.has(each.publicKey)).map((each) => each.publicKey),
    set: wanted.filter((each) => !isSame(heldAllowed.get(each.public_key), each.allowed)),
  }
}

function isSame(held: readonly string[] | undefined, wanted: readonly string[]): boolean {
  if (held?.length !== wanted.length) return false
  const all = new Set(held)
  return wanted.every((block) => all.has(block))
}

/** Canonical text with prefix length, as written by `wg`. */
export const toAllowed = (prefix: Prefix): string => `${formatAddress(prefix.base)}/${prefix.length}`

/** Below Linux's smallest command line limit, 128 KiB. */
const maxInCall = 96 * 1024

/**
 * The fewest `wg set` calls for a difference. Removals come first, to free their addresses. A peer with an endpoint
 * gets a handshake at once, because a change of its keepalive sends a packet.
 */
export function toSetCalls(
  device: string,
  difference: Difference,
  endpoints: ReadonlyMap<string, string> = new Map(),
): string[][] {
  const calls: string[][] = []
  let room = 0
  const renewed = difference.set.filter((each) => endpoints.has(each.public_key))
  for (const args of [
    ...difference.remove.map(toRemoval),
    ...difference.set.map((peer) => toSetting(peer, endpoints.get(peer.public_key))),
    ...renewed.map(({ public_key }) => ['peer', public_key, 'persistent-keepalive', 'off']),
  ]) {
    const size = args.reduce((sum, arg) => sum + arg.length + 1, 0)
    if (size > room) {
      calls.push(['wg', 'set', device])
      room = maxInCall
    }
    calls.at(-1)?.push(...args)
    room -= size
  }
  return calls
}

const toRemoval = (publicKey: string): string[] => ['peer', publicKey, 'remove']
const toSetting = (peer: WantedPeer, endpoint: string | undefined): string[] => [
  'peer',
  peer.public_key,
  ...(endpoint === undefined ? [] : ['endpoint', endpoint, 'persistent-keepalive', '25']),
  'allowed-ips',
  peer.allowed.join(','),
]

/** The private key is read from stdin, because arguments are visible to other users. */
export function toDeviceCall(device: string, listenPort: number): string[] {
  return ['wg', 'set', device, 'listen-port', String(listenPort), 'private-key', '/dev/stdin']
}
