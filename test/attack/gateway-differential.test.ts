import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { loginLine, openEngine, type TestGateway, until } from '../harness/engine.ts'
import { findPeer, type PeerName, type PeerProxy, startPeer } from '../harness/peer-proxies.ts'
import { RawClient } from '../harness/raw-client.ts'
import { type RecordingOrigin, readRequest, startRecordingOrigin } from '../harness/recording-origin.ts'

/**
 * Bytes sent, and the requests that the origin sees: none for a framing that the gateway refuses. ORIGIN is replaced by
 * the origin's authority, /NNNN by a path of this framing, LOGIN by the Proxy-Authorization line, which peer proxies do
 * not need.
 */
type Framing = readonly [name: string, sent: string, ...seen: string[]]

const get = 'GET http://ORIGIN/NNNN HTTP/1.1\r\nHost: ORIGIN\r\nLOGIN'
const post = 'POST http://ORIGIN/NNNN HTTP/1.1\r\nHost: ORIGIN\r\nLOGIN'
const chunked = `${post}Transfer-Encoding: chunked\r\n\r\n`
const second = 'GET http://ORIGIN/NNNN-second HTTP/1.1\r\nHost: ORIGIN\r\nLOGIN\r\n'
const posted = (...fields: string[]): string => `${post}${fields.join('\r\n')}\r\n\r\nhello`
const inner = 'GET /NNNN-inner HTTP/1.1\r\nHost: a\r\n\r\n'

const accepted: readonly Framing[] = [
  ['a GET', `${get}\r\n`, 'GET /NNNN'],
  ['a query', `${get.replace('/NNNN', '/NNNN?a=b&c')}\r\n`, 'GET /NNNN?a=b&c'],
  ['dots and escapes', `${get.replace('/NNNN', '/NNNN/../%2e%2F')}\r\n`, 'GET /NNNN/../%2e%2F'],
  ['a DELETE', `${get.replace('GET', 'DELETE')}\r\n`, 'DELETE /NNNN'],
  ['an unknown method', `${get.replace('GET', 'BREW')}\r\n`, 'BREW /NNNN'],
  ['a POST with a length', posted('Content-Length: 5'), 'POST /NNNN hello'],
  ['a POST of nothing', `${post}Content-Length: 0\r\n\r\n`, 'POST /NNNN'],
  ['a PUT', posted('Content-Length: 5').replace('POST', 'PUT'), 'PUT /NNNN hello'],
  ['a GET with a body', `${get}Content-Length: 5\r\n\r\nhello`, 'GET /NNNN hello'],
  ['a request in a body', `${post}Content-Length: ${inner.length}\r\n\r\n${inner}`, `POST /NNNN ${inner}`],
  ['chunks', `${chunked}2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`, 'POST /NNNN hello'],
  ['an extension', `${chunked}5;a=b\r\nhello\r\n0\r\n\r\n`, 'POST /NNNN hello'],
  ['zeros in front of a size', `${chunked}005\r\nhello\r\n0\r\n\r\n`, 'POST /NNNN hello'],
  ['a trailer', `${chunked}5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n`, 'POST /NNNN hello'],
  ['CHUNKED', `${post}Transfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n`, 'POST /NNNN hello'],
  ['a scheme in capitals', `${get.replace('http:', 'HTTP:')}\r\n`, 'GET /NNNN'],
  ['another Host', `${get.replace('Host: ORIGIN', 'Host: elsewhere.example')}\r\n`, 'GET /NNNN'],
  ['HTTP/1.0', `${get.replace('HTTP/1.1', 'HTTP/1.0')}\r\n`, 'GET /NNNN'],
  ['Connection: close', `${get}Connection: close\r\n\r\n`, 'GET /NNNN'],
  ['a field that Connection names', `${get}Connection: X-A\r\nX-A: 1\r\n\r\n`, 'GET /NNNN'],
  ['two requests', `${get}\r\n${second}`, 'GET /NNNN', 'GET /NNNN-second'],
  ['a request behind a body', `${posted('Content-Length: 5')}${second}`, 'POST /NNNN hello', 'GET /NNNN-second'],
  ['a request behind chunks', `${chunked}5\r\nhello\r\n0\r\n\r\n${second}`, 'POST /NNNN hello', 'GET /NNNN-second'],
  ['a request behind Connection: close', `${get}Connection: close\r\n\r\n${second}`, 'GET /NNNN'],
  ['a request behind HTTP/1.0', `${get.replace('HTTP/1.1', 'HTTP/1.0')}\r\n${second}`, 'GET /NNNN'],
]

