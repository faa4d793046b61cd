import type { Socket } from 'bun'

/** One connection to the origin: all its bytes, and how it ended. */
export type Recorded = { text: string; from: string; hasEnded: boolean; isClosed: boolean; answered: number }

type Connection = { readonly record: Recorded; readonly socket: Socket<Connection>; held: Uint8Array }

/** The origin's reaction to a complete request, or to every piece of bytes. */
export type Script = {
  onRequest?(request: ReadRequest, write: (text: string) => void, socket: Socket<Connection>): void
  onBytes?(bytes: Uint8Array, write: (text: string) => void, socket: Socket<Connection>): void
  onOpen?(write: (text: string) => void, socket: Socket<Connection>): void
}

export type ReadRequest = {
  readonly method: string
  readonly path: string
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly body: string
  /** Bytes behind the request on the same connection: a smuggled second request. */
  readonly behind: string
}

const ok = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`

/**
 * A server on loopback that records every byte and parses it strictly by RFC 9112, with a parser that shares no code
 * with the gateway. By default it answers each complete request with `ok`.
 */
export function startRecordingOrigin(hostname = '127.0.0.1') {
  const records: Recorded[] = []
  let script: Script = {}
  let open = 0
  const listener = Bun.listen<Connection>({
    hostname,
    port: 0,
    allowHalfOpen: true,
    socket: {
      open(socket) {
        open += 1
        const record = { text: '', from: socket.remoteAddress, hasEnded: false, isClosed: false, answered: 0 }
        records.push(record)
        socket.data = { record, socket, held: new Uint8Array(0) }
        script.onOpen?.((text) => write(socket.data, text), socket)
      },
      data(socket, bytes) {
        const { record } = socket.data
        record.text += Buffer.from(bytes).toString('latin1')
        if (script.onBytes) {
          script.onBytes(bytes, (text) => write(socket.data, text), socket)
          return
        }
        const request = readRequest(record.text)
        if (!request || record.answered > 0) return
        record.answered += 1
        if (script.onRequest) script.onRequest(request, (text) => write(socket.data, text), socket)
        else write(socket.data, ok('ok'))
      },
      drain: (socket) => flush(socket.data),
      end(socket) {
        socket.data.record.hasEnded = true
        socket.end()
      },
      close(socket) {
        open -= 1
        socket.data.record.isClosed = true
      },
      error() {},
    },
  })
  const host = hostname.includes(':') ? `[${hostname}]` : hostname
  return {
    port: listener.port,
    authority: `${host}:${listener.port}`,
    records,
    /** Connections that are open now. */
    get open(): number {
      return open
    },
    play(next: Script): void {
      script = next
    },
    /** Clears the records, and answers `ok` again. */
    reset(): void {
      records.length = 0
      script = {}
    },
    stop: (): void => listener.stop(true),
  }
}

export type RecordingOrigin = ReturnType<typeof startRecordingOrigin>

function write(connection: Connection, text: string): void {
  connection.held = Buffer.concat([connection.held, Buffer.from(text, 'latin1')])
  flush(connection)
}

function flush(connection: Connection): void {
  if (connection.held.length === 0) return
  const gone = connection.socket.write(connection.held)
  if (gone > 0) connection.held = connection.held.subarray(gone)
}

/** Strict RFC 9112. Undefined while bytes are missing. */
export function readRequest(text: string): ReadRequest | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [start = '', ...lines] = text.slice(0, headEnd).split('\r\n')
  const [method = '', path = '', version = ''] = start.split(' ')
  if (!/^HTTP\/1\.[01]$/.test(version)) throw new Error(`the origin was sent ${JSON.stringify(start)}`)
  const fields = lines.map((line) => {
    const match = /^([^\s:]+): ?(.*)$/.exec(line)
    if (!match) throw new Error(`the origin was sent the line ${JSON.stringify(line)}`)
    return [(match[1] ?? '').toLowerCase(), match[2] ?? ''] as const
  })
  const rest = text.slice(headEnd + 4)
  const body = fields.some(([name]) => name === 'transfer-encoding')
    ? readChunks(rest)
    : readSized(rest, Number(fields.find(([name]) => name === 'content-length')?.[1] ?? 0))
  return body && { method, path, fields, ...body }
}

function readSized(rest: string, length: number) {
  return rest.length < length ? undefined : { body: rest.slice(0, length), behind: rest.slice(length) }
}

function readChunks(rest: string): { body: string; behind: string } | undefined {
  let body = ''
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const line = rest.slice(at, lineEnd)
    if (!/^[0-9a-f]+$/i.test(line)) throw new Error(`the origin was sent the chunk size ${JSON.stringify(line)}`)
    const size = Number.parseInt(line, 16)
    const end = lineEnd + 2 + size + 2
    if (rest.length < end) return undefined
    if (rest.slice(end - 2, end) !== '\r\n') throw new Error('the origin was sent a chunk longer than its size')
    if (size === 0) return { body, behind: rest.slice(end) }
    body += rest.slice(lineEnd + 2, end - 2)
    at = end
  }
}

/** `GET /path`, and the body if there is one: the request as the origin parsed it. */
export function summarizeRequest(record: Recorded): string {
  const request = readRequest(record.text)
  if (!request) return `unfinished ${record.text.split('\r\n', 1)[0]}`
  const behind = request.behind === '' ? '' : ` AND BEHIND IT ${request.behind}`
  return `${request.method} ${request.path}${request.body === '' ? '' : ` ${request.body}`}${behind}`
}

const ofOurHop = /^(?:proxy-.*|keep-alive|te|trailer|via|forwarded|x-forwarded-.*|x-real-ip|x-turnpike-.*)$/

/** Fields of a recorded request that reveal the client, its credentials or the gateway. There should be none. */
export function findTraces(record: Recorded): string[] {
  const request = readRequest(record.text)
  const traces = (request?.fields ?? []).filter(([name, value]) => {
    if (ofOurHop.test(name)) return true
    return name === 'connection' && value !== 'close' && value !== 'upgrade'
  })
  const names = traces.map(([name, value]) => `${name}: ${value}`)
  return /Basic|\.secret/.test(record.text) ? [...names, 'credentials'] : names
}
