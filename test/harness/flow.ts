import type { ByteOrigin } from './byte-origin.ts'
import { lineOf, openTunnel, type Pass } from './transfers.ts'
import type { WireClient } from './wire-client.ts'

const endless = 2_000_000_000
const lineBytes = 100
let made = 0

/** A tunnel that receives a few bytes every few milliseconds. */
export type Flow = {
  readonly client: WireClient
  /** Ends it in order, and returns all bytes that its client sent and received. Lost bytes are an error. */
  finish(): Promise<number>
}

/** Resolves once bytes flow. */
export async function startFlow(
  origin: ByteOrigin,
  pass: Pass,
  { everyMs = 10, through = openThrough }: { everyMs?: number; through?: typeof openThrough } = {},
): Promise<Flow> {
  made += 1
  const id = `flow-${made}`
  origin.expect({ id, up: lineBytes, down: endless, afterwards: 'stay', everyMs })
  const { client, handshake } = await through(pass, origin)
  await client.send(lineOf(id, lineBytes))
  await client.until(() => client.total > handshake)
  client.longestGapMs = 0
  return {
    client,
    async finish() {
      const sentByOrigin = origin.finish(id)
      await client.untilEnd()
      const received = client.total - handshake
      if (received > sentByOrigin || (!client.isClosed && received < sentByOrigin)) {
        throw new Error(`${sentByOrigin} bytes went out, and ${received} came`)
      }
      client.close()
      return lineBytes + received
    },
  }
}

const openThrough = (pass: Pass, origin: ByteOrigin): Promise<{ client: WireClient; handshake: number }> =>
  openTunnel(pass, 'connect', { host: '127.0.0.1', port: origin.port })
