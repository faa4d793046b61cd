import { afterEach, describe, expect, test } from 'bun:test'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { createProxyProbe } from './proxy-probe.ts'

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

/** Reads a socket as far as it is asked to. */
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

/** Joins two ends, and answers as told once the far one is there or is not. */
function tunnel(socket: Socket, host: string, port: number, onOpen: () => void, onFail: () => void): void {
  const far = connect(port, host)
  far.on('connect', () => {
    onOpen()
    socket.pipe(far).pipe(socket)
  })
  far.on('error', onFail)
}

/** The smallest proxy there can be, HTTP and SOCKS5 on one port, as a gateway has them. */
const startProxy = (): Promise<number> =>
  listen((socket) => {
    const read = chunks(socket)
    void (async () => {
      const first = await read(1)
      if (first[0] === 5) await socks(socket, read)
      else await http(socket, read)
    })()
  })

async function http(socket: Socket, read: (count: string) => Promise<Buffer>): Promise<void> {
  const head = (await read('\r\n\r\n')).toString()
  const [, host = '', port = ''] = /^ONNECT ([^:]+):(\d+) HTTP/.exec(head) ?? []
  const basic = Buffer.from(`${good.username}:${good.password}`).toString('base64')
  if (!head.includes(`Proxy-Authorization: Basic ${basic}\r\n`)) {
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    return
  }
  tunnel(
    socket,
    host,
    Number(port),
    () => socket.write('HTTP/1.1 200 Connection established\r\n\r\n'),
    () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'),
  )
}

async function socks(socket: Socket, read: (count: number) => Promise<Buffer>): Promise<void> {
  await read((await read(1))[0] ?? 0)
  socket.write(Uint8Array.of(5, 2))
  await read(1)
  const username = (await read((await read(1))[0] ?? 0)).toString()
  const password = (await read((await read(1))[0] ?? 0)).toString()
  const fine = username === good.username && password === good.password
  socket.write(Uint8Array.of(1, fine ? 0 : 1))
  if (!fine) return
  const [, command, , type] = await read(4)
  expect([command, type]).toEqual([1, 3])
  const host = (await read((await read(1))[0] ?? 0)).toString()
  const port = (await read(2)).readUInt16BE()
  const reply = (code: number) => Uint8Array.of(5, code, 0, 1, 0, 0, 0, 0, 0, 0)
  tunnel(
    socket,
    host,
    port,
    () => socket.write(reply(0)),
    () => socket.end(reply(5)),
  )
}

describe.each(['http', 'socks'] as const)('a check of a proxy over %s', (portType) => {
  const probeAt = (port: number, target: number) =>
    createProxyProbe({ host: '127.0.0.1', port }, () => ({ host: '127.0.0.1', port: target }))

  test('says that it works when a real tunnel through it reaches the target', async () => {
    const target = await listen(() => {})
    const outcome = await probeAt(await startProxy(), target)({ ...good, portType })
    expect(outcome).toMatchObject({ works: true, problem: null })
    expect(outcome.tookMs).toBeGreaterThanOrEqual(0)
  })

  test('says what is wrong when the credentials are not let in', async () => {
    const target = await listen(() => {})
    const outcome = await probeAt(await startProxy(), target)({ ...good, password: 'another', portType })
    expect(outcome).toMatchObject({ works: false, tookMs: null })
    expect(outcome.problem).toContain(portType === 'http' ? '407' : 'refused the user name')
  })

  test('says what is wrong when the target is not reached', async () => {
    const outcome = await probeAt(await startProxy(), 1)({ ...good, portType })
    expect(outcome).toMatchObject({ works: false })
    expect(outcome.problem).toContain(portType === 'http' ? '502' : 'reply 5')
  })

  test('says that the gateway is not running when nothing listens', async () => {
    const gone = await listen(() => {})
    servers.splice(0).map((server) => server.close())
    const outcome = await probeAt(gone, gone)({ ...good, portType })
    expect(outcome).toEqual({ works: false, tookMs: null, problem: 'the gateway is not running' })
  })

  test('does not wait on a gateway that hangs up, talks nonsense or never stops talking', async () => {
    const hangsUp = await listen((socket) => socket.end())
    const nonsense = await listen((socket) => socket.end('220 mail.example ESMTP\r\n'))
    const endless = await listen((socket) => {
      socket.on('data', () => {})
      const flood = setInterval(() => socket.write('x'.repeat(40_000)), 5)
      socket.on('close', () => clearInterval(flood))
    })
    for (const port of [hangsUp, nonsense, endless]) {
      const outcome = await probeAt(port, 1)({ ...good, portType })
      expect(outcome.works).toBeFalse()
      expect(outcome.problem).toBeString()
    }
  })
})
