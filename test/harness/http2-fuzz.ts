import { connect, type TLSSocket } from 'node:tls'
import {
  clientPreface,
  FrameReader,
  flags,
  frameTypes,
  headBytes,
  makeFrame,
  toFrame,
  toGoaway,
  toHeaders,
  toReset,
  toSettings,
  toWindowUpdate,
} from '../../src/dataplane/gateway/ways-in/http2/frames.ts'
import { encodeFields, type Field } from '../../src/dataplane/gateway/ways-in/http2/hpack.ts'
import { udpPath } from './connect-udp.ts'
import { type Dice, mutate } from './dice.ts'
import { waitLimitMs } from './until.ts'

/** Frames that are acknowledged together. */
const framesPerBatch = 100
/** Batches of one connection. The gateway ends most connections earlier, because their budget is used up. */
const maxBatches = 60
/** Open tunnels of one connection. */
const maxTunnels = 6

type Destination = { readonly host: string; readonly port: number }

/** Header blocks of requests. Only blocks of `tunnels` open a tunnel; no mutated block has valid credentials. */
export function makeBlocks(login: string, tcp: Destination, udp: Destination) {
  const authority = `${tcp.host}:${tcp.port}`
  const proxy: Field = ['proxy-authorization', login]
  const wrong: Field = ['proxy-authorization', 'Basic YTpi']
  const get: readonly Field[] = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', '/'],
    [':authority', 'site.example'],
  ]
  const connectUdp: readonly Field[] = [
    [':method', 'CONNECT'],
    [':protocol', 'connect-udp'],
    [':scheme', 'https'],
    [':path', udpPath(udp.host, udp.port)],
    [':authority', 'gateway.example'],
    ['capsule-protocol', '?1'],
  ]
  const connectTcp: readonly Field[] = [
    [':method', 'CONNECT'],
    [':authority', authority],
  ]
  const post: readonly Field[] = [[':method', 'POST'], ...get.slice(1), ['content-length', '70']]
  const forward: readonly Field[] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', authority],
  ]
  const strangers = [get, post, connectTcp, [...connectTcp, wrong], [...connectUdp, wrong], [...get, wrong]]
  return {
    tunnels: [
      [...connectTcp, proxy],
      [...connectUdp, proxy],
    ].map(encodeFields),
    requests: [...strangers, [...forward, proxy]].map(encodeFields),
    strangers: strangers.map(encodeFields),
  }
}

type Blocks = ReturnType<typeof makeBlocks>

/** Draws frames of one connection, mostly valid ones, so that the gateway parses many before it ends the connection. */
class FrameDraw {
  private lastStream = -1
  private tunnels: number[] = []

  constructor(
    private readonly dice: Dice,
    private readonly blocks: Blocks,
  ) {}

  /** Draws one frame, or a header block in several frames. Returns how many frames it has added. */
  add(to: Uint8Array[]): number {
    const { dice } = this
    const kind = dice(100)
    if (this.tunnels.length === 0 || (kind < 2 && this.tunnels.length < maxTunnels)) return this.addTunnel(to)
    if (kind < 66) to.push(this.data(this.pickTunnel()))
    else if (kind < 74) return this.addRequest(to)
    else if (kind < 80) to.push(this.data(this.pickStream()))
    else if (kind < 87) to.push(toWindowUpdate(dice(2) === 0 ? 0 : this.pickStream(), 1 + dice(70_000)))
    else if (kind < 88) to.push(toReset(this.pickStream(), 'cancel'))
    else if (kind < 91) to.push(makeFrame(frameTypes.ping, dice(2), 0, 8))
    else if (kind < 94) to.push(this.settings())
    else if (kind < 97) to.push(makeFrame(frameTypes.priority, 0, this.pickStream(), 5))
    else to.push(toFrame(10 + dice(246), dice(256), dice(1000), this.noise()))
    return 1
  }

  /** Draws a frame that most likely ends the connection. */
  spoil(): Uint8Array {
    const { dice } = this
    const stream = dice(3) === 0 ? dice(2 ** 31) : this.pickStream()
    const kind = dice(6)
    if (kind === 0) return toHeaders(this.nextStream(), mutate(this.blocks.strangers, dice), dice(2) === 0)
    if (kind === 1) return toFrame(dice(10), dice(256), stream, this.noise())
    if (kind === 2) return toGoaway(stream, 'none')
    if (kind === 3) return toSettings({ initialWindowSize: dice(2 ** 32), maxFrameSize: dice(2 ** 25) })
    const frame = this.data(stream)
    if (kind === 4) frame[dice(frame.length)] = dice(256)
    return kind === 4 ? frame : frame.subarray(0, dice(frame.length))
  }

  private addTunnel(to: Uint8Array[]): number {
    const { dice } = this
    const stream = this.nextStream()
    this.tunnels.push(stream)
    to.push(toHeaders(stream, this.blocks.tunnels[dice(10) === 0 ? 1 : 0] ?? new Uint8Array(0), false))
    return 1
  }

