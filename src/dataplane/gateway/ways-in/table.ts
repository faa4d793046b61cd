import { connectUdp } from './connect-udp/extension.ts'
import { HttpRequestReader } from './http1/request.ts'
import type { KeyedWayIn } from './key-reader.ts'
import type { ClientAddress, ClientParser, Extension } from './request.ts'
import { refuseSocks4, Socks5Reader } from './socks5/handshake.ts'
import { trojan } from './trojan/request.ts'
import { vless } from './vless/request.ts'

/** A protocol of new connections, known by its first byte, so that detection is the same for every split. */
export type WayIn = {
  readonly isFirst: (byte: number) => boolean
  readonly open: (client: ClientAddress) => ClientParser
}

/** Ways in over HTTP, for HTTP/1 and HTTP/2. */
export const extensions: readonly Extension[] = [connectUdp]

/** Protocols that begin with the key of a VPN device, inside TLS only: the site finds them by the key. */
export const keyedWaysIn: readonly KeyedWayIn[] = [vless, trojan]

const isLetter = (byte: number): boolean => byte < 0x80 && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a

/**
 * The protocols of the gateway, by the first byte of a connection. HTTP/2 is chosen by ALPN: its streams come as field
 * lists (`http2/request.ts`). A new protocol is a folder and a line here, or in `extensions`.
 */
export const waysIn: readonly WayIn[] = [
  { isFirst: isLetter, open: (client) => new HttpRequestReader(client, extensions) },
  { isFirst: (byte) => byte === 5, open: (client) => new Socks5Reader(client) },
  { isFirst: (byte) => byte === 4, open: () => refuseSocks4 },
]

/** Undefined for an unknown protocol. */
export const recognize = (byte: number, client: ClientAddress, among = waysIn): ClientParser | undefined =>
  among.find(({ isFirst }) => isFirst(byte))?.open(client)
