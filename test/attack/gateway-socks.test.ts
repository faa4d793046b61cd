import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openEngine, type TestGateway } from '../harness/engine.ts'
import { freePort } from '../harness/gateway.ts'
import { RawClient } from '../harness/raw-client.ts'
import { type RecordingOrigin, startRecordingOrigin, summarizeRequest } from '../harness/recording-origin.ts'
import { greet, socksLogin, socksRequest, socksTo } from '../harness/socks-client.ts'
import { until } from '../harness/until.ts'

let gateway: TestGateway
let origin: RecordingOrigin
let listedPort: number
let unlistedPort: number
let strict: TestGateway
/** No time limit ends a handshake here. The delay of a refusal is tested with a hand clock in `admission.test.ts`. */
const limits = { handshakeMs: 3_600_000, betweenRequestsMs: 3_600_000, refusalDelayMs: 10 }
beforeAll(() => {
  listedPort = freePort()
  unlistedPort = freePort()
  const open = (port: number, source: string): TestGateway =>
    openEngine({
      limits,
      subuser: { whitelist: [source], ports: [{ port, login: 'pavel-pool-residential' }] },
    })
  gateway = open(listedPort, '127.0.0.1')
  strict = open(unlistedPort, '10.0.0.0/8')
  origin = startRecordingOrigin()
})
afterAll(async () => {
  origin.stop()
  await strict.stop()
  expect(await gateway.stop()).toMatchObject({ open: 0, connections: 0, tunnels: 0 })
})

const hello = '\x05\x01\x02'
const loginAccepted = '05020100'
const reply = (code: number): string => `050${code}0001000000000000`
const here = (): string => String.fromCharCode(origin.port >> 8, origin.port & 255)
const request = (rest: string): string => `${hello}${socksLogin('dora')}${rest}`
const named = (name: string, port = here()): string =>
  request(`\x05\x01\0\x03${String.fromCharCode(name.length)}${name}${port}`)

/** Bytes sent, and all bytes that come back before the gateway closes. */
type SocksCase = readonly [name: string, sent: () => string, received: string]

const greetings: readonly SocksCase[] = [
  ['no methods', () => '\x05\0', '05ff'],
  ['none but anonymous', () => '\x05\x01\0', '05ff'],
  ['none but GSSAPI', () => '\x05\x01\x01', '05ff'],
  ['255 methods that are unknown', () => `\x05\xff${'\x80'.repeat(255)}`, '05ff'],
  ['a request behind a greeting that is refused', () => `\x05\x01\0${socksRequest('127.0.0.1', origin.port)}`, '05ff'],
  ['SOCKS4', () => '\x04\x01\0\x50\x7f\0\0\x01\0', '005b000000000000'],
  ['SOCKS4a', () => '\x04\x01\0\x50\0\0\0\x01anna\0a.example\0', '005b000000000000'],
  ['SOCKS4 BIND', () => '\x04\x02\0\x50\x7f\0\0\x01\0', '005b000000000000'],
  ['SOCKS version 6', () => '\x06\x01\x02', ''],
  ['version 0', () => '\0\x01\x02', ''],
  ['a TLS hello', () => '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', ''],
  ['an SSH greeting', () => 'SSH-2.0-OpenSSH_9.2\r\n', '400'],
  ['binary noise', () => '\xff\xfe\xfd\x80\x81', ''],
  ['an empty line', () => '\r\n\r\n', ''],
  ['a number', () => '123\r\n', ''],
  ['PROXY protocol, version 2', () => '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c', ''],
  ['PROXY protocol, version 1', () => 'PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n', '400'],
]

const logins: readonly SocksCase[] = [
  ['version 5', () => `${hello}\x05${socksLogin('dora').slice(1)}`, '05020101'],
  ['version 0', () => `${hello}\0${socksLogin('dora').slice(1)}`, '05020101'],
  ['a request in its place', () => `${hello}${socksRequest('127.0.0.1', origin.port)}`, '05020101'],
  ['an empty name', () => `${hello}\x01\0\x01b`, '05020101'],
  ['an empty password', () => `${hello}${socksLogin('dora', '')}`, '05020101'],
  ['neither', () => `${hello}\x01\0\0`, '05020101'],
  ['a wrong password', () => `${hello}${socksLogin('dora', 'wrong')}`, '05020101'],
  ['an unknown name', () => `${hello}${socksLogin('nobody', 'wrong')}`, '05020101'],
  ['a name of 255', () => `${hello}${socksLogin('a'.repeat(255), 'b'.repeat(255))}`, '05020101'],
  ['a name with a NUL', () => `${hello}${socksLogin('dora\0', 'dora.secret')}`, '05020101'],
  ['a name that is not UTF-8', () => `${hello}${socksLogin('\xff\xfe', 'dora.secret')}`, '05020101'],
  [
    'a request behind a wrong password',
    () => `${hello}${socksLogin('dora', 'wrong')}${socksRequest('127.0.0.1', origin.port)}`,
    '05020101',
  ],
]

