import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realRuntime } from '../../src/app/shop/services.ts'
import { nodeModulesFolder } from '../harness/apt.ts'
import { type Made, makeCertificate, putCertificate } from '../harness/certificates.ts'
import { run } from '../harness/clients.ts'
import { type BoughtProxy, buyWhenSold, freePort, somePorts } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { checkHttp3 } from '../harness/http3.ts'
import { type Service, startService } from '../harness/service.ts'
import { socksLogin } from '../harness/socks-client.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { addUsers, type User, usedBy } from '../harness/traffic.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { associateRequest, readDatagram, startUdpEcho, TestAssociation, type UdpPeer } from '../harness/udp.ts'
import { WireClient } from '../harness/wire-client.ts'

/** Longest time from a block until the last datagram. */
const cutMs = 2000

/** The interpreter that has the modules of Debian's packages. */
const python = '/usr/bin/python3'

/**
 * Sends datagrams of 1 to 1,400 bytes, each again until its echo has come back: with PySocks, or without a proxy with
 * an ordinary socket, whose calls Dante's socksify redirects.
 */
const pythonClient = `
import socket, sys
host, echo, *proxy = sys.argv[1:]
if proxy:
    import socks
    client = socks.socksocket(socket.AF_INET, socket.SOCK_DGRAM)
    client.set_proxy(socks.SOCKS5, proxy[0], int(proxy[1]), username=proxy[2], password=proxy[3])
else:
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(5)
for size in range(1, 1400, 100):
    data = bytes([size % 251]) * size
    while True:
        client.sendto(data, (host, int(echo)))
        try:
            got, source = client.recvfrom(65535)
        except socket.timeout:
            continue
        if got == data:
            break
print('echoed', source[1])
client.close()
`

/** The same with the npm package socks. */
const nodeSocks = `
const { SocksClient } = require('socks')
const { createSocket } = require('node:dgram')
const [host, port, userId, password, echo] = process.argv.slice(1)
void (async () => {
  const proxy = { host, port: Number(port), type: 5, userId, password }
  const client = new SocksClient({ proxy, command: 'associate', destination: { host: '0.0.0.0', port: 0 } })
  const { socket, remoteHost } = await new Promise((resolve, reject) => {
    client.on('established', resolve)
    client.on('error', reject)
    client.connect()
  })
  const udp = createSocket('udp4')
  let source
  for (let size = 1; size < 1400; size += 100) {
    const data = Buffer.alloc(size, size % 251)
    const frame = SocksClient.createUDPFrame({ remoteHost: { host: '127.0.0.1', port: Number(echo) }, data })
    await new Promise((resolve) => {
      const send = () => udp.send(frame, remoteHost.port, remoteHost.host)
      const timer = setInterval(send, 5000)
      udp.on('message', function onMessage(message) {
        const answer = SocksClient.parseUDPFrame(message)
        if (!answer.data.equals(data)) return
        source = answer.remoteHost.port
        clearInterval(timer)
        udp.off('message', onMessage)
        resolve()
      })
      send()
    })
  }
  console.log('echoed ' + source)
  udp.close()
  socket.end()
})()
`

