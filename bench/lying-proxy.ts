import type { Socket } from 'bun'
import type { Tunnels } from './tunnels.ts'

/** Faults of a broken proxy. Only the first proxy is correct. */
const treatments: Readonly<Record<string, (answer: Buffer) => Buffer>> = {
  honest: (answer) => answer,
  'one byte changed': (answer) => {
    const changed = Buffer.from(answer)
    const middle = changed.length >> 1
    changed[middle] = (changed[middle] ?? 0) ^ 1
    return changed
  },
  'one byte missing at the end': (answer) => answer.subarray(0, -1),
  'one byte too many': (answer) => Buffer.concat([answer, Buffer.from('x')]),
  'two pieces in the wrong order': (answer) =>
    Buffer.concat([answer.subarray(0, 200), answer.subarray(600), answer.subarray(200, 600)]),
  "another tunnel's answer": (answer) =>
    Buffer.concat([answer.subarray(0, 100), answer.subarray(101), answer.subarray(0, 1)]),
  nothing: () => Buffer.alloc(0),
}

const seconds = 0.2

/**
 * Runs the load generator through faulty proxies. If it counts a fault as a success the bench stops, because no figure
 * would be valid.
 */
export async function proveTheLoadChecks(tunnels: Tunnels): Promise<void> {
  for (const [name, treat] of Object.entries(treatments)) {
    const liar = startLiar(tunnels.originPort, treat)
    const route = { way: 'connect' as const, endpoint: `127.0.0.1:${liar.port}`, user: '', password: '' }
    const result = await tunnels.run({ route, tunnels: 4, bytes: 1024, seconds })
    liar.stop(true)
    const isRight =
      name === 'honest' ? result.errors === 0 && result.tunnels > 0 : result.tunnels === 0 && result.errors > 0
    if (!isRight)
      throw new Error(`the load generator was wrong about a proxy that was “${name}”: ${JSON.stringify(result)}`)
  }
}

/**
 * The first bytes of a client are its CONNECT, the second its request, which is forwarded and whose answer is changed.
 */
function startLiar(originPort: number, treat: (answer: Buffer) => Buffer) {
  return Bun.listen<{ isTunnel: boolean }>({
    hostname: '127.0.0.1',
    port: 0,
    data: { isTunnel: false },
    socket: {
      open: (client) => {
        client.data = { isTunnel: false }
      },
      data: (client, chunk) => {
        if (client.data.isTunnel) {
          void fetchAnswer(originPort, chunk).then((answer) => finish(client, treat(answer)))
        } else {
          client.data.isTunnel = true
          client.write('HTTP/1.1 200 OK\r\n\r\n')
        }
      },
    },
  })
}

function finish(client: Socket<{ isTunnel: boolean }>, answer: Buffer): void {
  client.write(answer)
  client.end()
}

async function fetchAnswer(port: number, request: Buffer): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      open: (origin) => void origin.write(request),
      data: (_, chunk) => void chunks.push(Buffer.from(chunk)),
      close: () => resolve(Buffer.concat(chunks)),
    },
  })
  return promise
}
