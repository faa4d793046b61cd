import { STATUS_CODES } from 'node:http'
import type { Socket } from 'bun'
import { type Prefixes, prefixesOf, Ranking, Seat } from '../seats.ts'
import type { Challenges } from './client.ts'

const path = '/.well-known/acme-challenge/'
/** From the beginning of a connection to its end: a client that sends a byte a second does not extend it. */
const connectionMs = 10_000
const maxHeadBytes = 8192
/** Open connections in all, and of one network: an IPv4 address or an IPv6 /48. A browser opens six at a time. */
const maxOpen = 128
const maxOfNetwork = 16

export type ChallengeServer = Challenges & { readonly port: number; stop(): Promise<void> }

type RequestLine = { readonly method: string; readonly target: string }

type Answer = { readonly status: number; readonly text?: string; readonly location?: string }

class Connection {
  head = ''
  isAnswered = false
  private isOpen = true
  readonly seat: Seat
  private readonly deadline: ReturnType<typeof setTimeout>

  constructor(
    socket: Socket<Connection>,
    private readonly open: Ranking,
    timeoutMs: number,
  ) {
    this.seat = new Seat(prefixesOf(socket.remoteAddress), () => {
      this.leave()
      socket.terminate()
    })
    this.deadline = setTimeout(() => this.seat.close(), timeoutMs)
    open.add(this.seat)
  }

  leave(): void {
    if (!this.isOpen) return
    this.isOpen = false
    clearTimeout(this.deadline)
    this.open.remove(this.seat)
  }
}

/**
 * Answers http-01 challenges (RFC 8555, 8.3) and redirects everything else to the operator's own HTTPS address. The
 * port is public and shares the shop's file descriptors: a newcomer beyond a limit takes the place of the oldest
 * connection of its own or of the largest network. `Bun.serve` has no such limit, so this reads requests itself: one
 * for each connection, without a body.
 */
export function serveChallenges(deps: {
  readonly hostname: string
  readonly port: number
  /** Undefined: answer 404. */
  readonly to: string | undefined
  readonly timeoutMs?: number
}): ChallengeServer {
  const texts = new Map<string, string>()
  const open = new Ranking()

  function answer({ method, target }: RequestLine): Answer {
    const url = URL.parse(target.startsWith('/') ? `http://localhost${target}` : target)
    if (!url) return { status: 400, text: 'This is no URL.\n' }
    const { pathname, search } = url
    if (pathname.startsWith(path)) {
      const text = texts.get(pathname.slice(path.length))
      return text === undefined ? { status: 404, text: 'Not found.\n' } : { status: 200, text }
    }
    if (deps.to === undefined) return { status: 404, text: 'There is nothing here.\n' }
    // A token sent in the clear is compromised: do not redirect it.
    if (method !== 'GET' && method !== 'HEAD') return { status: 403, text: `Only over TLS: ${deps.to}\n` }
    return { status: 308, location: `${deps.to}${pathname.replace(/^\/+/, '/')}${search}` }
  }

  const listener = Bun.listen<Connection>({
    hostname: deps.hostname,
    port: deps.port,
    exclusive: true,
    // The answer must leave before the connection is closed: unread bytes would turn the close into a reset.
    allowHalfOpen: true,
    socket: {
      open(socket) {
        makeRoom(open, prefixesOf(socket.remoteAddress))
        socket.data = new Connection(socket, open, deps.timeoutMs ?? connectionMs)
      },
      data(socket, bytes) {
        const request = readRequest(socket.data, bytes)
        if (!request) return
        socket.write(toBytes('status' in request ? request : answer(request), request.method))
        socket.shutdown()
      },
      end: (socket) => void socket.end(),
      close: (socket) => socket.data.leave(),
      // A reset is followed by close.
      error: () => {},
    },
  })
  return {
    port: listener.port,
    put: (token, text) => void texts.set(token, text),
    remove: (token) => void texts.delete(token),
    stop() {
      listener.stop(true)
      return Promise.resolve()
    },
  }
}

function makeRoom(open: Ranking, { network }: Prefixes): void {
  if (open.countOf(network) >= maxOfNetwork) open.ofNetwork(network)[0]?.close()
  else if (open.size >= maxOpen) open.findSpare()?.close()
}

/** The request, or the answer to a bad one; undefined until it is complete, and for bytes after it. */
function readRequest(connection: Connection, bytes: Buffer): RequestLine | (Answer & { method?: never }) | undefined {
  if (connection.isAnswered) return undefined
  connection.head += bytes.toString('latin1')
  const { head } = connection
  const end = head.indexOf('\r\n\r\n')
  if (end < 0 && head.length <= maxHeadBytes) return undefined
  connection.isAnswered = true
  connection.head = ''
  if (end < 0 || end > maxHeadBytes) return { status: 431, text: 'The request is too long.\n' }
  const [, method, target] = /^([A-Z]+) ([!-~]+) HTTP\/1\.[01]\r\n/.exec(head) ?? []
  if (method === undefined || target === undefined) return { status: 400, text: 'This is no HTTP request.\n' }
  return { method, target }
}

function toBytes({ status, text = '', location }: Answer, method?: string): Uint8Array {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    `Content-Length: ${text.length}`,
    ...(text === '' ? [] : ['Content-Type: text/plain; charset=utf-8']),
    ...(location === undefined ? [] : [`Location: ${location}`]),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${method === 'HEAD' ? '' : text}`, 'latin1')
}
