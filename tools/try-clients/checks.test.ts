import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openEngine, type TestGateway } from '../../test/harness/engine.ts'
import { failureOf } from '../../test/harness/failure.ts'
import { UdpPeer } from '../../test/harness/udp.ts'
import { checkDownload, checkNames, checkUpload, type Local } from './checks.ts'
import { type Origin, openOrigin } from './origin.ts'

/** Has a SOCKS5 proxy at the gateway, which is the local port of a client here. */
const username = 'dora'
let gateway: TestGateway
let origin: Origin
let local: Local
beforeAll(async () => {
  gateway = openEngine()
  origin = await openOrigin()
  local = { port: gateway.port, username }
})
afterAll(async () => {
  await origin.stop()
  await gateway.stop()
})

describe('through a SOCKS5 port that relays all bytes', () => {
  test('a download and an upload of 3 MiB pass', async () => {
    await checkDownload(local, origin)
    await checkUpload(local, origin)
  })

  test('queries to two name servers from one association pass', () => checkNames(local, origin.nameServers))
})

test('a download of other bytes fails', async () => {
  const other = { ...origin, bytes: new Uint8Array(origin.bytes.length) }
  expect((await failureOf(checkDownload(local, other))).message).toBe('other bytes arrived')
})

test('an upload fails if the origin got other bytes', async () => {
  const wrong = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('0'.repeat(64)) })
  const failure = await failureOf(checkUpload(local, { ...origin, port: wrong.port ?? 0 }))
  expect(failure.message).toBe('other bytes arrived')
  await wrong.stop(true)
})

test('one silent name server beside one that answers fails the check', async () => {
  const silent = await UdpPeer.open()
  const servers = [...origin.nameServers.slice(0, 1), { host: '127.0.0.1', port: silent.port, last: 9 }]
  expect((await failureOf(checkNames(local, servers, 1))).message).toContain('of 2 name servers did not answer')
  silent.stop()
})
