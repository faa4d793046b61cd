import { afterEach, describe, expect, test } from 'bun:test'
import { createServer, type Server, type Socket } from 'node:net'
import { openEngine, passwordOf } from '../../test/harness/engine.ts'
import { probeProxy } from './proxy-probe.ts'

const good = { username: 'tp1abcd', password: 'q7r2m9x4c8v1b6n3k5j0' }
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function listen(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onSocket(socket)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/** Reads a number of bytes, or up to a text, from a socket. */
function chunks(socket: Socket): (count: number | string) => Promise<Buffer> {
  let buffer = Buffer.alloc(0)
  let wake = () => {}
  socket.on('data', (chunk: Uint8Array) => {
    buffer = Buffer.concat([buffer, chunk])
    wake()
  })
  return async (want) => {
    for (;;) {
      const end = typeof want === 'number' ? want : buffer.indexOf(want) + want.length
      if (typeof want === 'number' ? buffer.length >= end : buffer.includes(want)) {
        const taken = buffer.subarray(0, end)
        buffer = buffer.subarray(end)
        return taken
      }
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
}

/** A gateway's answer to valid credentials: the HTTP status line, and the SOCKS5 reply code by destination. */
type Behaviour = { readonly http: string; readonly socks: (host: string) => number }
const behaviours = {
  open: { http: '200 Connection established', socks: () => 0 },
  /** A production gateway: it forbids its own machine as a destination, and does not find an unknown name. */
  careful: {
    http: '403 Forbidden\r\nX-Turnpike-Error: destination_not_public',
    socks: (host) => (host === 'localhost' ? 2 : 4),
  },
  expired: { http: '402 Payment Required\r\nX-Turnpike-Error: expired', socks: () => 2 },
  closed: { http: '502 Bad Gateway', socks: () => 5 },
} as const satisfies Record<string, Behaviour>

/** A minimal proxy with HTTP and SOCKS5 on one port, like a gateway. */
const startProxy = (behaviour: Behaviour): Promise<number> =>
  listen((socket) => {
    const read = chunks(socket)
    void (async () => {
      const first = await read(1)
      if (first[0] === 5) await socks(socket, read, behaviour)
      else await http(socket, read, behaviour)
    })()
  })

async function http(socket: Socket, read: (count: string) => Promise<Buffer>, behaviour: Behaviour): Promise<void> {
  const head = (await read('\r\n\r\n')).toString()
  const basic = Buffer.from(`${good.username}:${good.password}`).toString('base64')
  const isAuthenticated = head.includes(`Proxy-Authorization: Basic ${basic}\r\n`)
  expect(head).toMatch(/^ONNECT localhost:\d+ HTTP/)
  socket.end(`HTTP/1.1 ${isAuthenticated ? behaviour.http : '407 Proxy Authentication Required'}\r\n\r\n`)
}

async function socks(socket: Socket, read: (count: number) => Promise<Buffer>, behaviour: Behaviour): Promise<void> {
  await read((await read(1))[0] ?? 0)
  socket.write(Uint8Array.of(5, 2))
  await read(1)
  const username = (await read((await read(1))[0] ?? 0)).toString()
  const password = (await read((await read(1))[0] ?? 0)).toString()
  const isAuthenticated = username === good.username && password === good.password
  socket.write(Uint8Array.of(1, isAuthenticated ? 0 : 1))
  if (!isAuthenticated) return
  const [, command, , type] = await read(4)
  expect([command, type]).toEqual([1, 3])
  const host = (await read((await read(1))[0] ?? 0)).toString()
  socket.end(Uint8Array.of(5, behaviour.socks(host), 0, 1, 0, 0, 0, 0, 0, 0))
}

describe.each(['http', 'socks'] as const)('probeProxy over %s', (portType) => {
  const check = (port: number, as = good) => probeProxy({ ...as, portType, host: '127.0.0.1', port })

  test('probeProxy reports a working proxy when the gateway opens a tunnel', async () => {
    const outcome = await check(await startProxy(behaviours.open))
    expect(outcome).toMatchObject({ works: true, problem: null })
    expect(outcome.tookMs).toBeGreaterThanOrEqual(0)
  })

  test('probeProxy reports a working proxy when the gateway refuses only the destination', async () => {
    expect(await check(await startProxy(behaviours.careful))).toMatchObject({ works: true, problem: null })
  })

  test('probeProxy reports the reason when the gateway refuses the credentials', async () => {
    const outcome = await check(await startProxy(behaviours.open), { ...good, password: 'another' })
    expect(outcome).toMatchObject({ works: false, tookMs: null })
    expect(outcome.problem).toContain(portType === 'http' ? '407' : 'refused the user name')
  })

  test('probeProxy reports the reason when the gateway refuses the customer or cannot reach the target', async () => {
    const refused = await check(await startProxy(behaviours.expired))
    expect(refused).toMatchObject({ works: false, tookMs: null })
    expect(refused.problem).toContain(portType === 'http' ? '402 (expired)' : 'reply 2')
    const unreached = await check(await startProxy(behaviours.closed))
    expect(unreached).toMatchObject({ works: false })
    expect(unreached.problem).toContain(portType === 'http' ? '502' : 'reply 5')
  })

  test('probeProxy reports that the gateway is not running when the port has no listener', async () => {
    const gone = await listen(() => {})
    servers.splice(0).map((server) => server.close())
    expect(await check(gone)).toEqual({ works: false, tookMs: null, problem: 'the gateway is not running' })
  })

  test('probeProxy reports a problem when the gateway closes the connection, answers nonsense or sends without end', async () => {
    const hangsUp = await listen((socket) => socket.end())
    const nonsense = await listen((socket) => socket.end('220 mail.example ESMTP\r\n'))
    const endless = await listen((socket) => {
      socket.on('data', () => {})
      const flood = setInterval(() => socket.write('x'.repeat(40_000)), 5)
      socket.on('close', () => clearInterval(flood))
    })
    for (const port of [hangsUp, nonsense, endless]) {
      const outcome = await check(port)
      expect(outcome.works).toBeFalse()
      expect(outcome.problem).toBeString()
    }
  })
})

test('probeProxy accepts a production gateway with right credentials and reports why others are refused', async () => {
  const engine = openEngine({ mode: 'production' })
  const check = (username: string, portType: 'http' | 'socks', password = passwordOf(username)) =>
    probeProxy({ username, password, portType, host: '127.0.0.1', port: engine.port })
  for (const [username, portType] of [
    ['anna', 'http'],
    ['clara', 'http'],
    ['dora', 'socks'],
    ['emil', 'socks'],
  ] as const) {
    expect(await check(username, portType)).toMatchObject({ works: true, problem: null })
    expect(await check(username, portType, 'wrong')).toMatchObject({ works: false })
  }
  expect(await check('frida', 'http')).toMatchObject({ problem: 'the gateway answered 402 (expired)' })
  expect(await check('gleb', 'http')).toMatchObject({ problem: 'the gateway answered 403 (blocked)' })
  expect(await check('anna', 'socks')).toMatchObject({ problem: 'the gateway refused the connection with reply 2' })
  await engine.stop()
})