const refused: readonly Framing[] = [
  ['two lengths', posted('Content-Length: 5', 'Content-Length: 6')],
  ['the same length twice', posted('Content-Length: 5', 'Content-Length: 5')],
  ['a list of lengths', posted('Content-Length: 5, 5')],
  ['a length with a sign', posted('Content-Length: +5')],
  ['a negative length', posted('Content-Length: -5')],
  ['a length in hexadecimal', posted('Content-Length: 0x5')],
  ['a length with zeros in front', posted('Content-Length: 005')],
  ['an empty length', posted('Content-Length:')],
  ['a length past 64 bits', posted('Content-Length: 18446744073709551621')],
  ['length and chunks', `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${second}`],
  ['chunks and length', `${post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${second}`],
  ['chunked twice', `${post}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
  ['identity', posted('Transfer-Encoding: identity')],
  ['xchunked', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${second}`],
  ['gzip, chunked', `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['chunked in quotes', `${post}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`],
  ['a coding with a space before the colon', `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${second}`],
  ['a folded coding', `${post}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${second}`],
  ['chunked in HTTP/1.0', `${chunked.replace('HTTP/1.1', 'HTTP/1.0')}0\r\n\r\n`],
  ['a size with a sign', `${chunked}+5\r\nhello\r\n0\r\n\r\n`],
  ['a size with 0x', `${chunked}0x5\r\nhello\r\n0\r\n\r\n`],
  ['a size behind a space', `${chunked} 5\r\nhello\r\n0\r\n\r\n`],
  ['a size before a space', `${chunked}5 \r\nhello\r\n0\r\n\r\n`],
  ['a size past 32 bits', `${chunked}100000005\r\nhello\r\n0\r\n\r\n${second}`],
  ['a size past 64 bits', `${chunked}10000000000000005\r\nhello\r\n0\r\n\r\n${second}`],
  ['a size ended by LF', `${chunked}5\nhello\r\n0\r\n\r\n`],
  ['an LF in an extension', `${chunked}5;a\nb\r\nhello\r\n0\r\n\r\n`],
  ['a chunk ended by LF', `${chunked}5\r\nhello\n0\r\n\r\n`],
  ['a chunk ended by other bytes', `${chunked}5\r\nhelloXX0\r\n\r\n`],
  ['a trailer that frames', `${chunked}0\r\nContent-Length: 5\r\n\r\n${second}`],
  ['lines that end in LF', 'GET http://ORIGIN/NNNN HTTP/1.1\nHost: ORIGIN\nLOGIN\n'],
  ['a folded line', `${get}X-A: 1\r\n 2\r\n\r\n`],
  ['a space before a colon', `${get}X-A : 1\r\n\r\n`],
  ['a NUL in a value', `${get}X-A: \0\r\n\r\n`],
  ['a bare CR in a value', `${get}X-A: 1\rX-B: 2\r\n\r\n`],
  ['no colon', `${get}X-A\r\n\r\n`],
  ['no Host', 'GET http://ORIGIN/NNNN HTTP/1.1\r\nLOGIN\r\n'],
  ['two Hosts', `${get}Host: elsewhere.example\r\n\r\n`],
  ['two spaces in the request line', `${get.replace('GET ', 'GET  ')}\r\n`],
  ['a tab in the request line', `${get.replace('GET ', 'GET\t')}\r\n`],
  ['HTTP/1.2', `${get.replace('HTTP/1.1', 'HTTP/1.2')}\r\n`],
  ['HTTP/2.0', `${get.replace('HTTP/1.1', 'HTTP/2.0')}\r\n`],
  ['HTTP/0.9', 'GET http://ORIGIN/NNNN\r\n'],
  ['user information', `${get.replace('http://', 'http://a:b@')}\r\n`],
  ['a fragment', `${get.replace('/NNNN', '/NNNN#top')}\r\n`],
]

/** Framings that a peer proxy forwards differently from the gateway, and why both are allowed. */
const differences: Readonly<Record<string, Partial<Record<PeerName, string>>>> = {
  'a GET with a body': { squid: 'answers 411; RFC 9110, 9.3.1 gives such a body no meaning and does not forbid it' },
  'an extension': { tinyproxy: 'passes chunks on as they came; RFC 9112, 7.1.1 lets us drop what is for this hop' },
  'a trailer': { tinyproxy: 'passes chunks on as they came; RFC 9112, 7.1.2 lets us drop trailers' },
  CHUNKED: { tinyproxy: 'knows the word in lower case only, and forwards a head without its body' },
  'two requests': { tinyproxy: 'closes after the first' },
  'a request behind a body': { tinyproxy: 'closes after the first' },
  'a request behind chunks': { tinyproxy: 'closes after the first' },
}

let gateway: TestGateway
let origin: RecordingOrigin
const running: Partial<Record<PeerName, PeerProxy>> = {}
const names: readonly PeerName[] = ['squid', 'tinyproxy', 'haproxy']
const absent = names.filter((name) => findPeer(name) === undefined)

beforeAll(async () => {
  gateway = openEngine()
  origin = startRecordingOrigin()
  for (const name of names) {
    const peer = await startPeer(name, origin.port)
    if (peer) running[name] = peer
  }
  if (absent.length > 0) console.log(`not installed, and not compared with: ${absent.join(', ')}`)
})
afterAll(async () => {
  await Promise.all(Object.values(running).map((peer) => peer.stop()))
  origin.stop()
  await gateway.stop()
})

const idOf = (index: number): string => `/c${String(index).padStart(3, '0')}`
/** How long the origin waits for the rest of a request, which some peer proxies never send. */
const restWithinMs = 5000

/** Answers a request once it is complete, or after the time limit; the connection closes with the answer. */
function playWholeRequests(): void {
  const answered = new WeakSet<object>()
  origin.play({
    onBytes(_, write, socket) {
      const { record } = socket.data
      const answer = (): void => {
        if (answered.has(socket)) return
        answered.add(socket)
        write('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok')
        socket.shutdown()
      }
      if (isWhole(record.text)) answer()
      else setTimeout(answer, restWithinMs)
    },
  })
}

function isWhole(text: string): boolean {
  try {
    return readRequest(text) !== undefined
  } catch {
    return true
  }
}

/** Every request in the bytes of one connection. Text that a strict parser rejects is listed as unreadable. */
function summarizeRequests(text: string): string[] {
  try {
    const request = readRequest(text)
    if (!request) return [`unfinished ${text.split('\r\n', 1)[0]}`]
    const summary = `${request.method} ${request.path}${request.body === '' ? '' : ` ${request.body}`}`
    return request.behind === '' ? [summary] : [summary, ...summarizeRequests(request.behind)]
  } catch {
    return [`unreadable ${JSON.stringify(text)}`]
  }
}

/** Sends all framings through one proxy, and returns what the origin saw of each. */
async function sendAll(framings: readonly Framing[], through: { port: number; login: string; to: string }) {
  origin.reset()
  playWholeRequests()
  const clients = await Promise.all(
    framings.map(async ([, sent, ...seen], index) => {
      const client = await RawClient.open(through.port)
      const filled = sent
        .replaceAll('ORIGIN', through.to)
        .replaceAll('/NNNN', idOf(index))
        .replaceAll('LOGIN', through.login)
      client.send(filled)
      const answers = (text: string): number => text.match(/HTTP\/1\.\d \d{3} /g)?.length ?? 0
      await client.readUntil((text) => answers(text) >= Math.max(1, seen.length))
      return client
    }),
  )
  const statuses = clients.map((client) => /^HTTP\/1\.\d (\d{3})/.exec(client.text)?.[1] ?? 'none')
  for (const client of clients) client.reset()
  await until(() => origin.open === 0)
  return framings.map(([name], index) => {
    const records = origin.records.filter((record) => record.text.includes(idOf(index)))
    const seen = records
      .flatMap((record) => summarizeRequests(record.text))
      .map((line) => line.replaceAll(idOf(index), '/NNNN'))
    return { name, status: statuses[index], seen: seen.toSorted((a, b) => a.length - b.length) }
  })
}

const throughUs = (to: string) => ({ port: gateway.port, login: loginLine('anna'), to })
const expectedOf = (framings: readonly Framing[]) =>
  framings.map(([name, , ...seen]) => ({ name, seen: seen.toSorted((a, b) => a.length - b.length) }))
const isWholeRequest = (line: string): boolean => !line.startsWith('unfinished ')

describe(`framings${absent.length > 0 ? `, without ${absent.join(', ')}` : ''}`, () => {
  test('the gateway forwards each accepted framing to the origin as the expected requests', async () => {
    const results = await sendAll(accepted, throughUs(origin.authority))
    expect(results.map(({ name, seen }) => ({ name, seen }))).toEqual(expectedOf(accepted))
  })

  test('the gateway refuses each malformed framing with 400, 501 or 505, and the origin receives no request', async () => {
    for (const { name, status, seen } of await sendAll(refused, throughUs(origin.authority))) {
      expect({ name, seen: seen.filter(isWholeRequest) }).toEqual({ name, seen: [] })
      expect({ name, status }).toEqual({ name, status: expect.stringMatching(/^(?:400|501|505)$/) })
    }
  })

  test.each(['squid', 'tinyproxy'] as const)(
    '%s forwards each accepted framing as the gateway does, except for the listed differences',
    async (name) => {
      const peer = running[name]
      const results = peer ? await sendAll(accepted, { port: peer.port, login: '', to: origin.authority }) : []
      const expected = new Map(expectedOf(accepted).map((each) => [each.name, each.seen]))
      const unlike = results.filter((each) => !Bun.deepEquals(each.seen, expected.get(each.name)))
      expect(unlike.filter((each) => differences[each.name]?.[name] === undefined)).toEqual([])
      expect(results).toHaveLength(absent.includes(name) ? 0 : accepted.length)
    },
  )

  test('HAProxy behind the gateway reads each accepted framing as the same requests', async () => {
    const peer = running.haproxy
    const results = peer ? await sendAll(accepted, throughUs(`127.0.0.1:${peer.port}`)) : []
    const unlike = results.filter(({ name, seen }, index) => {
      const [, , ...expected] = accepted[index] ?? ['', '']
      return (
        !Bun.deepEquals(
          seen,
          expected.toSorted((a, b) => a.length - b.length),
        ) && !differences[name]?.haproxy
      )
    })
    expect(unlike).toEqual([])
    expect(results).toHaveLength(absent.includes('haproxy') ? 0 : accepted.length)
  })

  test('HAProxy behind the gateway receives no request of a refused framing', async () => {
    const peer = running.haproxy
    for (const { name, seen } of peer ? await sendAll(refused, throughUs(`127.0.0.1:${peer.port}`)) : []) {
      expect({ name, seen: seen.filter(isWholeRequest) }).toEqual({ name, seen: [] })
    }
  })
})
