/**
 * For each address: the gateway's own check of it, and the address that a server on this machine sees when a client
 * connects from it, or the code of the failure. Prints one line of JSON.
 */
import { connect, createServer } from 'node:net'
import { readAddress } from '../../src/core/address.ts'
import { createTryAddress } from '../../src/dataplane/gateway/engines/shared/try-address.ts'

const tryAddress = createTryAddress('linux')

function connectFrom(localAddress: string): Promise<string> {
  const host = localAddress.includes(':') ? '::1' : '127.0.0.1'
  const { promise, resolve } = Promise.withResolvers<string>()
  const server = createServer((socket) => {
    resolve(socket.remoteAddress ?? '')
    socket.destroy()
  })
  server.listen(0, host, () => {
    const address = server.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const client = connect({ host, port, localAddress })
    client.on('error', (error) => resolve('code' in error ? String(error.code) : error.message))
  })
  return promise.finally(() => server.close())
}

const results: unknown[] = []
for (const text of process.argv.slice(2)) {
  const address = readAddress(text)
  results.push({ problem: (address && tryAddress(address)) ?? null, seen: await connectFrom(text) })
}
process.stdout.write(JSON.stringify(results))
process.exit(0)
