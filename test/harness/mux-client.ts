import type { DeviceStream } from './device-stream.ts'
import { Inbox } from './device-stream.ts'
import type { BoughtDevice } from './gateway.ts'

const loopback = [1, 127, 0, 0, 1]
const twoBytes = (value: number): number[] => [value >> 8, value & 255]

type Reply = { readonly bytes: Buffer; readonly port: number }

/** A client of Mux.Cool and XUDP, written for the tests from their description. */
export class MuxClient {
  private readonly streams = new Map<number, Inbox>()
  private readonly replies: Reply[] = []
  private wake = Promise.withResolvers<void>()
  /** Sub-streams that the gateway has ended, with whether it gave them up. */
  readonly ended = new Map<number, boolean>()
  readonly closed: Promise<unknown>

  private constructor(private readonly line: DeviceStream) {
    this.closed = line.closed
    void this.run()
  }

  /** `isHeadSent`: the head went out as early data. */
  static open(line: DeviceStream, { uuid }: BoughtDevice): MuxClient {
    line.send(Buffer.from([0, ...Buffer.from(uuid.replaceAll('-', ''), 'hex'), 0, 3]))
    return new MuxClient(line)
  }

  close(): void {
    this.line.close()
  }

  /** Opens a TCP sub-stream to a port of this machine. */
  connect(id: number, port: number, text = ''): void {
    this.streams.set(id, new Inbox())
    this.send(id, 1, [1, ...twoBytes(port), ...loopback], text)
  }

  write(id: number, bytes: string | Uint8Array): void {
    const all = Buffer.from(bytes)
    for (let at = 0; at < all.length; at += 8192) this.send(id, 2, [], all.subarray(at, at + 8192))
  }

  end(id: number, hasFailed = false): void {
    this.line.send(Buffer.from([0, 4, ...twoBytes(id), 3, hasFailed ? 2 : 0]))
  }

  read(id: number, length: number): Promise<Buffer> {
    return this.streams.get(id)?.read(length) ?? Promise.resolve(Buffer.alloc(0))
  }

  /** The first datagram of a UDP sub-stream. */
  associate(id: number, port: number, text: string, globalId: readonly number[] = []): void {
    this.send(id, 1, [2, ...twoBytes(port), ...loopback, ...globalId], text)
  }

  /** A datagram with its destination, as XUDP sends it, or without. */
  datagram(id: number, text: string, port?: number): void {
    this.send(id, 2, port === undefined ? [] : [2, ...twoBytes(port), ...loopback], text)
  }

  async receive(): Promise<{ text: string; port: number }> {
    for (;;) {
      const reply = this.replies.shift()
      if (reply) return { text: reply.bytes.toString(), port: reply.port }
      await this.wake.promise
    }
  }

  /** Whether the gateway gave the sub-stream up, once it has ended it. */
  async endOf(id: number): Promise<boolean> {
    for (;;) {
      const hasFailed = this.ended.get(id)
      if (hasFailed !== undefined) return hasFailed
      await this.wake.promise
    }
  }

  private send(id: number, status: number, address: readonly number[], payload: string | Uint8Array): void {
    const bytes = Buffer.from(payload)
    const head = [...twoBytes(4 + address.length), ...twoBytes(id), status, bytes.length > 0 ? 1 : 0, ...address]
    this.line.send(
      Buffer.concat([Buffer.from(head), ...(bytes.length > 0 ? [Buffer.from(twoBytes(bytes.length)), bytes] : [])]),
    )
  }

  private async run(): Promise<void> {
    await this.line.read(2)
    for (;;) {
      const length = await this.line.read(2)
      if (length.length < 2) break
      const metadata = await this.line.read(length.readUInt16BE())
      const [id, status, option] = [metadata.readUInt16BE(), metadata[2], metadata[3] ?? 0]
      const payload = option & 1 ? await this.line.read((await this.line.read(2)).readUInt16BE()) : Buffer.alloc(0)
      if (status === 3) {
        this.ended.set(id, (option & 2) !== 0)
        this.streams.get(id)?.end()
      } else if (metadata.length > 4) this.replies.push({ bytes: payload, port: metadata.readUInt16BE(5) })
      else this.streams.get(id)?.add(payload)
      this.notify()
    }
    for (const each of this.streams.values()) each.end()
    this.notify()
  }

  private notify(): void {
    this.wake.resolve()
    this.wake = Promise.withResolvers<void>()
  }
}
