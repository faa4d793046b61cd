import type { TlsOwner } from '../../../tls/tls-socket.ts'
import { formatAuthority } from '../../ways-in/authority.ts'
import { joinBytes } from '../../ways-in/bytes.ts'
import { toLatin1 } from '../../ways-in/http1/head.ts'
import { encodeFields, type Field } from '../../ways-in/http2/hpack.ts'
import type { ProxyRequest } from '../../ways-in/request.ts'
import type { StreamClient } from '../shared/http2-clients.ts'
import type { TlsClient } from '../shared/sockets.ts'

/** A stream for the reactor, which reads HTTP/1 from the socket pair until it does TLS itself. */
export class TextStream implements TlsClient, TlsOwner {
  owner: TlsOwner | undefined
  private head = ''
  private hasHead = false
  private isPaused = false
  private pending: Uint8Array

  constructor(private readonly client: StreamClient) {
    client.owner = this
    this.pending = toText(client.parser.request)
  }

  get source(): string {
    return this.client.source
  }

  get isClosed(): boolean {
    return this.client.isClosed
  }

  follow() {
    return this.client.follow()
  }

  onSocketData(bytes: Uint8Array): void {
    this.owner?.onSocketData(bytes)
  }

  onSocketDrain(): void {
    this.owner?.onSocketDrain()
  }

  onSocketEnd(): void {
    // The end of a request's body is in its length; only a tunnel is half-closed.
    if (this.client.parser.request.asks !== 'forward') this.owner?.onSocketEnd()
  }

  onSocketClose(): void {
    this.owner?.onSocketClose()
  }

  write(bytes: Uint8Array): number {
    if (this.hasHead) return this.client.write(bytes)
    const before = this.head.length
    this.head += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    const end = this.head.indexOf('\r\n\r\n') + 4
    if (end < 4) return bytes.length
    const rest = bytes.subarray(end - before)
    const { status, fields } = readHead(this.head.slice(0, end - 4))
    this.head = ''
    if (status >= 200) {
      this.hasHead = true
      const isRefused = fields.some(([name]) => name === 'x-turnpike-error')
      const isAdmitted = status === 502 || status === 504 || !isRefused
      this.client.parser.answer(isAdmitted ? { isAdmitted } : { isAdmitted, refusal: 'bad_credentials' })
      this.client.sendBlock(encodeFields(fields), end)
    }
    return bytes.length - rest.length + (rest.length > 0 ? this.write(rest) : 0)
  }

  shutdown(): void {
    this.client.shutdown()
  }

  end(): void {
    this.client.end()
  }

  terminate(): void {
    this.client.terminate()
  }

  pause(): void {
    this.isPaused = true
    this.client.pause()
  }

  resume(): void {
    this.isPaused = false
    const { pending } = this
    this.pending = nothing
    if (pending.length > 0) this.owner?.onSocketData(pending)
    if (!this.isPaused) this.client.resume()
  }

  setNoDelay(): void {}
}

const nothing = new Uint8Array(0)

function toText(request: ProxyRequest): Uint8Array {
  const lines = request.claim.kind === 'ticket' ? [`Proxy-Authorization: Turnpike-Hop ${request.claim.ticket}`] : []
  if (request.claim.kind === 'password') {
    const { username, password } = request.claim.credentials
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`)
  }
  if (request.asks === 'datagrams') return nothing
  const authority = formatAuthority(request.target)
  if (request.asks === 'tunnel')
    return toLatin1([`CONNECT ${authority} HTTP/1.1`, 'Connection: close', ...lines, '\r\n'].join('\r\n'))
  if (request.asks === 'capsules') {
    const { host, port } = request.target
    const path = `/.well-known/masque/udp/${encodeURIComponent(host.replace(/^\[|\]$/g, ''))}/${port}/`
    const upgrade = ['Host: gateway', 'Connection: upgrade, close', 'Upgrade: connect-udp']
    return toLatin1([`GET ${path} HTTP/1.1`, ...upgrade, ...lines, '\r\n'].join('\r\n'))
  }
  const [first = '', ...fields] = Buffer.from(request.head).toString('latin1').split('\r\n')
  const [, path = ''] = first.split(' ')
  const start = `${request.method} http://${authority}${path === '*' ? '' : path} HTTP/1.0`
  return joinBytes([toLatin1([start, ...lines, ...fields].join('\r\n'))])
}

/** HTTP/2 has no 101 (RFC 9113, 8.6): extended CONNECT is answered with 200. */
function readHead(head: string): { readonly status: number; readonly fields: Field[] } {
  const [first = '', ...lines] = head.split('\r\n')
  const stated = Number(first.slice(9, 12))
  const status = stated === 101 ? 200 : stated
  const fields: Field[] = [[':status', String(status)]]
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    if (!['connection', 'upgrade', 'transfer-encoding', 'keep-alive'].includes(name))
      fields.push([name, line.slice(colon + 1).trim()])
  }
  return { status, fields }
}
