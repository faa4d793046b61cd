import type { ByteOrigin } from '../harness/byte-origin.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { basic, lineOf, openTunnel, type Pass } from '../harness/transfers.ts'
import { WireClient } from '../harness/wire-client.ts'

/** Loads of one connection: reading at full speed, steadily or slowly; sending; one request after another. */
export const loads = ['down', 'steady', 'hardly', 'up', 'requests'] as const
export type Load = (typeof loads)[number]

/**
 * Bounds of the bytes that a client has sent and received, which differ only in sent bytes, and the maximum within one
 * second of the watch.
 */
type Relayed = { readonly max: number; readonly min: number; readonly second: number }
export type Running = {
  /** Bytes sent and received so far. */
  bytes(): number
  /** Settles when the gateway is gone and all bytes in flight have arrived. */
  readonly over: Promise<Relayed>
}

const endless = 2_000_000_000
const sampleMs = 50
/** The number of samples between two reads: a few megabytes per second, or a few hundred kilobytes. */
const readEveryTicks = { steady: 1, hardly: 10 }
const slowReadBytes = 20_000
let made = 0

type Flow = {
  readonly bytes: () => number
  readonly onTick: (tick: number) => void
  readonly seen: { readonly atMs: number; readonly bytes: number }[]
  max: number
}

/**
 * Samples all loads and finds the maximum that each moved within one second of a stopwatch. The stopwatch pauses while
 * the gateway is runnable without a processor: such a gateway writes no journal.
 */
export class Watch {
  private readonly stopwatch = startStopwatch()
  private readonly flows = new Set<Flow>()
  private readonly timer: Timer
  private ticks = 0

  constructor() {
    this.timer = setInterval(() => this.tick(), sampleMs)
  }

  /** Returns a function that ends the sampling and returns the maximum within a second. */
  add(bytes: () => number, onTick: (tick: number) => void): () => number {
    const flow: Flow = { bytes, onTick, seen: [{ atMs: this.stopwatch.elapsedMs(), bytes: 0 }], max: 0 }
    this.flows.add(flow)
    return () => {
      sample(flow, this.stopwatch.elapsedMs())
      this.flows.delete(flow)
      return flow.max
    }
  }

  stop(): void {
    clearInterval(this.timer)
  }

  private tick(): void {
    this.ticks += 1
    const atMs = this.stopwatch.elapsedMs()
    for (const flow of this.flows) {
      flow.onTick(this.ticks)
      sample(flow, atMs)
    }
  }
}

function sample(flow: Flow, atMs: number): void {
  const bytes = flow.bytes()
  flow.seen.push({ atMs, bytes })
  while ((flow.seen[0]?.atMs ?? 0) < atMs - 1000) flow.seen.shift()
  flow.max = Math.max(flow.max, bytes - (flow.seen[0]?.bytes ?? 0))
}

/** Starts a load, and resolves once bytes flow. */
export async function startLoad(load: Load, pass: Pass, origin: ByteOrigin, watch: Watch): Promise<Running> {
  made += 1
  const id = `load-${made}`
  if (load === 'requests') return startRequests(pass, origin, id, watch)
  const line = lineOf(id, 100)
  origin.expect({ id, up: load === 'up' ? endless : line.length, down: endless, afterwards: 'stay' })
  const { client, handshake } = await openTunnel(pass, 'connect', { host: '127.0.0.1', port: origin.port })
  const isSlowReader = load === 'steady' || load === 'hardly'
  if (isSlowReader) {
    client.narrow(64 * 1024)
    client.readOnly(0)
  }
  await client.send(line)
  const sent = { bytes: line.length }
  const bytes = () => Math.max(client.got, client.total) + sent.bytes
  const sending = load === 'up' ? sendEndlessly(client, sent) : undefined
  const second = watch.add(bytes, (tick) => {
    if (isSlowReader && tick % readEveryTicks[load] === 0) client.readSome(slowReadBytes)
  })
  return {
    bytes,
    over: (async () => {
      await client.until(() => client.hasEnded)
      await sending
      client.close()
      const received = client.total - handshake
      return { max: sent.bytes + received, min: origin.arrived(id) + received, second: second() }
    })(),
  }
}

/** Sends without end. Bytes that the kernel has accepted count as sent. */
async function sendEndlessly(client: WireClient, sent: { bytes: number }): Promise<void> {
  const piece = new Uint8Array(64 * 1024)
  while (!client.isClosed && !client.hasEnded) {
    await client.send(piece)
    sent.bytes += piece.length
  }
}

/** Requests on one connection, one after another, until it breaks. A cut request counts as far as it arrived. */
async function startRequests(pass: Pass, origin: ByteOrigin, id: string, watch: Watch): Promise<Running> {
  const client = await WireClient.connect(pass.port)
  const sent = { bytes: 0, answered: 0 }
  const bytes = () => Math.max(client.got, client.total) + sent.bytes
  const second = watch.add(bytes, () => {})
  const begun = Promise.withResolvers<void>()
  const over = (async () => {
    for (let index = 0; !client.isClosed && !client.hasEnded; index += 1) {
      const name = `${id}-${index}`
      origin.expect({ id: name, up: 0, down: 20_000, afterwards: 'end' })
      const head = `POST http://${origin.host}/${name} HTTP/1.1\r\nHost: ${origin.host}\r\nProxy-Authorization: ${basic(pass)}\r\nContent-Length: 5000\r\n\r\n`
      const request = Buffer.concat([Buffer.from(head), Buffer.alloc(5000)])
      const before = client.total
      sent.bytes += request.length
      await client.send(request)
      await client.until(() => client.hasEnded || client.total - before > 20_000)
      if (client.total - before > 20_000) sent.answered += request.length
      begun.resolve()
    }
    client.close()
    return { max: sent.bytes + client.total, min: sent.answered + client.total, second: second() }
  })()
  await begun.promise
  return { bytes, over }
}
