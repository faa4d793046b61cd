import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { basicOf, loginLine, openEngine, type TestGateway, until } from '../harness/engine.ts'
import { converse, type RawCase, type RawCaseServers, rawCases, untilProcessed } from '../harness/raw-case.ts'
import { RawClient, readAnswers } from '../harness/raw-client.ts'
import { startRecordingOrigin, summarizeRequest } from '../harness/recording-origin.ts'
import { socksLogin } from '../harness/socks-client.ts'
import { untilTrue } from '../harness/turnpike.ts'

let servers: RawCaseServers
let gateway: TestGateway
beforeAll(() => {
  // Shorter than shipped. The delay of a refusal is tested with a hand clock in `admission.test.ts`.
  gateway = openEngine({ limits: { refusalDelayMs: 10 } })
  servers = { gateway, origin: startRecordingOrigin() }
})
beforeEach(() => servers.origin.reset())
afterAll(async () => {
  servers.origin.stop()
  expect(await gateway.stop()).toMatchObject({ open: 0, connections: 0, tunnels: 0 })
})

const get = (path: string, ...fields: string[]): string =>
  `GET http://ORIGIN${path} HTTP/1.1\r\nHost: ORIGIN\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`
const basic = (text: string): string => `Proxy-Authorization: Basic ${Buffer.from(text, 'latin1').toString('base64')}`
const required = ['407 credentials_required']
const wrong = ['407 bad_credentials']

const credentials: readonly RawCase[] = [
  ['none', get('/a'), required],
  ['an Authorization header for the origin', get('/a', 'Authorization: Basic YW5uYTphbm5hLnNlY3JldA=='), required],
  ['another scheme', get('/a', 'Proxy-Authorization: Bearer abc'), wrong],
  ['no scheme', get('/a', `Proxy-Authorization: ${basicOf('anna')}`), wrong],
  ['nothing behind the scheme', get('/a', 'Proxy-Authorization: Basic'), wrong],
  ['a stray character', get('/a', `Proxy-Authorization: Basic ${basicOf('anna')}!`), wrong],
  ['stray bits', get('/a', 'Proxy-Authorization: Basic YTpiYx=='), wrong],
  ['no colon', get('/a', basic('anna')), wrong],
  ['a NUL behind the name', get('/a', basic('anna\0:anna.secret')), wrong],
  ['a line end in the name', get('/a', basic('an\r\nna:anna.secret')), wrong],
  ['bytes that are not UTF-8', get('/a', basic('\xff:x')), wrong],
  ['a name of 513 bytes', get('/a', basic(`${'a'.repeat(513)}:x`)), wrong],
  ['an empty name', get('/a', basic(':anna.secret')), wrong],
  ['a name in another case', get('/a', basic('Anna:anna.secret')), wrong],
  ['a name with a blank', get('/a', basic('anna :anna.secret')), wrong],
  [
    'the digest in place of the password',
    get('/a', basic(`anna:${new Bun.SHA256().update('anna.secret').digest('hex')}`)),
    wrong,
  ],
  ['the name of a property of every object', get('/a', basic('__proto__:x')), wrong],
  ['a proxy that has expired', get('/a', 'LOGIN:frida'), ['402 expired']],
  ['a proxy that is blocked', get('/a', 'LOGIN:gleb'), ['403 blocked']],
  ['a proxy of the other protocol', get('/a', 'LOGIN:dora'), ['403 wrong_protocol']],
  ['a country that has no exit', get('/a', 'LOGIN:pavel-pool-residential-country-de'), ['502 no_exit']],
  ['a pool that does not exist', get('/a', 'LOGIN:pavel-pool-moon'), ['403 unknown_pool']],
  ['a part that the grammar does not know', get('/a', 'LOGIN:pavel-planet-mars'), ['403 login_part']],
  ['a part given twice', get('/a', 'LOGIN:pavel-pool-residential-pool-residential'), ['403 login_pool']],
  ['a country of three letters', get('/a', 'LOGIN:pavel-country-usa'), ['403 login_country']],
  ['a wrong part and a wrong password', get('/a', basic('pavel-country-usa:x')), wrong],
  ['a wrong part of a login that no customer has', get('/a', basic('petra-country-usa:pavel.secret')), wrong],
  ['a login in capitals', get('/a', basic('PAVEL-POOL-residential:pavel.secret')), ['200'], ['GET /a']],
  ['a scheme in capitals', get('/a', `Proxy-Authorization: BASIC ${basicOf('anna')}`), ['200'], ['GET /a']],
]

const several: readonly RawCase[] = [
  ['two users', get('/a', 'LOGIN:anna') + get('/b', 'LOGIN:boris'), ['200', '200'], ['GET /a', 'GET /b']],
  ['a user, then no credentials', get('/a', 'LOGIN:anna') + get('/b'), ['200', '407 credentials_required'], ['GET /a']],
  [
    'a user, then a wrong password',
    get('/a', 'LOGIN:anna') + get('/b', basic('anna:x')),
    ['200', ...wrong],
    ['GET /a'],
  ],
  [
    'a user, then one who is blocked',
    get('/a', 'LOGIN:anna') + get('/b', 'LOGIN:gleb'),
    ['200', '403 blocked'],
    ['GET /a'],
  ],
  [
    'no credentials, then a user, then no credentials',
    get('/a') + get('/b', 'LOGIN:anna') + get('/c'),
    [...required, '200', ...required],
    ['GET /b'],
  ],
  [
    'a CONNECT without credentials behind a request of a user',
    `${get('/a', 'LOGIN:anna')}CONNECT ORIGIN HTTP/1.1\r\n\r\n`,
    ['200', '407 credentials_required'],
    ['GET /a'],
  ],
  ['a foreign Host', 'GET http://ORIGIN/a HTTP/1.1\r\nHost: 169.254.169.254\r\nLOGIN\r\n\r\n', ['200'], ['GET /a']],
]

