import type { ByteOrigin } from '../harness/byte-origin.ts'
import { basic, lineOf, openTunnel, type Pass } from '../harness/transfers.ts'
import { WireClient } from '../harness/wire-client.ts'

/**
 * Ways to keep a gateway busy with one connection: reading as fast as it goes, steadily, hardly; sending; request after
 * request.
 */
export const loads = ['down', 'steady', 'hardly', 'up', 'requests'] as const
export type Load = (typeof loads)[number]

/**
 * What a client has really sent and got, between two bounds that differ only in what it sent, and the most within a
 * second.
 */
export type Carried = { readonly most: number; readonly least: number; readonly second: number }

const endless = 2_000_000_000
const sampleMs = 25
/** After how many samples a sip is taken: a few megabytes a second, or a few hundred kilobytes. */
const sipEvery = { steady: 1, hardly: 10 }
let made = 0

/** Begins, and resolves once bytes flow; `over` when the gateway is gone and all that was on its way has come. */
export async function startLoad(load: Load, pass: Pass, origin: ByteOrigin): Promise<{ over: Promise<Carried> }> {
  made += 1
  const id = `load-${made}`
  if (load === 'requests') return startRequests(pass, origin, id)
  const line = lineOf(id, 100)
  origin.expect({ id, up: load === 'up' ? endless : line.length, down: endless, afterwards: 'stay' })
  const { client, handshake } = await openTunnel(pass, 'connect', { host: '127.0.0.1', port: origin.port })
  const isSipping = load === 'steady' || load === 'hardly'
  if (isSipping) {
    client.narrow(64 * 1024)
    client.readOnly(0)
  }
  await client.send(line)
  const sent = { bytes: line.length }
  const sending = load === 'up' ? pour(client, sent) : undefined
  const second = watch(client, sent, isSipping ? sipEvery[load] : undefined)
  return {
    over: (async () => {
      await client.until(() => client.hasEnded)
      await sending
      client.close()
      const received = client.total - handshake
      return { most: sent.bytes + received, least: origin.arrived(id) + received, second: second() }
    })(),
  }
}

/** Sends without end. What the system has taken counts as sent. */
async function pour(client: WireClient, sent: { bytes: number }): Promise<void> {
  const piece = new Uint8Array(64 * 1024)
  while (!client.isClosed && !client.hasEnded) {
    await client.send(piece)
    sent.bytes += piece.length
  }
}

/**
 * Looks at what comes and goes, and lets the client sip if it does. Returns how to ask for the most within a second.
 */
function watch(client: WireClient, sent: { bytes: number }, every: number | undefined): () => number {
  const seen: { atMs: number; bytes: number }[] = []
  let most = 0
  let samples = 0
  const timer = setInterval(() => {
    if (client.isClosed) return clearInterval(timer)
    const now = { atMs: performance.now(), bytes: client.got + sent.bytes }
    seen.push(now)
    while ((seen[0]?.atMs ?? 0) < now.atMs - 1000) seen.shift()
    most = Math.max(most, now.bytes - (seen[0]?.bytes ?? 0))
    samples += 1
    if (every !== undefined && samples % every === 0) client.sip(10_000)
  }, sampleMs)
  return () => {
    clearInterval(timer)
    return most
  }
}

/** Requests on one connection, one after the other, until it breaks. The one that was cut counts as far as it came. */
async function startRequests(pass: Pass, origin: ByteOrigin, id: string): Promise<{ over: Promise<Carried> }> {
  const client = await WireClient.connect(pass.port)
  const sent = { bytes: 0, answered: 0 }
  const second = watch(client, sent, undefined)
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
    return { most: sent.bytes + client.total, least: sent.answered + client.total, second: second() }
  })()
  await begun.promise
  return { over }
}
