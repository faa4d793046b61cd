import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import type { ConnectTarget } from './authority.ts'
import { HeldBytes, joinBytes } from './bytes.ts'
import type {
  Answer,
  CapsuleCodec,
  ClientAddress,
  ClientEvent,
  ClientParser,
  ProxyRequest,
  Verdict,
} from './request.ts'

/** The head of a request: the key of a device, and what the device asks. */
export type KeyedHead =
  | {
      readonly key: string
      readonly asks: 'tunnel'
      readonly target: ConnectTarget
      /** Bytes of the head. */
      readonly used: number
    }
  | {
      readonly key: string
      readonly asks: 'capsules'
      readonly target: ConnectTarget | undefined
      readonly codec: CapsuleCodec
      readonly used: number
    }
  | { readonly key: string; readonly asks: 'streams'; readonly used: number }

/** A protocol whose clients begin with a key, without HTTP: VLESS or Trojan. */
export type KeyedWayIn = {
  readonly name: 'vless' | 'trojan'
  /** The longest head. */
  readonly maxHeadBytes: number
  /** Undefined while bytes are missing. */
  readonly readHead: (bytes: Uint8Array) => KeyedHead | 'malformed' | undefined
  /** Precedes the bytes of the origin. */
  readonly accepted: Uint8Array
  /** The key that a connection begins with; undefined if this is another protocol, or bytes are missing. */
  readonly readKey: (first: Uint8Array) => string | undefined
}

const nothing = new Uint8Array(0)
const heldBytes = 256 * 1024

/** Reads one request of a device. These protocols have no refusals: the connection closes. */
export class KeyReader implements ClientParser {
  readonly taken = 0
  private head: Uint8Array | undefined = nothing
  private readonly early = new HeldBytes(heldBytes)

  constructor(
    private readonly client: ClientAddress,
    private readonly protocol: KeyedWayIn,
    /** What carries it inside TLS: WebSocket, XHTTP, or nothing else. */
    private readonly carriedBy: GatewayProtocol = protocol.name,
  ) {}

  feed(chunk: Uint8Array): ClientEvent[] {
    if (chunk.length === 0) return []
    if (!this.head) return this.early.add(chunk) ? [] : [refused]
    const bytes = joinBytes([this.head, chunk.slice()])
    const head = this.protocol.readHead(bytes)
    if (head === undefined && bytes.length < this.protocol.maxHeadBytes) {
      this.head = bytes
      return []
    }
    this.head = undefined
    if (head === undefined || head === 'malformed' || !this.early.add(bytes.subarray(head.used))) return [refused]
    return [{ type: 'request', request: this.toRequest(head) }]
  }

  next(): ClientEvent[] {
    return []
  }

  answer({ refusal }: Verdict): Answer {
    const isLast = refusal !== undefined
    return { bytes: isLast ? nothing : this.protocol.accepted, isLast }
  }

  rest(): Uint8Array {
    return this.early.take()
  }

  private toRequest(head: KeyedHead): ProxyRequest {
    const { name } = this.protocol
    const by = {
      wayIn: name,
      source: this.client.source,
      claim: { kind: 'key', protocol: name, key: head.key },
      ofDevice: [this.carriedBy],
    } as const
    if (head.asks === 'streams') return { ...by, asks: head.asks }
    if (head.asks === 'tunnel') return { ...by, asks: head.asks, target: head.target }
    return { ...by, asks: head.asks, target: head.target, codec: head.codec }
  }
}

const refused: ClientEvent = { type: 'refuse', bytes: nothing, code: 'bad_request' }