rawCases('Proxy-Authorization header', credentials, () => servers)
rawCases('sequence of users on one connection', several, () => servers)

/** Waits for these counts, stops the engine, and checks that stopping adds nothing. */
async function expectCounts(
  own: TestGateway,
  kind: 'proxies' | 'subusers',
  expected: readonly object[],
): Promise<void> {
  // A later count of a credential includes the earlier ones.
  const counted = new Map<unknown, object>()
  const take = (): object[] => {
    for (const each of own.engine.dataPath.takeChanged()[kind]) counted.set(each.id, each)
    return [...counted.values()]
  }
  await untilTrue(() => Bun.deepEquals(take(), expected))
  expect(take()).toEqual([...expected])
  await own.stop()
  expect(own.engine.dataPath.takeChanged()[kind]).toEqual([])
}

test('the gateway counts the bytes of two users on one connection separately', async () => {
  const own = openEngine()
  servers.origin.play({
    onRequest: ({ path }, write) => write(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`),
  })
  const client = await RawClient.open(own.port)
  const ask = async (id: number, who: string, path: string, answers: number) => {
    const from = client.receivedBytes
    const request = `GET http://${servers.origin.authority}${path} HTTP/1.1\r\nHost: a\r\n${loginLine(who)}\r\n`
    client.send(request)
    await client.readUntil((text) => readAnswers(text).answers.length === answers)
    return { id, received: client.receivedBytes - from, sent: request.length }
  }
  const real = [await ask(1, 'anna', '/of-anna', 1), await ask(2, 'boris', '/of-boris-who-reads-more', 2)]
  client.reset()
  await expectCounts(own, 'proxies', real)
})

test.each([100, 1000, 2000])(
  'the gateway counts bytes that wait for a traffic lease once, in pieces of %p bytes',
  async (size) => {
    const own = openEngine({ leaseBytes: 110, leaseMs: 15 })
    const body = 'x'.repeat(2000)
    const head = `POST http://${servers.origin.authority}/a HTTP/1.1\r\nHost: a\r\n${loginLine('pavel-pool-residential')}Content-Length: ${body.length}\r\n\r\n`
    const client = await RawClient.open(own.port)
    client.send(head)
    for (let from = 0; from < body.length; from += size) {
      await until(() => servers.origin.records.length === 1)
      client.send(body.slice(from, from + size))
      await untilProcessed(own.port, 1)
    }
    await client.readUntil((text) => readAnswers(text).answers.length === 1)
    const received = client.receivedBytes
    client.finish()
    await client.readToEnd()
    await until(() => own.engine.status.open === 0)
    await expectCounts(own, 'subusers', [
      { id: 'sub-pavel', pool: 'residential', sent: head.length + body.length, received },
    ])
    expect(servers.origin.records.map(summarizeRequest)).toEqual([`POST /a ${body}`])
  },
)

test('the origin gets the Host of the request target, whatever Host the client sent', async () => {
  await converse(
    gateway.port,
    `GET http://${servers.origin.authority}/a HTTP/1.1\r\nHost: bank.example\r\n${loginLine('anna')}\r\n`,
    ['200'],
    false,
  )
  expect(servers.origin.records[0]?.text).toContain(`\r\nHost: ${servers.origin.authority}\r\n`)
  expect(servers.origin.records[0]?.text).not.toContain('bank.example')
})

test('the gateway closes a connection after 20 refused requests', async () => {
  const client = await RawClient.open(gateway.port)
  client.send('GET http://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(30))
  const { hasEnded } = await client.readToEnd()
  expect({ hasEnded, answers: readAnswers(client.text).answers.length }).toEqual({ hasEnded: true, answers: 20 })
  client.reset()
})

describe('unknown names and wrong passwords', () => {
  async function guess(sent: string): Promise<string> {
    const client = await RawClient.open(gateway.port)
    client.send(sent)
    await client.readUntil((text) => text.includes('\r\n\r\n') || text.length === 4)
    const { text } = client
    client.reset()
    return text
  }

  const request = (login: string): string =>
    `GET http://a.example/ HTTP/1.1\r\nHost: a\r\n${login}Connection: close\r\n\r\n`
  test.each([
    ['over HTTP', request(loginLine('anna', 'wrong')), request(loginLine('nobody', 'wrong'))],
    [
      'over HTTP, by a login',
      request(loginLine('pavel-pool-residential', 'wrong')),
      request(loginLine('nobody-pool-residential', 'wrong')),
    ],
    ['over SOCKS5', `\x05\x01\x02${socksLogin('dora', 'wrong')}`, `\x05\x01\x02${socksLogin('nobody', 'wrong')}`],
    [
      'over SOCKS5, by a password that is right elsewhere',
      `\x05\x01\x02${socksLogin('dora', 'anna.secret')}`,
      `\x05\x01\x02${socksLogin('nobody', 'anna.secret')}`,
    ],
  ])('the gateway answers an unknown name and a wrong password with the same bytes %s', async (_, known, unknown) => {
    const texts = await Promise.all(Array.from({ length: 5 }, () => [guess(known), guess(unknown)]).flat())
    expect(texts).not.toContain('')
    expect(new Set(texts).size).toBe(1)
  })
})
