import { afterAll, describe, expect, test } from 'bun:test'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { untilTrue } from '../../../../../test/harness/turnpike.ts'
import {
  clientPreface,
  errorCodes,
  type Frame,
  FrameReader,
  firstWindow,
  flags,
  frameTypes,
  maxFrameBytes,
  readUint31,
  readUint32,
  toFrame,
  toHeaders,
  toReset,
  toSettings,
  toWindowUpdate,
} from './frames.ts'
import { encodeFields } from './hpack.ts'
import { Http2Session } from './session.ts'
import type { Http2Stream } from './stream.ts'

type Serve = (stream: Http2Stream, path: string) => void

/** Writes everything back, with backpressure. */
function echo(stream: Http2Stream): void {
  let held: Uint8Array[] = []
  let hasEnded = false
  const push = (): void => {
    while (held.length > 0) {
      const first = held[0] ?? new Uint8Array(0)
      const taken = stream.write(first)
      if (taken < first.length) {
        held = [first.subarray(taken), ...held.slice(1)]
        stream.pause()
        return
      }
      held = held.slice(1)
    }
    if (hasEnded) stream.shutdown()
    else stream.resume()
  }
  stream.respond([[':status', '200']], false)
  stream.owner = {
    onSocketData(bytes) {
      held = [...held, bytes.slice()]
      push()
    },
    onSocketDrain: push,
    onSocketEnd() {
      hasEnded = true
      push()
    },
    onSocketClose() {},
  }
}

const open: { stop(closeAll: boolean): void }[] = []
afterAll(() => {
  for (const each of open) each.stop(true)
})

/** A server of HTTP/2 without TLS. */
function listen(serve: Serve) {
  const sessions: Http2Session[] = []
  const listener = Bun.listen<Http2Session>({
    hostname: '127.0.0.1',
    port: 0,
    allowHalfOpen: true,
    socket: {
      open(socket) {
        const session = new Http2Session({
          wire: socket,
          role: 'server',
          clock: () => 0,
          onRequest: (stream, fields) => serve(stream, fields.find(([name]) => name === ':path')?.[1] ?? ''),
          onClosed() {},
        })
        socket.data = session
        sessions.push(session)
      },
      data: (socket, bytes) => socket.data.onSocketData(bytes),
      drain: (socket) => socket.data.onSocketDrain(),
      end: (socket) => socket.data.onSocketEnd(),
      close: (socket) => socket.data.onSocketClose(),
    },
  })
  open.push(listener)
  return { port: listener.port, sessions }
}

async function receive(stream: ClientHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const dial = (port: number): ClientHttp2Session => connect(`http://127.0.0.1:${port}`)

/** A client that sends frames of its own making. */
async function openRaw(port: number) {
  const frames: (Frame & { readonly payload: Uint8Array })[] = []
  const reader = new FrameReader()
  let isClosed = false
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data: (_, bytes) => reader.feed(bytes, (frame) => frames.push({ ...frame, payload: frame.payload.slice() })),
      close: () => void (isClosed = true),
    },
  })
  const find = (type: number) => frames.filter((frame) => frame.type === type)
  return {
    frames,
    find,
    write: (...parts: readonly Uint8Array[]) => socket.write(Buffer.concat(parts)),
    begin: (...parts: readonly Uint8Array[]) => socket.write(Buffer.concat([clientPreface, toSettings({}), ...parts])),
    end: () => socket.end(),
    goawayCode: async (): Promise<number> => {
      await untilTrue(async () => isClosed || find(frameTypes.goaway).length > 0)
      return readUint32(find(frameTypes.goaway)[0]?.payload ?? new Uint8Array(8), 4)
    },
  }
}

const connectBlock = encodeFields([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/echo'],
  [':authority', 'a'],
])

