import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { type Made, makeCertificate, putCertificate } from '../harness/certificates.ts'
import { createDice } from '../harness/dice.ts'
import { type BoughtProxy, buyVpn, freePort, openShopWithGateway, type ShopWithGateway } from '../harness/gateway.ts'
import { drawProbes, openPlainSite, type Probe, sendProbe } from '../harness/prober.ts'
import { scaled } from '../harness/scale.ts'
import { untilTrue } from '../harness/turnpike.ts'

const lanes = 4
/** Of each site, all different. */
const probes = 1000
const folder = mkdtempSync(join(tmpdir(), 'turnpike-site-'))
mkdirSync(join(folder, 'dir'))
for (const [name, text] of [
  ['index.html', '<!doctype html><title>A site</title>'],
  ['dir/index.html', 'dir'],
  ['style.css', 'a { color: red }'],
  ['.env', 'SECRET=1'],
  ['big.bin', 'x'.repeat(400_000)],
] as const)
  writeFileSync(join(folder, name), text)
symlinkSync('/etc', join(folder, 'out'))

const shopPort = freePort()
const socket = join(folder, '.shop.sock')
/** A shop's socket: calls of the gateway reach the real shop, visitors get answers that do not depend on time. */
const server = Bun.serve({
  unix: socket,
  development: false,
  async fetch(request) {
    const { pathname, search } = new URL(request.url)
    if (!request.headers.has('x-forwarded-for'))
      return fetch(`http://127.0.0.1:${shopPort}${pathname}${search}`, request as RequestInit)
    const body = await request.text()
    return new Response(`${request.method} ${pathname} ${body.length}`, { headers: { 'X-Site': 'own' } })
  },
})

let made: Made
beforeAll(async () => {
  made = await makeCertificate('prober')
})
afterAll(async () => {
  await server.stop(true)
  rmSync(folder, { recursive: true })
})

describe.each([
  ['files', `files:${folder}`, { kind: 'files', folder }],
  ['the shop', 'shop', { kind: 'shop', socket, nonce: 'plain' }],
  ['the built-in page', 'builtin', { kind: 'builtin' }],
] as const)('a gateway whose site is %s', (_, setting, source) => {
  const tlsPort = freePort()
  let files: ReturnType<typeof putCertificate>
  let shop: ShopWithGateway
  let proxy: BoughtProxy
  let plain: ReturnType<typeof openPlainSite>
  beforeAll(async () => {
    files = putCertificate(made)
    const gateway = {
      ...files.env,
      TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
      TURNPIKE_GATEWAY_SITE: setting,
      TURNPIKE_GATEWAY_CHALLENGE_HOST: 'localhost',
      TURNPIKE_GATEWAY_VPN: 'on',
    }
    shop = await openShopWithGateway('sqlite', {
      shop: { TURNPIKE_PORT: String(shopPort), TURNPIKE_GATEWAY_VPN: 'on' },
      gateway: { ...gateway, ...(setting === 'shop' && { TURNPIKE_SHOP_URL: `unix:${socket}` }) },
    })
    ;[proxy] = (await shop.buyProxies()) as [BoughtProxy]
    await buyVpn(shop)
    plain = openPlainSite(source, made)
  })
  afterAll(async () => {
    await plain.stop()
    await shop.stop()
    files.remove()
  })

  test(`answers ${probes} probes without credentials byte by byte as the plain site, but for dates`, async () => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const dice = createDice(seed)
    const drawn = await drawProbes(scaled(probes), dice, proxy.username)
    const check = async (probe: Probe): Promise<void> => {
      const [ours, reference] = await Promise.all([sendProbe(tlsPort, probe), sendProbe(plain.port, probe)])
      const { steps, ...about } = probe
      const sent = steps.map((each) => Buffer.from(each).toString('latin1'))
      const shown = { seed, ...about, sent }
      expect({ ...shown, text: ours.text, tls: ours.tls }).toEqual({
        ...shown,
        text: reference.text,
        tls: reference.tls,
      })
      expect(ours.text).not.toMatch(/ 407 |proxy-auth|turnpike/i)
    }
    const lane = async (first: number): Promise<void> => {
      for (let at = first; at < drawn.length; at += lanes) {
        const probe = drawn[at]
        if (probe) await check(probe)
      }
    }
    await Promise.all(Array.from({ length: lanes }, (__, at) => lane(at)))
  })
})

test('the site answers both of two pipelined requests when the client half-closes during the first', async () => {
  const held = Promise.withResolvers<void>()
  const slowSocket = join(folder, '.slow.sock')
  const slow = Bun.serve({
    unix: slowSocket,
    development: false,
    async fetch({ url }) {
      if (url.endsWith('/slow')) await held.promise
      return new Response(new URL(url).pathname)
    },
  })
  const plain = openPlainSite({ kind: 'shop', socket: slowSocket, nonce: 'slow' }, made)
  const client = connect({ port: plain.port, host: '127.0.0.1', rejectUnauthorized: false })
  let received = ''
  client.on('data', (bytes: Buffer) => void (received += bytes.toString('latin1')))
  client.end(['/slow', '/next'].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  await once(client, 'finish')
  await untilTrue(() => slow.pendingRequests === 1)
  held.resolve()
  await once(client, 'end')
  expect(received.match(/\/(slow|next)$|\/slow(?=HTTP)/g)).toEqual(['/slow', '/next'])
  client.destroy()
  await plain.stop()
  await slow.stop(true)
})
