import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathOfDevice } from '../../src/core/device-path.ts'
import { hasProgram, run } from '../harness/clients.ts'
import { waitLimitMs } from '../harness/until.ts'
import { clientLogin, startV2ray } from '../harness/v2ray.ts'
import { openVpnGateway, type VpnGateway } from '../harness/vpn-gateway.ts'

const rounds = 40
const payload = randomBytes(8_000_000)
const folder = mkdtempSync(join(tmpdir(), 'turnpike-websocket-end-'))
const [received, certificate] = [join(folder, 'received'), join(folder, 'tls.crt')]

/** Answers in HTTP/1.0 and closes, as `python3 -m http.server` does. */
const origin = createServer((socket) => {
  socket.on('error', () => {})
  socket.once('data', () => {
    socket.write(`HTTP/1.0 200 OK\r\nContent-Length: ${payload.length}\r\n\r\n`)
    socket.end(payload)
  })
})

let gateway: VpnGateway
beforeAll(async () => {
  gateway = await openVpnGateway()
  writeFileSync(certificate, gateway.made.cert)
  await once(origin.listen(0, '127.0.0.1'), 'listening')
})
afterAll(async () => {
  origin.close()
  await gateway.stop()
  rmSync(folder, { recursive: true })
})

test.each(['vless', 'trojan'] as const)(
  'v2ray gets 40 downloads of 8 MB whole from an origin that closes, by %s over WebSocket',
  async (protocol) => {
    if (!hasProgram('v2ray')) return
    const { device, tlsPort } = gateway
    const path = pathOfDevice(createHash('sha256').update(device.uuid).digest('hex'))
    const form = { protocol, network: 'ws', alpn: 'http/1.1', path } as const
    const client = await startV2ray(['v2ray', '-config'], form, { tlsPort, certificate, device })
    const proxy = `socks5h://${clientLogin.username}:${clientLogin.password}@127.0.0.1:${client.port}`
    const url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}/`
    const outcomes: string[] = []
    for (let round = 0; round < rounds; round += 1) {
      const { exit, err } = await run('curl', '-sS', '-x', proxy, '-o', received, url)
      outcomes.push(exit === 0 && readFileSync(received).equals(payload) ? 'whole' : err)
    }
    await client.stop()
    expect(outcomes.filter((each) => each !== 'whole')).toEqual([])
  },
  10 * waitLimitMs,
)