describe('UDP through a gateway process', () => {
  let service: Service
  let gateway: GatewayProcess
  let echo: UdpPeer
  let certificate: Made
  let files: ReturnType<typeof putCertificate>
  let port = 0
  const tlsPort = freePort()
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-udp-'))

  beforeAll(async () => {
    port = freePort()
    const shop = { TURNPIKE_GATEWAY_PORT: String(port), TURNPIKE_PREMIUM_PORTS: somePorts() }
    service = await startService('sqlite', shop, realRuntime, false)
    certificate = await makeCertificate('udp')
    files = putCertificate(certificate)
    gateway = await makeGatewayProcess(service, port, {
      ...files.env,
      TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
      TURNPIKE_GATEWAY_SITE: 'off',
    })
    await gateway.start()
    echo = await startUdpEcho()
  })
  afterAll(async () => {
    echo.stop()
    await gateway.stop()
    gateway.remove()
    files.remove()
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const addUser = async (): Promise<User> => {
    const [user] = await addUsers({ ...service, port }, 1, 1)
    if (!user) throw new Error('there is no sub-user')
    return user
  }

  async function relayedBy({ id }: BoughtProxy): Promise<number> {
    const totals = await service.services.traffic.counts.totals(service.services.db, [`proxy:${id}`])
    const { received = 0n, sent = 0n } = totals.get(`proxy:${id}`) ?? {}
    return Number(received + sent)
  }

  /** Everything that the echo has received has been billed twice: there and back. */
  async function checkBilled(used: () => Promise<number>, before: number): Promise<void> {
    const echoed = () => echo.received.slice(before).reduce((sum, { bytes }) => sum + 2 * bytes.length, 0)
    await untilTrue(async () => (await used()) === echoed())
    expect(await used()).toBe(echoed())
  }

  test('PySocks sends and receives datagrams through a dedicated proxy, and the shop bills each byte', async () => {
    const proxy = await buyWhenSold(service, 'socks')
    const before = echo.received.length
    const args = ['127.0.0.1', String(echo.port), proxy.ip, String(port), proxy.username, proxy.password]
    expect(await run(python, '-c', pythonClient, ...args)).toMatchObject({ exit: 0, out: `echoed ${echo.port}\n` })
    await checkBilled(() => relayedBy(proxy), before)
  })

  test('the npm package socks sends and receives datagrams with premium traffic, and the shop bills each byte', async () => {
    const user = await addUser()
    const before = echo.received.length
    const node = ['env', `NODE_PATH=${nodeModulesFolder}`, 'node', '-e', nodeSocks]
    const args = ['127.0.0.1', String(port), user.username, user.password, String(echo.port)]
    expect(await run(...node, ...args)).toMatchObject({ exit: 0, out: `echoed ${echo.port}\n` })
    await checkBilled(() => usedBy(service, user.subuser), before)
  })

  test('socksify of Dante sends and receives datagrams with premium traffic, and the shop bills each byte', async () => {
    const user = await addUser()
    const before = echo.received.length
    const route = `route {
      from: 0.0.0.0/0 to: 0.0.0.0/0 via: 127.0.0.1 port = ${port}
      protocol: tcp udp
      proxyprotocol: socks_v5
      command: connect udpassociate
      method: username
    }\n`
    const config = join(folder, 'socks.conf')
    writeFileSync(config, route)
    // By default Dante sends to addresses of this machine without the proxy.
    const login = [`SOCKS_USERNAME=${user.username}`, `SOCKS_PASSWORD=${user.password}`, `SOCKS_CONF=${config}`]
    login.push('SOCKS_AUTOADD_LANROUTES=no')
    const command = ['socksify', python, '-c', pythonClient, '127.0.0.1', String(echo.port)]
    expect(await run('env', ...login, ...command)).toMatchObject({ exit: 0, out: `echoed ${echo.port}\n` })
    await checkBilled(() => usedBy(service, user.subuser), before)
  })

  test('an HTTP/3 client sends and receives 660,001 bytes through an association, and the shop bills its datagrams', async () => {
    const user = await addUser()
    const association = await TestAssociation.open(port, user.username, user.password)
    const openPath = async (originPort: number, onAnswer: (payload: Uint8Array) => void) => {
      association.peer.onReceived = (bytes) => onAnswer(readDatagram(bytes).payload)
      return (payload: Uint8Array) => association.send('127.0.0.1', originPort, payload)
    }
    await checkHttp3(certificate, openPath, () => usedBy(service, user.subuser))
    association.close()
  })

  test('over TLS the gateway refuses UDP with reply 7, because the datagrams would not be encrypted', async () => {
    const user = await addUser()
    const client = await WireClient.connect(tlsPort, '127.0.0.1', undefined, true)
    const handshake = `\x05\x01\x02${socksLogin(user.username, user.password)}${associateRequest}`
    await client.send(Buffer.from(handshake, 'latin1'))
    await client.until(() => client.total >= 14)
    expect(client.kept.toString('hex')).toBe('0502010005070001000000000000')
    await client.reset()
  })

  test('blocking a sub-user ends its association within 2 s', async () => {
    const user = await addUser()
    const association = await TestAssociation.open(port, user.username, user.password)
    await association.mark(echo, 'open')
    const stopwatch = startStopwatch('sqlite')
    await service.post('/premium/subusers/update', { subuser_id: user.subuser, blocked: true })
    await association.control.readToEnd()
    expect(stopwatch.elapsedMs()).toBeLessThan(cutMs)
    association.close()
  })

  test('an association continues in the old process after a takeover, and new ones open in the new process', async () => {
    const user = await addUser()
    const before = echo.received.length
    const association = await TestAssociation.open(port, user.username, user.password)
    await association.mark(echo, 'before')
    const { ended } = await gateway.takeOver()
    await association.mark(echo, 'after')
    const other = await TestAssociation.open(port, user.username, user.password)
    await other.mark(echo, 'new')
    association.close()
    expect(await ended).toBe(0)
    await other.mark(echo, 'still open')
    other.close()
    await checkBilled(() => usedBy(service, user.subuser), before)
  })
})
