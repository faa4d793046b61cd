import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { realRuntime } from '../../src/app/shop/services.ts'
import { type Made, makeCertificate, putCertificate } from '../harness/certificates.ts'
import { run } from '../harness/clients.ts'
import { ConnectUdpClient, udpPath, udpRequest } from '../harness/connect-udp.ts'
import { freePort, somePorts } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { checkHttp3 } from '../harness/http3.ts'
import { type Service, startService } from '../harness/service.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { addUsers, type User, usedBy } from '../harness/traffic.ts'
import { basic } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { startUdpEcho, type UdpPeer } from '../harness/udp.ts'

/** Longest time from a block until the last datagram. */
const cutMs = 2000

/** The interpreter that has the modules of Debian's packages. */
const python = '/usr/bin/python3'

/** Sends datagrams of 1 to 1,400 bytes with extended CONNECT of python3-h2, each again until its echo has come back. */
const pythonH2 = `
import socket, ssl, sys
import h2.connection, h2.config, h2.events, h2.settings
host, port, login, echo = sys.argv[1:]
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
context.set_alpn_protocols(['h2'])
wire = context.wrap_socket(socket.create_connection((host, int(port))))
wire.settimeout(5)
h2c = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding='utf-8', validate_outbound_headers=False))
h2c.initiate_connection()
wire.sendall(h2c.data_to_send())
received = bytearray()
state = {'settings': False, 'status': None}

def pump():
    for event in h2c.receive_data(wire.recv(65536)):
        if isinstance(event, h2.events.RemoteSettingsChanged): state['settings'] = True
        elif isinstance(event, h2.events.ResponseReceived): state['status'] = dict(event.headers)[':status']
        elif isinstance(event, h2.events.DataReceived):
            received.extend(event.data)
            h2c.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, (h2.events.StreamReset, h2.events.StreamEnded, h2.events.ConnectionTerminated)):
            sys.exit('the gateway has ended the stream')
    wire.sendall(h2c.data_to_send())

while not state['settings']: pump()
assert h2c.remote_settings[h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL] == 1
stream = h2c.get_next_available_stream_id()
h2c.send_headers(stream, [(':method', 'CONNECT'), (':protocol', 'connect-udp'), (':scheme', 'https'),
    (':path', '/.well-known/masque/udp/127.0.0.1/' + echo + '/'), (':authority', host), ('capsule-protocol', '?1'),
    ('proxy-authorization', login)])
wire.sendall(h2c.data_to_send())
while state['status'] is None: pump()
assert state['status'] == '200', state['status']
for size in range(1, 1400, 100):
    payload = bytes([size % 251]) * size
    length = size + 1
    value = length.to_bytes(1, 'big') if length < 64 else (0x4000 | length).to_bytes(2, 'big')
    capsule = b'\\0' + value + b'\\0' + payload
    while not received.endswith(capsule):
        h2c.send_data(stream, capsule)
        wire.sendall(h2c.data_to_send())
        try:
            while not received.endswith(capsule): pump()
        except socket.timeout:
            pass
print('echoed')
h2c.end_stream(stream)
wire.sendall(h2c.data_to_send())
`

