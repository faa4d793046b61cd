import type { Address } from '../../../core/address.ts'
import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import type { ConnectTarget } from './authority.ts'
import type { Credentials } from './http1/basic-auth.ts'
import type { FieldPair, HttpVersion } from './http1/head.ts'
import type { ResponseHead } from './http1/response.ts'
import type { RefusalCode } from './refusals.ts'

/** What a client claims to be. */
export type Claim =
  | { readonly kind: 'password'; readonly credentials: Credentials }
  /** A hop of another gateway. */
  | { readonly kind: 'ticket'; readonly ticket: string }
  /** A customer's own port, which admits by address. */
  | { readonly kind: 'port'; readonly port: number }
  /** The key of a VPN device, in the protocol's own form. */
  | { readonly kind: 'key'; readonly protocol: 'vless' | 'trojan'; readonly key: string }
  | { readonly kind: 'nothing' }

export type WayInName = 'http1' | 'http2' | 'socks5' | 'connect-udp' | 'vless' | 'trojan'

/** The protocols that a proxy can be set to. */
export type Protocol = 'http' | 'socks'

export const protocolOf = (wayIn: WayInName): Protocol => (wayIn === 'socks5' ? 'socks' : 'http')

/** Where a connection comes from; `ownPort` is set on a customer's own port. */
export type ClientAddress = { readonly source: string; readonly ownPort: number | undefined }

/** The claim of a client without credentials. */
export const claimOf = ({ ownPort }: ClientAddress): Claim =>
  ownPort === undefined ? noClaim : { kind: 'port', port: ownPort }

const noClaim: Claim = { kind: 'nothing' }

/** Who asks, and by which protocol. */
export type Asker = {
  readonly wayIn: WayInName
  readonly source: string
  readonly claim: Claim
  /** The protocols of VPN devices that it can be one of; an HTTP proxy's if omitted. */
  readonly ofDevice?: readonly GatewayProtocol[]
}

const ofHttp: readonly GatewayProtocol[] = ['http']
export const deviceProtocolsOf = ({ ofDevice = ofHttp }: Pick<Asker, 'ofDevice'>): readonly GatewayProtocol[] =>
  ofDevice

/** Datagrams inside the client's connection, of one destination or of many. */
export type CapsuleCodec = {
  /** Passes on each payload, of many destinations with its own. False if the client violates the format: end then. */
  feed(bytes: Uint8Array, onPayload: (payload: Uint8Array, target?: ConnectTarget) => void): boolean
  toCapsule(payload: Uint8Array, source: Address, port: number): Uint8Array
}

/** Datagrams of many destinations, through a UDP socket for the client. */
export type DatagramCodec = {
  /** Undefined if the datagram is malformed. The payload is a view of it. */
  read(bytes: Uint8Array): { readonly target: ConnectTarget; readonly payload: Uint8Array } | undefined
  /** Header in front of the payload of a datagram to the client. */
  toHeader(source: Address, port: number): Uint8Array
}

/** A way in by HTTP/1 upgrade (RFC 9110, 7.8) and HTTP/2 extended CONNECT (RFC 8441), for the gateway itself. */
export type Extension = {
  readonly wayIn: WayInName
  /** In Upgrade and `:protocol`. */
  readonly protocol: string
  readonly readPath: (path: string) => ConnectTarget | undefined
  readonly toRequest: (target: ConnectTarget, asker: Asker) => ProxyRequest
  /** Of the answer. */
  readonly fields: readonly FieldPair[]
}

/** What a client asks of the gateway. Bytes that came early are not part of it: their number depends on the network. */
export type ProxyRequest = Asker &
  (
    | { readonly asks: 'tunnel'; readonly target: ConnectTarget }
    | {
        readonly asks: 'capsules'
        /** The only destination; undefined if each datagram has its own. */
        readonly target: ConnectTarget | undefined
        readonly codec: CapsuleCodec
        /** Undefined without HTTP. */
        readonly extension?: Extension
      }
    | { readonly asks: 'datagrams'; readonly codec: DatagramCodec }
    /** Tunnels and associations in the client's connection (`vless/mux.ts`). */
    | { readonly asks: 'streams' }
    /** Whether the claim is right. */
    | { readonly asks: 'check' }
    | ({ readonly asks: 'forward' } & Forwarded)
  )

/** An HTTP request to forward. Its body follows as events. */
type Forwarded = {
  readonly target: ConnectTarget
  /** For the origin. */
  readonly head: Uint8Array
  readonly method: string
  readonly version: HttpVersion
  readonly upgrade: boolean
  readonly keepAlive: boolean
}

/** The answer to a request, and what the client may learn. */
export type Verdict =
  | {
      readonly isAdmitted: true
      readonly refusal?: undefined
      /** The address that the tunnel leaves from, if it is not the proxy's (sandbox only). */
      readonly leftFrom?: string | undefined
      /** Where the client sends its datagrams. */
      readonly bound?: { readonly address: Address; readonly port: number }
    }
  /** `isAdmitted`: the claim was right, and the request failed. */
  | { readonly isAdmitted: boolean; readonly refusal: RefusalCode }

/** Bytes for the client; it is closed after them, or next() parses on. */
export type Answer = { readonly bytes: Uint8Array; readonly isLast: boolean }

export type ClientEvent =
  /** A claim that comes before the request: answer it, then call next(). */
  | { readonly type: 'login'; readonly asker: Asker }
  /** Answer it. */
  | { readonly type: 'request'; readonly request: ProxyRequest }
  /** Body bytes in the origin's framing; may be a view of the input. */
  | { readonly type: 'body'; readonly bytes: Uint8Array }
  | { readonly type: 'end' }
  | { readonly type: 'reply'; readonly bytes: Uint8Array }
  /** Write, then close. */
  | { readonly type: 'refuse'; readonly bytes: Uint8Array; readonly code: string }

/**
 * Speaks with one client in the form of its protocol, without sockets: bytes in and events out, verdict in and bytes
 * out. The events of the same bytes are the same for every split.
 */
export type ClientParser = {
  feed(bytes: Uint8Array): readonly ClientEvent[]
  /** Parses on after an answer that was not the last. */
  next(): readonly ClientEvent[]
  /** Answers the login or request. Without `mayKeep`, a refusal is the last answer. */
  answer(verdict: Verdict, mayKeep: boolean): Answer
  /** Bytes that followed the request; returned once. */
  rest(): Uint8Array
  /** Bytes of the current request; HTTP requests are billed with their heads. */
  readonly taken: number
  /** For a client that does not finish its request. */
  toTimeout?(): Uint8Array
  /** The head of an origin's response. */
  toHead?(head: ResponseHead): Uint8Array
}