const requests: readonly SocksCase[] = [
  ['version 4', () => request('\x04\x01\0\x01\x7f\0\0\x01\0\x50'), `${loginAccepted}${reply(1)}`],
  ['BIND', () => request('\x05\x02\0\x01\x7f\0\0\x01\0\x50'), `${loginAccepted}${reply(7)}`],
  ['command 0', () => request('\x05\0\0\x01\x7f\0\0\x01\0\x50'), `${loginAccepted}${reply(7)}`],
  ['command 255', () => request('\x05\xff\0\x01'), `${loginAccepted}${reply(7)}`],
  ['a reserved byte that is set', () => request('\x05\x01\x01\x01\x7f\0\0\x01\0\x50'), `${loginAccepted}${reply(1)}`],
  ['address type 0', () => request('\x05\x01\0\0'), `${loginAccepted}${reply(8)}`],
  ['address type 2', () => request('\x05\x01\0\x02'), `${loginAccepted}${reply(8)}`],
  ['address type 5', () => request('\x05\x01\0\x05'), `${loginAccepted}${reply(8)}`],
  ['a name of no letters', () => request('\x05\x01\0\x03\0\0\x50'), `${loginAccepted}${reply(1)}`],
  ['port 0', () => request('\x05\x01\0\x01\x7f\0\0\x01\0\0'), `${loginAccepted}${reply(1)}`],
  ['port 0 of a name', () => named('localhost', '\0\0'), `${loginAccepted}${reply(1)}`],
  ['a name of 255', () => named('a'.repeat(255)), `${loginAccepted}${reply(1)}`],
  ['a name with a port', () => named('localhost:80'), `${loginAccepted}${reply(1)}`],
  ['a name with a slash', () => named('localhost/'), `${loginAccepted}${reply(1)}`],
  ['a name with a line end', () => named('local\r\nhost'), `${loginAccepted}${reply(1)}`],
  ['a name with a user', () => named('a@localhost'), `${loginAccepted}${reply(1)}`],
  ['a port that is closed', () => named('127.0.0.1', '\xff\xfe'), `${loginAccepted}${reply(5)}`],
  ['a port that is not open to customers', () => named('127.0.0.1', '\0\x16'), `${loginAccepted}${reply(2)}`],
  [
    'the proxy of another protocol',
    () => `${hello}${socksLogin('anna')}${socksRequest('127.0.0.1', origin.port)}`,
    `${loginAccepted}${reply(2)}`,
  ],
  [
    'a proxy that is blocked',
    () => `${hello}${socksLogin('gleb')}${socksRequest('127.0.0.1', origin.port)}`,
    `${loginAccepted}${reply(2)}`,
  ],
  [
    'a login without a pool that exists',
    () => `${hello}${socksLogin('pavel-pool-moon')}${socksRequest('127.0.0.1', origin.port)}`,
    `${loginAccepted}${reply(2)}`,
  ],
  [
    'a country without an exit',
    () => `${hello}${socksLogin('pavel-pool-residential-country-de')}${socksRequest('127.0.0.1', origin.port)}`,
    `${loginAccepted}${reply(4)}`,
  ],
]

/** Sends the bytes whole and byte by byte, in parallel. */
async function checkCase(sent: string, received: string, port = gateway.port): Promise<void> {
  const exchange = async (isSlow: boolean) => {
    const client = await RawClient.open(port)
    if (isSlow) await client.sendSlowly(sent)
    else client.send(sent)
    const { hasEnded } = await client.readToEnd()
    const answer = client.text.startsWith('HTTP/1.1 ') ? client.text.slice(9, 12) : client.bytes.toString('hex')
    client.reset()
    return { answer, hasEnded }
  }
  const [whole, slow] = await Promise.all([exchange(false), exchange(true)])
  expect(whole).toEqual({ answer: received, hasEnded: true })
  expect(slow).toEqual(whole)
}

describe('SOCKS greetings', () => {
  test.each(greetings)('the gateway refuses and closes a SOCKS greeting with %s', async (_, sent, received) =>
    checkCase(sent(), received),
  )
})

describe('SOCKS5 logins', () => {
  test.each(logins)('the gateway refuses and closes a SOCKS5 login with %s', async (_, sent, received) =>
    checkCase(sent(), received),
  )
})

