import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:net'
import { selfSignedShop } from '../../test/harness/self-signed.ts'
import type { WebhookMessage } from '../domains/webhooks/ports.ts'
import { createSenders } from './webhook-sender.ts'

const messageTo = (url: string, isSandbox = false): WebhookMessage => ({
  url,
  headers: { 'content-type': 'application/json' },
  body: '{}',
  isSandbox,
  limitMs: 20_000,
})

/** Addresses that reach the machine, its network or another protocol. */
const hostile = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f.0.0.1/',
  'https://0/',
  'https://localhost/',
  'https://a.localhost/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[fe80::1]/',
  'https://[fd00:ec2::254]/',
  'https://10.0.0.7/',
  'https://172.16.0.1/',
  'https://192.168.1.1:8443/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://198.18.0.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://203.0.113.9/',
  'http://93.184.216.34/',
  'https://93.184.216.34:25/',
  'https://93.184.216.34:6379/',
  'https://user:secret@93.184.216.34/',
  'ftp://93.184.216.34/',
  'file:///etc/passwd',
]

test('27 hostile addresses of endpoints are refused without a connection', async () => {
  const open = createSenders({ lookup: async () => ['127.0.0.1'] })
  for (const url of hostile) {
    const { status, problem } = await open(url).send(messageTo(url))
    expect([url, status, ['address', 'port', 'scheme', 'url'].includes(problem ?? '')]).toEqual([url, null, true])
  }
})

/** Private, mapped, translated and metadata addresses that a name may resolve to. */
const resolved = [
  '127.0.0.1',
  '0.0.0.0',
  '10.1.2.3',
  '172.31.255.255',
  '192.168.0.10',
  '100.100.100.200',
  '169.254.169.254',
  '168.63.129.16',
  '192.0.2.1',
  '198.51.100.1',
  '224.0.0.251',
  '240.0.0.1',
  '::1',
  '::',
  '::ffff:10.0.0.1',
  'fe80::1',
  'fc00::1',
  'fd00:ec2::254',
  '2001:db8::1',
  '2002:7f00:1::',
  '64:ff9b::a00:1',
]

describe('names of endpoints', () => {
  test.each(resolved)('a name that resolves to %s is refused, also if another address is public', async (address) => {
    for (const answer of [[address], ['93.184.216.34', address]]) {
      const sender = createSenders({ lookup: async () => answer })('')
      expect(await sender.send(messageTo('https://hook.example.com/'))).toMatchObject({ problem: 'address' })
    }
  })

  test('a name is judged at every attempt, so a changed DNS answer is refused on an open connection', async () => {
    let connections = 0
    const server = listen((socket) => {
      connections += 1
      socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n'))
    })
    const { port } = server.address() as { port: number }
    let answer = ['127.0.0.1']
    const sender = createSenders({ lookup: async () => answer })('')
    const message = messageTo(`http://hook.example.com:${port}/`, true)
    expect((await sender.send(message)).status).toBe(204)
    expect((await sender.send(message)).status).toBe(204)
    answer = ['10.0.0.1']
    expect((await sender.send(message)).problem).toBe('address')
    answer = ['127.0.0.1']
    expect((await sender.send({ ...message, isSandbox: false })).problem).toBe('scheme')
    sender.close()
    server.close()
    expect(connections).toBe(1)
  })

  test('a name goes into SNI, Host and the certificate check of a connection to its address', async () => {
    const { cert, key } = selfSignedShop
    let host = ''
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: { cert, key },
      fetch(request) {
        host = request.headers.get('host') ?? ''
        return new Response(null, { status: 204 })
      },
    })
    const sendTo = (name: string, ca?: string) =>
      createSenders({ lookup: async () => ['127.0.0.1'], ...(ca !== undefined && { ca }) })('').send(
        messageTo(`https://${name}:${server.port}/hook`, true),
      )
    expect(await sendTo('shop.test', cert)).toMatchObject({ status: 204, problem: null })
    expect(host).toBe(`shop.test:${server.port}`)
    expect(await sendTo('other.test', cert)).toMatchObject({ status: null, problem: 'tls' })
    expect(await sendTo('shop.test')).toMatchObject({ status: null, problem: 'tls' })
    // An address instead of a name must be in the certificate too.
    expect(await sendTo('127.0.0.1', cert)).toMatchObject({ status: null, problem: 'tls' })
    await server.stop(true)
  })

  test('a name that resolves to a public address of this machine is refused', async () => {
    const findLocal = () => new Set(['93.184.216.34'])
    const sender = createSenders({ lookup: async () => ['93.184.216.34'], findLocal })('')
    expect((await sender.send(messageTo('https://hook.example.com/'))).problem).toBe('address')
  })

  test('a name that does not resolve, and an answer that is no address, fail without a connection', async () => {
    const failing = createSenders({ lookup: () => Promise.reject(new Error('SERVFAIL')) })('')
    expect((await failing.send(messageTo('https://hook.example.com/'))).problem).toBe('name')
    const odd = createSenders({ lookup: async () => ['hook.example.org'] })('')
    expect((await odd.send(messageTo('https://hook.example.com/'))).problem).toBe('address')
  })
})

function listen(onSocket: (socket: import('node:net').Socket) => void): Server {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onSocket(socket)
  })
  return server.listen(0, '127.0.0.1')
}

describe('answers of an endpoint', () => {
  let server: Server
  let answer = ''
  let requests: string[] = []
  let url = ''
  beforeAll(async () => {
    server = listen((socket) => {
      socket.on('data', (data) => {
        requests.push(String(data))
        if (!answer.startsWith('close')) socket.write(answer)
        else socket.destroy()
        if (answer === 'close once') answer = 'HTTP/1.1 204 No Content\r\n\r\n'
      })
    })
    await new Promise((resolve) => server.once('listening', resolve))
    url = `http://127.0.0.1:${(server.address() as { port: number }).port}/hook?a=1`
  })
  afterAll(() => void server.close())
  const send = async (text: string, limitMs = 20_000) => {
    answer = text
    requests = []
    const sender = createSenders()('')
    const found = await sender.send({ ...messageTo(url, true), limitMs })
    sender.close()
    return found
  }

  test('a redirect is an answer and is not followed', async () => {
    const found = await send(`HTTP/1.1 302 Found\r\nLocation: ${url}\r\nContent-Length: 0\r\n\r\n`)
    expect([found.status, requests.length]).toEqual([302, 1])
    expect(requests[0]).toStartWith('POST /hook?a=1 HTTP/1.1\r\nhost: 127.0.0.1:')
  })

  test('Retry-After is read in seconds', async () => {
    const found = await send('HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n')
    expect([found.status, found.retryAfterMs]).toEqual([503, 120_000])
  })

  test('a message on a kept connection that the server has closed is sent again on a new one', async () => {
    answer = 'HTTP/1.1 204 No Content\r\n\r\n'
    requests = []
    const sender = createSenders()('')
    expect((await sender.send(messageTo(url, true))).status).toBe(204)
    answer = 'close once'
    expect((await sender.send(messageTo(url, true))).status).toBe(204)
    expect(requests).toHaveLength(3)
    sender.close()
  })

  test('an endless head, another protocol and a closed connection are no answer', async () => {
    expect((await send(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(4000)}`)).problem).toBe('answer')
    expect((await send('SSH-2.0-OpenSSH_9\r\n\r\n')).problem).toBe('answer')
    expect((await send('close')).problem).toBe('connection')
  })

  test('an endpoint that never answers fails with timeout', async () => {
    expect((await send('', 20)).problem).toBe('timeout')
  })
})
