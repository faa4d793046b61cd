import { X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { WayInStage } from '../messages-en.ts'

export class WayInFailed extends Error {
  constructor(
    readonly stage: WayInStage,
    message: string,
  ) {
    super(message)
  }
}

export type Spot = { readonly host: string; readonly port: number }
/** `pin`: SHA-256 of the certificate in hex, if no authority has signed it. */
export type TlsSpot = Spot & { readonly pin: string | null }

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** OpenSockets of one attempt: destroyed together. */
export class OpenSockets {
  private readonly all: { destroy(): unknown }[] = []

  keep<Kept extends { destroy(): unknown }>(socket: Kept): Kept {
    this.all.push(socket)
    return socket
  }

  destroy(): void {
    for (const each of this.all) each.destroy()
  }
}

/** A TCP connection to a gateway, by its name or address. */
export async function openTcp({ host, port }: Spot, sockets: OpenSockets): Promise<Socket> {
  const address =
    isIP(host) !== 0
      ? host
      : await lookup(host).then(
          (found) => found.address,
          (error: unknown) => {
            throw new WayInFailed('dns', messageOf(error))
          },
        )
  const socket = sockets.keep(connectTcp(port, address))
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', (error) => reject(new WayInFailed('tcp', messageOf(error))))
    socket.once('close', () => reject(new WayInFailed('tcp', 'the connection was closed')))
  })
  socket.on('error', () => {})
  return socket
}

/** A TLS connection whose certificate is checked as apps check it. */
export async function openTls(spot: TlsSpot, alpn: string, sockets: OpenSockets): Promise<TLSSocket> {
  const { host, pin } = spot
  const socket = await openTcp(spot, sockets)
  const name = isIP(host) === 0 ? { servername: host } : {}
  const options = { socket, ...name, ALPNProtocols: [alpn], rejectUnauthorized: false }
  const line = sockets.keep(connectTls(options))
  await new Promise<void>((resolve, reject) => {
    line.once('secureConnect', resolve)
    line.once('error', (error) => reject(new WayInFailed('protocol', `TLS: ${messageOf(error)}`)))
    line.once('close', () => reject(new WayInFailed('protocol', 'TLS: the connection was closed')))
  })
  line.on('error', () => {})
  checkCertificate(line, host, pin)
  if (alpn === 'h2' && line.alpnProtocol !== 'h2') throw new WayInFailed('protocol', 'TLS: no HTTP/2 is offered')
  return line
}

function checkCertificate(line: TLSSocket, host: string, pin: string | null): void {
  const { raw } = line.getPeerCertificate()
  const shown = raw && new X509Certificate(raw)
  if (!shown) throw new WayInFailed('certificate', 'there is none')
  const digest = shown.fingerprint256.replaceAll(':', '').toLowerCase()
  if (pin !== null) {
    if (digest !== pin) throw new WayInFailed('certificate', 'it is not the one that links name')
    return
  }
  const isNamed = isIP(host) === 0 ? shown.checkHost(host) !== undefined : shown.checkIP(host) !== undefined
  if (!isNamed) throw new WayInFailed('certificate', `it is not for ${host}`)
  const { authorizationError: problem } = line
  if (!line.authorized) throw new WayInFailed('certificate', messageOf(problem ?? 'no authority has signed it'))
}
