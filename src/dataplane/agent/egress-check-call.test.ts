import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { selfSigned } from '../../../test/harness/self-signed.ts'
import { waitLimitMs } from '../../../test/harness/until.ts'
import { readPrefix } from '../../core/address.ts'
import { createCallShop, EgressCheck } from './egress-check.ts'

const answer = (request: Request, server: Bun.Server<undefined>): Response => {
  if (request.headers.get('authorization') !== 'Bearer a-secret') return new Response('', { status: 401 })
  return Response.json({ ok: true, data: { from: server.requestIP(request)?.address ?? '' } })
}

describe('calls of the shop from an address', () => {
  let plain: Bun.Server<undefined>
  let secure: Bun.Server<undefined>
  const end = new AbortController().signal
  const certificate = join(tmpdir(), `turnpike-call-shop-${process.pid}.pem`)

  beforeAll(() => {
    plain = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
    secure = Bun.serve({ hostname: '0.0.0.0', port: 0, tls: selfSigned, fetch: answer })
    writeFileSync(certificate, selfSigned.cert)
  })
  afterAll(async () => {
    await plain.stop(true)
    await secure.stop(true)
    rmSync(certificate, { force: true })
  })

  const callHttp = (secret = 'a-secret') =>
    createCallShop({ base: new URL(`http://127.0.0.1:${plain.port}/node/v1/`), secret, limitMs: waitLimitMs })

  /** Calls from a process of its own: NODE_EXTRA_CA_CERTS is read once, when a process starts. */
  async function callHttps(host: string, trusts: boolean): Promise<string> {
    const script = `
      const { createCallShop } = await import(${JSON.stringify(join(import.meta.dir, 'egress-check.ts'))})
      const call = createCallShop({ base: new URL('https://${host}:${secure.port}/node/v1/'), secret: 'a-secret', limitMs: ${waitLimitMs} })
      const seen = await call(4, '127.0.0.9', new AbortController().signal).catch((error) => error.code)
      process.stdout.write(String(seen))`
    const child = Bun.spawn([process.execPath, '--no-env-file', '-e', script], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: trusts ? certificate : '' },
      stdout: 'pipe',
      stderr: 'ignore',
    })
    const output = await child.stdout.text()
    await child.exited
    return output
  }

  test('the shop sees the given source address of a call, or 127.0.0.1 when none is given', async () => {
    expect(await callHttp()(4, '127.0.0.9', end)).toBe('127.0.0.9')
    expect(await callHttp()(4, undefined, end)).toBe('127.0.0.1')
  })

  test('a call fails from an address that the machine does not have and when it is aborted, and finds no address with a wrong secret', async () => {
    const call = callHttp()
    expect(await call(4, '198.51.100.9', end).catch(() => 'failed')).toBe('failed')
    expect(await callHttp('another')(4, undefined, end)).toBeUndefined()
    const ended = new AbortController()
    const calling = call(4, undefined, ended.signal).catch(() => 'failed')
    ended.abort()
    expect(await calling).toBe('failed')
  })

  test('a call over IPv6 of a shop at an IPv4 address fails as an address that is not found', async () => {
    const failed = callHttp()(6, undefined, end).catch((error: unknown) => Object(error).code)
    expect(await failed).toBe('ENOTFOUND')
  })

  /** Two shops behind a round-robin balancer: the first request of each pair goes to the one that stops. */
  async function findProblemBehindBalancer(stop: (socket: Socket) => void): Promise<string | undefined> {
    let requests = 0
    const body = '{"ok":true,"data":{"from":"127.0.0.9"}}'
    const balancer = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        requests += 1
        if (requests % 2 === 1) stop(socket)
        else socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      })
    })
    await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve))
    const { port } = balancer.address() as AddressInfo
    const call = createCallShop({ base: new URL(`http://127.0.0.1:${port}/node/v1/`), secret: 'a-secret' })
    const prefix = readPrefix('127.0.0.9/32')
    if (!prefix) throw new Error('no prefix')
    const check = new EgressCheck({ prefix, isBlock: false, call, canUse: () => true, chance: () => 0 })
    for (let turn = 0; turn < 4; turn += 1) await check.step(end)
    balancer.close()
    return check.problemOf(prefix.base)
  }

  test('an address keeps serving while one of two shops behind a balancer answers 503 or closes connections', async () => {
    const refuse = (socket: Socket) => void socket.end('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n')
    expect(await findProblemBehindBalancer(refuse)).toBeUndefined()
    expect(await findProblemBehindBalancer((socket) => void socket.resetAndDestroy())).toBeUndefined()
  })

  test('a call over TLS verifies the name or the address in the certificate of the shop', async () => {
    const [named, numbered] = await Promise.all([callHttps('localhost', true), callHttps('127.0.0.1', true)])
    expect([named, numbered]).toEqual(['127.0.0.9', '127.0.0.9'])
    const [other, untrusted] = await Promise.all([callHttps('127.0.0.5', true), callHttps('127.0.0.1', false)])
    expect(other).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
    expect(untrusted).toBe('DEPTH_ZERO_SELF_SIGNED_CERT')
  })
})
