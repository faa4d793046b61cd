import { createHash, randomBytes } from 'node:crypto'
import { serveNames } from '../../test/harness/name-server.ts'

/** Larger than the body of one XHTTP request and than all buffers on the way. */
const bytesEachWay = 3 * 1024 * 1024
/** Of this machine, and seldom used by a name server. */
const hostOfPort53 = '127.53.53.53'

export const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A name server; its answers end in `last`. */
export type NameServer = { readonly host: string; readonly port: number; readonly last: number }
type Running = NameServer & { stop(): void }

/** What the clients connect to through the gateway, on this machine. */
export type Origin = {
  readonly port: number
  /** GET answers with them, and POST answers with the digest of the body. */
  readonly bytes: Uint8Array
  readonly nameServers: readonly NameServer[]
  /** Undefined where this user may not open port 53. */
  readonly nameServer53: NameServer | undefined
  stop(): Promise<void>
}

export async function openOrigin(): Promise<Origin> {
  const bytes = randomBytes(bytesEachWay)
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => new Response(request.method === 'POST' ? digestOf(await request.bytes()) : bytes),
  })
  const open = async (host: string, last: number, at: number): Promise<Running> => {
    const socket = await serveNames(host, last, at)
    return { host, port: socket.port, last, stop: () => socket.close() }
  }
  const nameServers = await Promise.all([1, 2].map((last) => open('127.0.0.1', last, 0)))
  const nameServer53 = await open(hostOfPort53, 3, 53).catch(() => undefined)
  return {
    port: server.port ?? 0,
    bytes,
    nameServers,
    nameServer53,
    async stop(): Promise<void> {
      for (const each of nameServers) each.stop()
      nameServer53?.stop()
      await server.stop(true)
    },
  }
}