  private addRequest(to: Uint8Array[]): number {
    const { dice } = this
    const block = this.blocks.requests[dice(this.blocks.requests.length)] ?? new Uint8Array(0)
    const stream = this.nextStream()
    if (dice(4) > 0) {
      to.push(toHeaders(stream, block, dice(3) > 0))
      return 1
    }
    const cut = dice(block.length)
    to.push(toFrame(frameTypes.headers, dice(2) * flags.endStream, stream, block.subarray(0, cut)))
    to.push(toFrame(frameTypes.continuation, flags.endHeaders, stream, block.subarray(cut)))
    return 2
  }

  private data(stream: number): Uint8Array {
    const { dice } = this
    const isEnd = dice(60) === 0
    if (isEnd) this.tunnels = this.tunnels.filter((each) => each !== stream)
    const frame = makeFrame(frameTypes.data, isEnd ? flags.endStream : 0, stream, 1 + dice(dice(50) === 0 ? 9000 : 120))
    // Capsules of up to 11 bytes, which a tunnel over TCP returns as they are.
    for (let at = headBytes; at + 1 < frame.length; at += 2 + (frame[at + 1] ?? 0)) frame[at + 1] = 1 + dice(10)
    if (dice(10) > 0) return frame
    frame[4] = (frame[4] ?? 0) | flags.padded
    frame[headBytes] = dice(frame.length - headBytes)
    return frame
  }

  private settings(): Uint8Array {
    const { dice } = this
    return toSettings({ initialWindowSize: dice(2) === 0 ? dice(200_000) : 65_535, headerTableSize: dice(10_000) })
  }

  private noise(): Uint8Array {
    return Uint8Array.from({ length: this.dice(40) }, () => this.dice(256))
  }

  private nextStream(): number {
    this.lastStream += 2
    return this.lastStream
  }

  private pickTunnel(): number {
    return this.tunnels[this.dice(this.tunnels.length)] ?? this.pickStream()
  }

  private pickStream(): number {
    return Math.max(1, 2 * this.dice((this.lastStream + 1) / 2 + 1) - 1)
  }
}

/** An HTTP/2 connection whose frames are acknowledged by the answer to a PING behind them. */
class FuzzConnection {
  isOver = false
  private readonly reader = new FrameReader()
  private receivedData = 0
  private awaited = -1
  private wake = (): void => {}

  private constructor(private readonly socket: TLSSocket) {
    socket.on('data', (bytes: Buffer) => this.reader.feed(bytes, (frame) => this.take(frame.type, frame.payload)))
    for (const event of ['end', 'close', 'error'])
      socket.on(event, () => {
        this.isOver = true
        this.wake()
      })
  }

  static open(port: number): Promise<FuzzConnection> {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] })
    const connection = new FuzzConnection(socket)
    return new Promise((resolve, reject) => {
      socket.once('secureConnect', () => resolve(connection))
      socket.once('close', () => reject(new Error('the gateway accepts no TLS connection')))
    })
  }

  write(bytes: Uint8Array): void {
    this.socket.write(bytes)
  }

  /** Sends frames. True if the gateway has parsed them all, false if it has closed the connection. */
  async send(frames: readonly Uint8Array[], number: number): Promise<boolean> {
    const ping = makeFrame(frameTypes.ping, 0, 0, 8)
    new DataView(ping.buffer).setUint32(headBytes, 1 + number)
    const window = this.receivedData > 0 ? [toWindowUpdate(0, this.receivedData)] : []
    this.receivedData = 0
    this.awaited = 1 + number
    this.write(Buffer.concat([...window, ...frames, ping]))
    await this.until(() => this.awaited === 0 || this.isOver)
    return this.awaited === 0
  }

  /** Sends the last bytes and half-closes; the gateway closes the connection then. */
  async finish(bytes: Uint8Array): Promise<void> {
    this.socket.end(bytes)
    await this.until(() => this.isOver)
  }

  destroy(): void {
    this.socket.destroy()
  }

  private async until(isSo: () => boolean): Promise<void> {
    const giveUpAt = performance.now() + waitLimitMs
    while (!isSo()) {
      if (performance.now() > giveUpAt) throw new Error('the gateway neither answers nor closes')
      const { promise, resolve } = Promise.withResolvers<void>()
      this.wake = resolve
      const timer = setTimeout(resolve, 5000)
      await promise
      clearTimeout(timer)
    }
  }

  private take(type: number, payload: Uint8Array): void {
    if (type === frameTypes.data) this.receivedData += payload.length
    if (type !== frameTypes.ping || payload.length !== 8) return
    if (new DataView(payload.buffer, payload.byteOffset).getUint32(0) !== this.awaited) return
    this.awaited = 0
    this.wake()
  }
}

/** Sends frames over one connection, and returns how many of them the gateway has certainly parsed. */
export async function fuzzConnection(port: number, dice: Dice, blocks: Blocks): Promise<number> {
  const connection = await FuzzConnection.open(port)
  const draw = new FrameDraw(dice, blocks)
  connection.write(Buffer.concat([clientPreface, toSettings({ enablePush: 0 })]))
  const batches = 1 + dice(maxBatches)
  let parsed = 0
  for (let batch = 0; batch < batches; batch += 1) {
    const frames: Uint8Array[] = []
    let count = 0
    while (count < framesPerBatch) count += draw.add(frames)
    if (!(await connection.send(frames, batch))) break
    parsed += count
  }
  if (!connection.isOver && dice(4) > 0) await connection.finish(Buffer.concat([draw.spoil(), draw.spoil()]))
  connection.destroy()
  return parsed
}
