import { afterEach, describe, expect, test } from 'bun:test'
import { until } from '../../../../test/harness/until.ts'
import { WireClient } from '../../../../test/harness/wire-client.ts'
import { type ChallengeServer, serveChallenges } from './challenge-server.ts'

describe('the port for ACME challenges', () => {
  let server: ChallengeServer
  const clients: WireClient[] = []
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close()
    await server.stop()
  })

  function listen(timeoutMs?: number): void {
    server = serveChallenges({
      hostname: '127.0.0.1',
      port: 0,
      to: 'https://shop.test',
      ...(timeoutMs !== undefined && { timeoutMs }),
    })
    server.put('token', 'token.thumbprint')
  }

  async function connect(from: string, request: string): Promise<WireClient> {
    const client = await WireClient.connect(server.port, '127.0.0.1', from)
    clients.push(client)
    await client.send(Buffer.from(request))
    return client
  }

  /** The whole answer, which ends with the connection. */
  async function call(request: string, from = '127.0.0.2'): Promise<string> {
    const client = await connect(from, request)
    await client.untilEnd()
    client.close()
    return client.kept.toString('latin1')
  }

  const challenge = 'GET /.well-known/acme-challenge/token HTTP/1.1\r\nHost: shop.test\r\n\r\n'
  const countClosed = (held: readonly WireClient[]) =>
    held.filter((client) => client.isClosed || client.hasEnded).length

  test('an address that holds 100 connections keeps 16, and the authority’s request is answered', async () => {
    listen()
    const held: WireClient[] = []
    for (let count = 0; count < 100; count += 1) held.push(await connect('127.0.0.9', 'GET / HTTP/1.1\r\n'))
    expect(await call(challenge)).toEndWith('\r\n\r\ntoken.thumbprint')
    expect(await call(challenge, '127.0.0.9')).toEndWith('\r\n\r\ntoken.thumbprint')
    await until(() => countClosed(held) === 85)
  })

  test('200 addresses that hold 400 connections keep 128, and the authority’s request is answered', async () => {
    listen()
    const held: WireClient[] = []
    for (let count = 0; count < 400; count += 1) held.push(await connect(`127.0.1.${1 + (count % 200)}`, 'GET'))
    expect(await call(challenge)).toEndWith('\r\n\r\ntoken.thumbprint')
    await until(() => countClosed(held) === 273)
  })

  test('a connection that is silent, sends a part of a request, or is not closed by its client is closed in time', async () => {
    listen(50)
    const silent = await connect('127.0.0.3', '')
    const slow = await connect('127.0.0.4', 'GET / HTTP/1.1\r\nHost:')
    const answered = await connect('127.0.0.5', challenge)
    for (const client of [silent, slow, answered]) await client.until(() => client.isClosed)
    expect([silent, slow, answered].every((client) => client.isClosed)).toBeTrue()
    expect([silent.total, slow.total]).toEqual([0, 0])
  })

  test('a head above 8 KiB is answered 431, bytes that are no request 400, and the answer to HEAD has no body', async () => {
    listen()
    const long = `GET / HTTP/1.1\r\nCookie: ${'a'.repeat(8192)}`
    expect(await call(long)).toStartWith('HTTP/1.1 431 ')
    expect(await call(`${long}\r\n\r\n`)).toStartWith('HTTP/1.1 431 ')
    for (const line of [
      '\u0016\u0003\u0001',
      'GET / HTTP/2.0',
      'GET  / HTTP/1.1',
      'GET /\u0001 HTTP/1.1',
      'GET *&: HTTP/1.1',
    ]) {
      expect(await call(`${line}\r\n\r\n`)).toStartWith('HTTP/1.1 400 ')
    }
    expect(await call('HEAD /.well-known/acme-challenge/token HTTP/1.0\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s,
    )
    expect(await call('GET http://evil.example//a?b HTTP/1.1\r\n\r\n')).toContain(
      '\r\nLocation: https://shop.test/a?b\r\n',
    )
    expect(await call('POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\ntoken=abc')).toStartWith('HTTP/1.1 403 ')
  })
})