describe('connect-udp over TLS', () => {
  let service: Service
  let gateway: GatewayProcess
  let echo: UdpPeer
  let certificate: Made
  let files: ReturnType<typeof putCertificate>
  let port = 0
  const tlsPort = freePort()
  const sessions: ClientHttp2Session[] = []

  beforeAll(async () => {
    port = freePort()
    const shop = { TURNPIKE_GATEWAY_PORT: String(port), TURNPIKE_PREMIUM_PORTS: somePorts() }
    service = await startService('sqlite', shop, realRuntime, false)
    certificate = await makeCertificate('connect-udp')
    files = putCertificate(certificate)
    gateway = await makeGatewayProcess(service, port, {
      ...files.env,
      TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
    })
    await gateway.start()
    echo = await startUdpEcho()
  })
  afterAll(async () => {
    for (const session of sessions) session.destroy()
    echo.stop()
    await gateway.stop()
    gateway.remove()
    files.remove()
    await service.stop()
  })

  const addUser = async (): Promise<User> => {
    const [user] = await addUsers({ ...service, port }, 1, 1)
    if (!user) throw new Error('there is no sub-user')
    return user
  }
  const tls = () => ({ ca: readFileSync(files.cert), checkServerIdentity: () => undefined })

  async function openHttp1(user: User, host = '127.0.0.1', to = echo.port): Promise<ConnectUdpClient> {
    const socket = connectTls({ ...tls(), host: '127.0.0.1', port: tlsPort, ALPNProtocols: ['http/1.1'] })
    const head = Promise.withResolvers<Buffer>()
    socket.on('error', head.reject)
    socket.on('close', () => head.reject(new Error('the gateway closed the connection before its answer')))
    let read = Buffer.alloc(0)
    const onData = (bytes: Buffer): void => {
      read = Buffer.concat([read, bytes])
      if (read.includes('\r\n\r\n')) head.resolve(read)
    }
    socket.on('data', onData)
    socket.write(udpRequest(host, to, `Proxy-Authorization: ${basic(user)}`))
    const answer = await head.promise
    socket.off('data', onData)
    const end = answer.indexOf('\r\n\r\n') + 4
    return ConnectUdpClient.of(Number(answer.toString('latin1', 9, 12)), socket, answer.subarray(end))
  }

  function openSession(): ClientHttp2Session {
    const session = connect(`https://127.0.0.1:${tlsPort}`, tls())
    session.on('error', () => {})
    sessions.push(session)
    return session
  }

  async function openStream(session: ClientHttp2Session, user: User, host = '127.0.0.1', to = echo.port) {
    const stream = session.request({
      ':method': 'CONNECT',
      ':protocol': 'connect-udp',
      ':scheme': 'https',
      ':authority': `127.0.0.1:${tlsPort}`,
      ':path': udpPath(host, to),
      'capsule-protocol': '?1',
      'proxy-authorization': basic(user),
    })
    const answered = Promise.withResolvers<number>()
    stream.on('error', answered.reject)
    stream.once('close', () => answered.reject(new Error('the gateway ended the stream before its answer')))
    stream.once('response', (fields) => answered.resolve(fields[':status'] ?? 0))
    return ConnectUdpClient.of(await answered.promise, stream)
  }

  const ways = [
    ['HTTP/1.1', 101, openHttp1],
    ['HTTP/2', 200, (user: User, host?: string, to?: number) => openStream(openSession(), user, host, to)],
  ] as const

  /** Everything that the echo has received has been billed twice: there and back. */
  async function checkBilled(user: User, before: number): Promise<void> {
    const echoed = () => echo.received.slice(before).reduce((sum, { bytes }) => sum + 2 * bytes.length, 0)
    await untilTrue(async () => (await usedBy(service, user.subuser)) === echoed())
    expect(await usedBy(service, user.subuser)).toBe(echoed())
  }

  test.each(ways)(
    'datagrams of 0 to 60,000 bytes pass over %s, and the shop bills each byte',
    async (_, status, open) => {
      const user = await addUser()
      const before = echo.received.length
      const udp = await open(user)
      expect(udp.status).toBe(status)
      udp.send('')
      for (const length of [1, 62, 63, 64, 1400, 16_383, 60_000]) await udp.mark('x'.repeat(length))
      await checkBilled(user, before)
    },
  )

  test('30 connect-udp streams of three users in one HTTP/2 connection are billed apart', async () => {
    const users = await Promise.all([addUser(), addUser(), addUser()])
    const session = openSession()
    const relay = async (user: User, index: number): Promise<void> => {
      const texts = Array.from({ length: 10 }, (_, count) => `${index} ${count} `.repeat(50))
      await Promise.all(texts.map(async (text) => (await openStream(session, user)).mark(text)))
      const relayed = () => echo.texts.filter((text) => texts.includes(text)).join('').length * 2
      const used = () => usedBy(service, user.subuser)
      await untilTrue(async () => (await used()) === relayed())
      expect(await used()).toBe(relayed())
    }
    await Promise.all(users.map(relay))
  })

  test.each(ways)(
    'an HTTP/3 client sends and receives 660,001 bytes through connect-udp over %s, and the shop bills its datagrams',
    async (_, status, open) => {
      const user = await addUser()
      const openPath = async (originPort: number, onAnswer: (payload: Uint8Array) => void) => {
        const udp = await open(user, '127.0.0.1', originPort)
        expect(udp.status).toBe(status)
        udp.onAnswer = onAnswer
        return (payload: Uint8Array) => udp.send(payload)
      }
      await checkHttp3(certificate, openPath, () => usedBy(service, user.subuser))
    },
  )

  test('python3-h2 sees SETTINGS_ENABLE_CONNECT_PROTOCOL, sends and receives, and the shop bills each byte', async () => {
    const user = await addUser()
    const before = echo.received.length
    const args = ['127.0.0.1', String(tlsPort), basic(user), String(echo.port)]
    expect(await run(python, '-c', pythonH2, ...args)).toMatchObject({ exit: 0, out: 'echoed\n' })
    await checkBilled(user, before)
  })

  test.each(ways)(
    'a denied destination is refused over %s, and a wrong password gets the site',
    async (way, _status, open) => {
      const user = await addUser()
      expect((await open(user, '10.0.0.1')).status).toBe(403)
      expect((await open(user, '127.0.0.1', 11_211)).status).toBe(403)
      expect((await open({ ...user, password: 'wrong' })).status).toBe(way === 'HTTP/2' ? 405 : 404)
    },
  )

  test.each(ways)('a malformed capsule over %s ends its stream', async (_, _status, open) => {
    const udp = await open(await addUser())
    await udp.mark('open')
    udp.stream.send(Uint8Array.of(0x17, 2, 1, 1, 0, 3, 2, 1, 1))
    await udp.mark('unknown type and context')
    udp.stream.send(Uint8Array.of(0, 0))
    await untilTrue(() => udp.stream.isOver)
  })

  test.each(ways)('blocking a sub-user ends its stream over %s within 2 s', async (_, _status, open) => {
    const user = await addUser()
    const udp = await open(user)
    await udp.mark('open')
    const stopwatch = startStopwatch('sqlite')
    await service.post('/premium/subusers/update', { subuser_id: user.subuser, blocked: true })
    await untilTrue(() => udp.stream.isOver)
    expect(stopwatch.elapsedMs()).toBeLessThan(cutMs)
  })
})