describe('SOCKS5 requests', () => {
  test.each(requests)('the gateway refuses a SOCKS5 request with %s and dials nothing', async (_, sent, received) => {
    origin.reset()
    await checkCase(sent(), received)
    expect(origin.records).toEqual([])
  })
})

describe('SOCKS5 connections', () => {
  const early = 'GET /early HTTP/1.1\r\nHost: a\r\n\r\n'

  test.each([false, true])(
    'the gateway serves a SOCKS5 handshake, request and early data sent at once (byte by byte: %p)',
    async (isSlow) => {
      origin.reset()
      const client = await RawClient.open(gateway.port)
      const sent = `${hello}${socksLogin('dora')}${socksRequest('127.0.0.1', origin.port)}${early}`
      if (isSlow) await client.sendSlowly(sent)
      else client.send(sent)
      await client.readUntil((text) => text.endsWith('ok'))
      expect(client.bytes.subarray(0, 14).toString('hex')).toBe(`${loginAccepted}${reply(0)}`)
      expect(origin.records.map(summarizeRequest)).toEqual(['GET /early'])
      client.reset()
    },
  )

  test('the gateway relays 3.2 MB of early data over SOCKS5 whole', async () => {
    origin.reset()
    let arrived = 0
    origin.play({ onBytes: (bytes) => void (arrived += bytes.length) })
    const client = await greet(gateway.port, 'dora')
    client.send(
      Buffer.concat([Buffer.from(socksRequest('127.0.0.1', origin.port), 'latin1'), Buffer.alloc(200_000, 97)]),
    )
    await client.readUntil((text) => text.length >= 14)
    client.send(Buffer.alloc(3_000_000, 97))
    client.finish()
    await client.readToEnd()
    expect({ code: client.bytes[5], arrived }).toEqual({ code: 0, arrived: 3_200_000 })
    client.reset()
  })

  test('the gateway relays or refuses 5 MB of early data over SOCKS5, and never parses it as HTTP', async () => {
    origin.reset()
    const client = await greet(gateway.port, 'dora')
    client.send(
      Buffer.concat([Buffer.from(socksRequest('127.0.0.1', origin.port), 'latin1'), Buffer.alloc(5_000_000, 97)]),
    )
    await client.readUntil((text) => text.length >= 14)
    expect([0, 1]).toContain(client.bytes[5] ?? -1)
    expect(client.text.slice(4)).not.toContain('HTTP')
    client.reset()
  })

  test('the gateway relays a second SOCKS5 request on an open connection to the origin as data', async () => {
    // A connection of the previous test may still be dialling.
    await until(() => gateway.engine.status.open + gateway.engine.status.dialling + origin.open === 0)
    origin.reset()
    origin.play({ onBytes: () => {} })
    const { client, code } = await socksTo(gateway.port, 'dora', '127.0.0.1', origin.port)
    client.send(socksRequest('127.0.0.1', 25))
    client.finish()
    await client.readToEnd()
    await until(() => origin.open === 0)
    // An origin records a connection with its first bytes, so one of the previous test may appear late.
    const seen = origin.records.map(({ text }) => text).filter((text) => !text.startsWith('a'))
    expect({ code, seen }).toEqual({ code: 0, seen: [socksRequest('127.0.0.1', 25)] })
    client.reset()
  })

  test('the gateway closes a SOCKS5 client that half-closes within its handshake before the 1 h time limit', async () => {
    for (const sent of [
      '\x05',
      hello,
      `${hello}\x01`,
      `${hello}${socksLogin('dora')}`,
      `${hello}${socksLogin('dora')}\x05\x01`,
    ]) {
      const client = await RawClient.open(gateway.port)
      client.send(sent)
      client.finish()
      expect(await client.readToEnd()).toMatchObject({ hasEnded: true })
      client.reset()
    }
  })
})

describe('customer ports', () => {
  test('a customer port accepts a SOCKS5 client from a listed address without credentials', async () => {
    const client = await RawClient.open(listedPort)
    client.send(`\x05\x01\0${socksRequest('127.0.0.1', origin.port)}`)
    await client.readUntil((text) => text.length >= 12)
    expect(client.bytes.toString('hex')).toBe(`0500${reply(0)}`)
    client.reset()
  })

  test('a customer port refuses SOCKS5 with reply 2 and HTTP with 407 from an unlisted address', async () => {
    await checkCase(`\x05\x01\0${socksRequest('127.0.0.1', origin.port)}`, `0500${reply(2)}`, unlistedPort)
    await checkCase(
      `GET http://127.0.0.1:${origin.port}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      '407',
      unlistedPort,
    )
  })

  test('a customer port refuses a login after the client chose no authentication', async () => {
    await checkCase(`\x05\x01\0${socksLogin('dora')}`, `0500${reply(1)}`, listedPort)
  })
})
