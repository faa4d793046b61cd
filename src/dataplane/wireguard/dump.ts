import { readPrefix } from '../../core/address.ts'
import { readKey } from '../../core/wireguard.ts'
import { toAllowed } from './render.ts'

/** A device as `wg show IFACE dump` tells it. Its private key stands in that text too, and is left there. */
export type DeviceState = { readonly listenPort: number; readonly peers: readonly PeerState[] }

/** `received` went to the customer, `sent` came from the customer: both with what WireGuard adds to each packet. */
export type PeerState = {
  readonly publicKey: string
  /** Each with its length, in canonical text. */
  readonly allowed: readonly string[]
  readonly handshakeAt: number | null
  readonly received: number
  readonly sent: number
}

/**
 * Reads a dump strictly: what `wg` does not write is a fault, because bytes are billed by it. No message quotes a line,
 * since the first holds the private key.
 */
export const readDump = (text: string): DeviceState => createDumpReader()(text)

/** Looks come every second and name the same addresses: a reader remembers how it read them. */
export function createDumpReader(): (text: string) => DeviceState {
  const known = new Map<string, readonly string[]>()
  return (text) => {
    if (known.size > mostKnown) known.clear()
    return readWith(text, known)
  }
}

/** Twice as many peers as a network of the largest kind that is sold has addresses. */
const mostKnown = 131_072

function readWith(text: string, known: Map<string, readonly string[]>): DeviceState {
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

function readPeerLine(line: string, index: number, known: Map<string, readonly string[]>): PeerState {
  const [publicKey = '', , , allowedText = '', handshake, rx, tx, keepalive, ...rest] = line.split('\t')
  const allowed = known.get(allowedText) ?? readAllowed(allowedText)
  const [seconds, sent, received] = [handshake, rx, tx].map(readCount)
  const isWhole = keepalive !== undefined && rest.length === 0 && readKey(publicKey) !== undefined
  if (!isWhole || !allowed || seconds === undefined || sent === undefined || received === undefined) {
    throw new Error(`line ${index + 2} of the dump is not a peer`)
  }
  known.set(allowedText, allowed)
  return { publicKey, allowed, handshakeAt: seconds === 0 ? null : seconds * 1000, received, sent }
}

function readAllowed(text: string): string[] | undefined {
  if (text === '(none)') return []
  const prefixes = text.split(',').map((part) => readPrefix(part))
  return prefixes.includes(undefined) ? undefined : prefixes.flatMap((each) => (each ? [toAllowed(each)] : []))
}

/** Digits only, and no more than a number holds exactly: nine petabytes. */
function readCount(text: string | undefined): number | undefined {
  if (text === undefined || !/^(0|[1-9]\d{0,15})$/.test(text)) return undefined
  const count = Number(text)
  return Number.isSafeInteger(count) ? count : undefined
}
