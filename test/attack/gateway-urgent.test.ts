import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { TCPSocketListener } from 'bun'
import { loginLine, openEngine, type TestGateway } from '../harness/engine.ts'
import { SystemClient } from '../harness/system-client.ts'

let gateway: TestGateway
let origin: TCPSocketListener<{ left: number }>
beforeAll(() => {
  gateway = openEngine()
  // The first line is the number of bytes that follow; the origin answers when all have arrived.
  origin = Bun.listen<{ left: number }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: (socket) => void (socket.data = { left: -1 }),
      data(socket, bytes) {
        const { data } = socket
        const end = data.left < 0 ? bytes.indexOf(10) + 1 : 0
        if (data.left < 0) data.left = Number(bytes.subarray(0, end).toString())
        data.left -= bytes.length - end
        if (data.left === 0) socket.write('all there')
      },
    },
  })
})
afterAll(async () => {
  origin.stop(true)
  await gateway.stop()
})

async function tunnel(): Promise<SystemClient> {
  const client = await SystemClient.open(gateway.port)
  const to = `127.0.0.1:${origin.port}`
  await client.send(Buffer.from(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n${loginLine('anna')}\r\n`))
  await client.readUntil(() => client.received.includes('\r\n\r\n'))
  expect(client.received.toString()).toStartWith('HTTP/1.1 200')
  return client
}

/**
 * Sends as many bytes before the urgent byte as behind it, and waits until the origin has all except the urgent one.
 */
async function sendAround(bytes: number): Promise<void> {
  const client = await tunnel()
  const half = Buffer.alloc(bytes, 97)
  await client.send(Buffer.from(`${2 * bytes}\n`))
  const before = client.send(half)
  if (bytes > 1000) await before
  client.sendUrgent(Buffer.from('!'))
  await client.send(half)
  await client.readUntil(() => client.received.includes('all there'))
  expect(client.received.toString()).toEndWith('all there')
  client.reset()
}

describe('TCP urgent data', () => {
  test('the gateway relays the bytes behind a TCP urgent byte in each of 40 tunnels', async () => {
    for (let round = 0; round < 40; round += 1) await sendAround(10)
  })

  test('the gateway relays the bytes behind a TCP urgent byte in tunnels of 2 MiB', async () => {
    for (let round = 0; round < 5; round += 1) await sendAround(1024 * 1024)
  })
})
