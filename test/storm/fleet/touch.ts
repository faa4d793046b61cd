import type { ByteOrigin } from '../../harness/byte-origin.ts'
import { lineOf, openTunnel, type Pass, type Via } from '../../harness/transfers.ts'
import type { WireClient } from '../../harness/wire-client.ts'

/** A short line through a gateway: the failure, if any, and the address that the origin saw. */
export type Touched = { readonly why: string; readonly from: string; readonly tookMs: number }

const bytes = 64
let made = 0

/** Sends and receives a few bytes within the time limit. */
export async function touch(pass: Pass, via: Via, origin: ByteOrigin, withinMs: number): Promise<Touched> {
  made += 1
  const id = `touch-${made}`
  const line = lineOf(id, bytes)
  origin.expect({ id, up: line.length, down: bytes, afterwards: 'end' })
  const [host = '', port = ''] = origin.host.split(':')
  const startedMs = performance.now()
  let isLate = false
  let client: WireClient | undefined
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    isLate = true
    client?.close()
    reject(new Error(`nothing came back within ${withinMs} ms`))
  }, withinMs)
  const attempt = async (): Promise<void> => {
    const opened = await openTunnel(pass, via, { host, port: Number(port) }, line)
    client = opened.client
    if (isLate) client.close()
    await client.until(() => opened.client.total >= opened.handshake + bytes || opened.client.hasEnded)
    client.close()
    if (client.total < opened.handshake + bytes) throw new Error('the line ended before its answer')
  }
  const trying = attempt()
  // The late outcome is ignored.
  trying.catch(() => undefined)
  let why = ''
  try {
    await Promise.race([trying, late])
  } catch (error) {
    why = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ').slice(0, 160) : String(error)
  }
  clearTimeout(timer)
  late.catch(() => undefined)
  const touched = { why, from: origin.cameFrom(id), tookMs: performance.now() - startedMs }
  origin.forget(id)
  return touched
}