describe('an HTTP/2 session', () => {
  test('40 concurrent streams of 700,000 bytes each come back unchanged', async () => {
    const { port } = listen(echo)
    const client = dial(port)
    const sent = Array.from({ length: 40 }, (_, index) => Buffer.alloc(700_000, index + 1))
    const received = await Promise.all(
      sent.map((bytes) => {
        const stream = client.request({ ':method': 'POST', ':path': '/echo' })
        stream.end(bytes)
        return receive(stream)
      }),
    )
    for (const [index, bytes] of sent.entries()) expect(received[index]?.equals(bytes)).toBe(true)
    client.close()
  })

  test('a stream whose reader is paused takes one window and holds up no other stream', async () => {
    const stalled: Http2Stream[] = []
    const { port } = listen((stream, path) => {
      if (path === '/echo') return echo(stream)
      stalled.push(stream)
      stream.pause()
      stream.owner = { onSocketData() {}, onSocketDrain() {}, onSocketEnd() {}, onSocketClose() {} }
    })
    const raw = await openRaw(port)
    const stalledBlock = encodeFields([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', '/stall'],
    ])
    const data = (stream: number) => toFrame(frameTypes.data, 0, stream, new Uint8Array(maxFrameBytes))
    raw.begin(toHeaders(1, stalledBlock, false), toHeaders(3, connectBlock, false))
    for (let sent = 0; sent + maxFrameBytes <= firstWindow; sent += maxFrameBytes) raw.write(data(1))
    raw.write(data(3))
    await untilTrue(async () => raw.find(frameTypes.data).length > 0)
    expect(raw.find(frameTypes.data)[0]?.stream).toBe(3)
    expect(raw.find(frameTypes.windowUpdate).filter(({ stream }) => stream === 1)).toHaveLength(0)
    // One byte beyond the window is an error of the connection.
    raw.write(data(1))
    expect(await raw.goawayCode()).toBe(errorCodes.flowControl)
  })

  test('a new stream gets its window only when it is read, from 4 waiting requests on until 1 waits', async () => {
    const waiting: Http2Stream[] = []
    const { port } = listen((stream, path) => {
      if (path === '/echo') return echo(stream)
      waiting.push(stream)
      stream.pause()
      stream.wait(true)
      stream.owner = { onSocketData() {}, onSocketDrain() {}, onSocketEnd() {}, onSocketClose() {} }
    })
    const raw = await openRaw(port)
    const openStream = (id: number, path: string): void => {
      const fields = [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', path],
      ] as const
      raw.write(toHeaders(id, encodeFields(fields), false))
    }
    const windows = () =>
      raw
        .find(frameTypes.settings)
        .filter(({ flags: own, payload }) => own === 0 && payload.length === 6)
        .map(({ payload }) => readUint32(payload, 2))
    const given = () =>
      raw
        .find(frameTypes.windowUpdate)
        .flatMap(({ stream, payload }) => (stream === 0 ? [] : [[stream, readUint31(payload, 0)]]))
    raw.begin()
    openStream(1, '/echo')
    for (const id of [3, 5, 7]) openStream(id, '/wait')
    await untilTrue(async () => waiting.length === 3)
    expect(windows()).toEqual([])
    openStream(9, '/wait')
    await untilTrue(async () => windows().length === 1)
    openStream(11, '/wait')
    openStream(13, '/echo')
    await untilTrue(async () => given().length === 2)
    expect([windows(), given()]).toEqual([
      [0],
      [
        [1, firstWindow],
        [13, firstWindow],
      ],
    ])
    // The first three are read: no window is due, or it is given with the reading.
    for (const stream of waiting.slice(0, 3)) {
      stream.wait(false)
      stream.resume()
    }
    await untilTrue(async () => given().length === 5)
    expect(
      given()
        .slice(2)
        .map(([id]) => id),
    ).toEqual([3, 5, 7])
    expect(windows()).toEqual([0])
    waiting[3]?.wait(false)
    await untilTrue(async () => windows().length === 2)
    expect(windows()).toEqual([0, firstWindow])
    // Stream 11 has one window now, and no more.
    const data = (id: number) => toFrame(frameTypes.data, 0, id, new Uint8Array(maxFrameBytes))
    for (let sent = 0; sent + maxFrameBytes <= firstWindow; sent += maxFrameBytes) raw.write(data(11))
    raw.write(toFrame(frameTypes.data, 0, 13, Buffer.from('still open')))
    await untilTrue(async () => raw.find(frameTypes.data).length === 1)
    raw.write(data(11))
    expect(await raw.goawayCode()).toBe(errorCodes.flowControl)
  })

  test('a client returns 4 MiB with two WINDOW_UPDATE frames for every 4 KiB, and may send 1,000 more without data', async () => {
    const { port } = listen((stream) => {
      stream.respond([[':status', '200']], false)
      stream.owner = { onSocketData() {}, onSocketDrain() {}, onSocketEnd() {}, onSocketClose() {} }
      let left = 4 * 1024 * 1024
      const push = (): void => {
        while (left > 0) {
          const taken = stream.write(new Uint8Array(Math.min(left, 65_536)))
          left -= taken
          if (taken === 0) return
        }
      }
      stream.owner.onSocketDrain = push
      push()
    })
    const raw = await openRaw(port)
    const large = 8 * 1024 * 1024
    raw.begin(toSettings({ initialWindowSize: large }), toWindowUpdate(0, large), toHeaders(1, connectBlock, false))
    const received = () => raw.find(frameTypes.data).reduce((sum, { payload }) => sum + payload.length, 0)
    await untilTrue(async () => received() === 4 * 1024 * 1024)
    const returned = Buffer.concat([toWindowUpdate(0, 4096), toWindowUpdate(1, 4096)])
    raw.write(many(returned, 1024), ping)
    await untilTrue(async () => raw.find(frameTypes.ping).length === 1)
    expect(raw.find(frameTypes.goaway)).toEqual([])
    raw.write(many(toWindowUpdate(0, 1), 4000))
    expect(await raw.goawayCode()).toBe(errorCodes.enhanceYourCalm)
  })

  test('drain finishes open streams, refuses new ones, and closes the connection after the last', async () => {
    const { port, sessions } = listen(echo)
    const client = dial(port)
    const stream = client.request({ ':method': 'POST', ':path': '/echo' })
    await new Promise((resolve) => stream.once('response', resolve))
    const closed = new Promise((resolve) => client.once('close', resolve))
    sessions[0]?.drain()
    await new Promise((resolve) => client.once('goaway', resolve))
    stream.end('last bytes')
    expect((await receive(stream)).toString()).toBe('last bytes')
    await closed
  })

  test('an initial window of the client of 10 bytes limits each answer until the client enlarges it', async () => {
    const { port } = listen(echo)
    const raw = await openRaw(port)
    raw.begin(toSettings({ initialWindowSize: 10 }), toHeaders(1, connectBlock, false))
    raw.write(toFrame(frameTypes.data, flags.endStream, 1, Buffer.from('0123456789abcdef')))
    const text = () => Buffer.concat(raw.find(frameTypes.data).map(({ payload }) => payload)).toString()
    await untilTrue(async () => text().length === 10)
    raw.write(toWindowUpdate(1, 6))
    await untilTrue(async () => text() === '0123456789abcdef')
    expect(raw.find(frameTypes.data).at(-1)?.flags).toBe(flags.endStream)
    raw.end()
  })

  const ping = toFrame(frameTypes.ping, 0, 0, new Uint8Array(8))
  const many = (frame: Uint8Array, count: number) => Buffer.concat(Array.from({ length: count }, () => frame))
  const openAndReset = Buffer.concat(
    Array.from({ length: 400 }, (_, index) =>
      Buffer.concat([toHeaders(2 * index + 1, connectBlock, false), toReset(2 * index + 1, 'cancel')]),
    ),
  )
  const floods = [
    ['2,000 PING frames', many(ping, 2000)],
    ['2,000 SETTINGS frames', many(toSettings({}), 2000)],
    ['2,000 PRIORITY frames', many(toFrame(frameTypes.priority, 0, 1, new Uint8Array(5)), 2000)],
    ['2,000 WINDOW_UPDATE frames', many(toWindowUpdate(0, 1), 2000)],
    ['2,000 unknown frames', many(toFrame(99, 0, 0, new Uint8Array(0)), 2000)],
    ['400 streams that are reset at once', openAndReset],
    [
      '2,000 empty DATA frames',
      Buffer.concat([toHeaders(1, connectBlock, false), many(toFrame(frameTypes.data, 0, 1, new Uint8Array(0)), 2000)]),
    ],
    [
      '2,000 header blocks on a stream that is closed',
      Buffer.concat([
        toHeaders(1, connectBlock, false),
        toReset(1, 'cancel'),
        many(toHeaders(1, connectBlock, false), 2000),
      ]),
    ],
    [
      '2,000 DATA frames of 1 byte on a stream that is closed',
      Buffer.concat([
        toHeaders(1, connectBlock, false),
        toReset(1, 'cancel'),
        many(toFrame(frameTypes.data, flags.endStream, 1, new Uint8Array(1)), 2000),
      ]),
    ],
    [
      'a header block of 20 CONTINUATION frames',
      Buffer.concat([
        toFrame(frameTypes.headers, 0, 1, connectBlock),
        many(toFrame(frameTypes.continuation, 0, 1, new Uint8Array(1)), 20),
      ]),
    ],
  ] as const
  for (const [name, bytes] of floods) {
    test(`${name} end the connection with ENHANCE_YOUR_CALM`, async () => {
      const { port } = listen(echo)
      const raw = await openRaw(port)
      raw.begin(bytes)
      expect(await raw.goawayCode()).toBe(errorCodes.enhanceYourCalm)
    })
  }

  const violations = [
    ['a frame of 16,385 bytes', toFrame(frameTypes.data, 0, 1, new Uint8Array(maxFrameBytes + 1)), 'frameSize'],
    ['DATA on an idle stream', toFrame(frameTypes.data, 0, 7, new Uint8Array(1)), 'protocol'],
    ['HEADERS on an even stream', toHeaders(2, connectBlock, false), 'protocol'],
    ['HEADERS on stream 0', toHeaders(0, connectBlock, false), 'protocol'],
    ['PUSH_PROMISE', toFrame(frameTypes.pushPromise, flags.endHeaders, 1, new Uint8Array(4)), 'protocol'],
    ['a window of 0 more bytes', toWindowUpdate(0, 0), 'flowControl'],
    ['a window beyond 2^31-1', toWindowUpdate(0, 0x7fff_ffff), 'flowControl'],
    ['a header block with an unknown index', toHeaders(1, Uint8Array.of(0xff, 0x80, 0x01), false), 'compression'],
    [
      'a PING between HEADERS and CONTINUATION',
      Buffer.concat([toFrame(frameTypes.headers, 0, 1, connectBlock), ping]),
      'protocol',
    ],
  ] as const
  for (const [name, bytes, code] of violations) {
    test(`${name} ends the connection with error ${errorCodes[code]}`, async () => {
      const { port } = listen(echo)
      const raw = await openRaw(port)
      raw.begin(bytes)
      expect(await raw.goawayCode()).toBe(errorCodes[code])
    })
  }

  test('the 101st concurrent stream is refused with REFUSED_STREAM and the others continue', async () => {
    const { port } = listen(echo)
    const raw = await openRaw(port)
    raw.begin(...Array.from({ length: 101 }, (_, index) => toHeaders(2 * index + 1, connectBlock, false)))
    await untilTrue(async () => raw.find(frameTypes.reset).length > 0)
    const [reset] = raw.find(frameTypes.reset)
    expect(reset?.stream).toBe(201)
    expect(readUint31(reset?.payload ?? new Uint8Array(4), 0)).toBe(errorCodes.refusedStream)
    raw.write(toFrame(frameTypes.data, flags.endStream, 199, Buffer.from('still here')))
    await untilTrue(async () => raw.find(frameTypes.data).length > 0)
    raw.end()
  })

  /** This side's client, with one request. */
  async function openClient(port: number) {
    const session = await new Promise<Http2Session>((resolve, reject) => {
      const options = {
        hostname: '127.0.0.1',
        port,
        allowHalfOpen: true,
        socket: {
          open(socket: Bun.Socket<Http2Session>) {
            socket.data = new Http2Session({
              wire: socket,
              role: 'client',
              clock: () => performance.now(),
              onClosed() {},
            })
            open.push({ stop: () => socket.terminate() })
            resolve(socket.data)
          },
          data: (socket: Bun.Socket<Http2Session>, bytes: Buffer) => socket.data.onSocketData(bytes),
          drain: (socket: Bun.Socket<Http2Session>) => socket.data.onSocketDrain(),
          close: (socket: Bun.Socket<Http2Session>) => socket.data.onSocketClose(),
        },
      }
      Bun.connect<Http2Session>(options).catch(reject)
    })
    return {
      session,
      request() {
        const stream = session.request(
          [
            [':method', 'POST'],
            [':scheme', 'http'],
            [':path', '/'],
          ],
          false,
        )
        const seen = { bytes: 0, status: '', hasEnded: false, isClosed: false }
        stream.owner = {
          onSocketData: (bytes) => void (seen.bytes += bytes.length),
          onSocketDrain() {},
          onSocketEnd: () => void (seen.hasEnded = true),
          onSocketClose: () => void (seen.isClosed = true),
          onFields: (fields) => void (seen.status = fields[0]?.[1] ?? ''),
        }
        return { stream, seen }
      },
    }
  }

  test('a client that pauses gets all 100,000 bytes of a stream that the server ended and reset without an error', async () => {
    const { port, sessions } = listen((stream) => {
      stream.owner = { onSocketData() {}, onSocketDrain() {}, onSocketEnd() {}, onSocketClose() {} }
      stream.respond([[':status', '200']], false)
      stream.write(new Uint8Array(100_000))
      stream.end()
    })
    const client = await openClient(port)
    const { stream, seen } = client.request()
    stream.pause()
    await untilTrue(() => seen.status === '200' && stream.hasRemoteEnded && sessions[0]?.openStreams === 0)
    // The reset follows the end; a ping is answered after both.
    const before = performance.now()
    client.session.ping()
    await untilTrue(() => client.session.receivedAt > before)
    expect(seen).toMatchObject({ bytes: 0, hasEnded: false, isClosed: false })
    stream.resume()
    expect(seen).toEqual({ bytes: 100_000, status: '200', hasEnded: true, isClosed: true })
    expect(client.session.openStreams).toBe(0)
  })

  test('a request that GOAWAY excludes and one beyond the limit of streams are marked as refused', async () => {
    const { port, sessions } = listen(echo)
    const client = await openClient(port)
    const all = Array.from({ length: 101 }, () => client.request())
    await untilTrue(() => all.at(-1)?.seen.isClosed === true)
    expect(all.map(({ stream }) => stream.wasRefused)).toEqual([...Array.from({ length: 100 }, () => false), true])
    sessions[0]?.drain()
    const late = client.request()
    await untilTrue(() => late.seen.isClosed)
    expect(late.stream.wasRefused).toBe(true)
    expect(client.session.isExhausted).toBe(true)
    expect(all.filter(({ seen }) => seen.isClosed)).toHaveLength(1)
  })

  test('a trusted client may open 1,000 streams and reset 500 of them at once', async () => {
    const { port, sessions } = listen(echo)
    const client = await openClient(port)
    await untilTrue(() => sessions.length === 1)
    sessions[0]?.trust()
    await untilTrue(() => client.session.peerMaxStreams === 1000)
    const all = Array.from({ length: 1000 }, () => client.request())
    await untilTrue(() => all.every(({ seen }) => seen.status === '200'))
    for (const { stream } of all.slice(0, 500)) stream.terminate()
    await untilTrue(() => sessions[0]?.openStreams === 500)
    expect(all.slice(500).some(({ seen }) => seen.isClosed)).toBe(false)
  })
})
