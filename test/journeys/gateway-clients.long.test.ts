import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realRuntime } from '../../src/app/shop/services.ts'
import { nodeModulesFolder } from '../harness/apt.ts'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import { run } from '../harness/clients.ts'
import { freePort, somePorts } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { type Service, startService } from '../harness/service.ts'
import { addUsers, type User, usedBy } from '../harness/traffic.ts'
import { basic } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'

/** The interpreter that has the modules of Debian's packages. */
const python = '/usr/bin/python3'
const downloadBytes = 3_000_000
/**
 * Bytes of each connection with TLS inside that a client may leave unread: alerts and session tickets that arrive after
 * the client has closed. They are not billed.
 */
const maxUnreadBytes = 4096

/** Downloads twice and uploads once with requests. */
const requests = `
import requests, sys
proxy, url, ca = sys.argv[1:]
with requests.Session() as session:
    session.verify = ca
    session.proxies = {'https': proxy}
    sizes = [len(session.get(url + 'large').content) for _ in range(2)]
    session.post(url + 'upload', data=b'x' * 1000000).raise_for_status()
    print(*sizes)
`

/** Downloads twice and uploads once with undici. */
const undici = `
const { readFileSync } = require('node:fs')
const { ProxyAgent, request } = require('undici')
const [uri, token, url, file] = process.argv.slice(1)
const ca = readFileSync(file)
const dispatcher = new ProxyAgent({ uri, token, requestTls: { ca }, proxyTls: { ca } })
const sizeOf = async (path, options) => {
  const { body } = await request(url + path, { dispatcher, ...options })
  return (await body.arrayBuffer()).byteLength
}
void (async () => {
  const sizes = [await sizeOf('large'), await sizeOf('large')]
  await sizeOf('upload', { method: 'POST', body: Buffer.alloc(1000000) })
  console.log(sizes.join(' '))
  await dispatcher.close()
})()
`

/** Opens 5 tunnels in one HTTP/2 connection with python3-h2, and downloads over plain HTTP/1.1 through each. */
const pythonH2 = `
import base64, collections, socket, ssl, sys
import h2.connection, h2.config, h2.events
host, port, username, password, origin = sys.argv[1:]
context = ssl._create_unverified_context()
context.set_alpn_protocols(['h2'])
wire = context.wrap_socket(socket.create_connection((host, int(port))))
wire.settimeout(120)
client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding='utf-8', validate_outbound_headers=False))
client.initiate_connection()
login = 'Basic ' + base64.b64encode((username + ':' + password).encode()).decode()
received, ended, opened = collections.Counter(), set(), set()
for stream in (1, 3, 5, 7, 9):
    client.send_headers(stream, [(':method', 'CONNECT'), (':authority', origin), ('proxy-authorization', login)])
wire.sendall(client.data_to_send())
while len(ended) < 5:
    data = wire.recv(65536)
    if not data: sys.exit('the gateway has closed the connection')
    for event in client.receive_data(data):
        if isinstance(event, h2.events.ResponseReceived):
            if dict(event.headers)[':status'] != '200': sys.exit('refused')
            request = 'GET /large HTTP/1.1\\r\\nHost: ' + origin + '\\r\\nConnection: close\\r\\n\\r\\n'
            client.send_data(event.stream_id, request.encode())
        elif isinstance(event, h2.events.DataReceived):
            received[event.stream_id] += len(event.data)
            client.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            ended.add(event.stream_id)
            client.end_stream(event.stream_id)
        elif isinstance(event, h2.events.StreamReset): sys.exit('reset')
    wire.sendall(client.data_to_send())
print(sum(received.values()))
`

/** Passes connections on to a port, and counts their bytes: what a tunnel through the gateway carries. */
function startCounter(to: number) {
  const counted = { bytes: 0, connections: 0 }
  const server: Server = createServer({ allowHalfOpen: true }, (client) => {
    counted.connections += 1
    const origin = connect({ port: to, host: '127.0.0.1', allowHalfOpen: true })
    for (const [from, into] of [
      [client, origin],
      [origin, client],
    ] as const) {
      from.on('data', (bytes) => void (counted.bytes += bytes.length))
      from.on('error', () => into.destroy())
      from.pipe(into)
    }
  })
  server.listen(0, '127.0.0.1')
  return { counted, port: (server.address() as AddressInfo).port, stop: () => server.close() }
}

describe('clients of the TLS port', () => {
  let service: Service
  let gateway: GatewayProcess
  let files: ReturnType<typeof putCertificate>
  let secure: HttpsServer
  let plain: Server
  let counter: ReturnType<typeof startCounter>
  let plainCounter: ReturnType<typeof startCounter>
  let url = ''
  const tlsPort = freePort()
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-clients-'))

  /** Serves /large, takes uploads, and serves the files of the folder `site`. */
  function serve(path: string): Buffer | undefined {
    if (path === '/large') return Buffer.alloc(downloadBytes, 'x')
    if (path === '/upload') return Buffer.from('ok')
    try {
      return readFileSync(join(folder, 'site', path))
    } catch {
      return undefined
    }
  }

  beforeAll(async () => {
    const port = freePort()
    const shop = { TURNPIKE_GATEWAY_PORT: String(port), TURNPIKE_PREMIUM_PORTS: somePorts() }
    service = await startService('sqlite', shop, realRuntime, false)
    const certificate = await makeCertificate('clients')
    files = putCertificate(certificate)
    gateway = await makeGatewayProcess(service, port, { ...files.env, TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort) })
    await gateway.start()
    secure = createHttpsServer(certificate, (request, response) => {
      request.resume()
      request.on('end', () => {
        const body = serve(new URL(request.url ?? '/', url).pathname)
        // With an origin that keeps connections open, apt does not end.
        const isApt = request.headers['user-agent']?.includes('APT')
        response.writeHead(body ? 200 : 404, {
          'Content-Length': body?.length ?? 0,
          ...(isApt && { Connection: 'close' }),
        })
        response.end(body)
      })
    })
    // Clients close first: one that closes with unread bytes sends a reset in place of its last acknowledgements.
    secure.keepAliveTimeout = 0
    secure.listen(0, '127.0.0.1')
    plain = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.end(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), serve('/large') ?? Buffer.alloc(0)]))
      })
    })
    plain.listen(0, '127.0.0.1')
    counter = startCounter((secure.address() as AddressInfo).port)
    plainCounter = startCounter((plain.address() as AddressInfo).port)
    url = `https://localhost:${counter.port}/`
  })
  afterAll(async () => {
    counter.stop()
    plainCounter.stop()
    secure.close()
    plain.close()
    await gateway.stop()
    gateway.remove()
    files.remove()
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const proxyOf = ({ username, password }: User): string => `https://${username}:${password}@localhost:${tlsPort}`

  /** Runs a client as a new sub-user, and checks that each byte that its tunnels carried was billed. */
  async function billedAs(
    act: (user: User) => Promise<void>,
    through = counter,
    maxUnread = maxUnreadBytes,
  ): Promise<void> {
    const [user] = await addUsers({ ...service, port: tlsPort }, 1, 1)
    if (!user) throw new Error('there is no sub-user')
    const before = { ...through.counted }
    await act(user)
    const carried = () => through.counted.bytes - before.bytes
    const unread = () => (through.counted.connections - before.connections) * maxUnread
    expect(carried()).toBeGreaterThan(0)
    const used = () => usedBy(service, user.subuser)
    expect(await untilTrue(async () => (await used()) >= carried() - unread())).toBe(true)
    expect(await used()).toBeLessThanOrEqual(carried())
  }

  test('curl downloads through the TLS port and is billed what its tunnel carried', () =>
    billedAs(async (user) => {
      const common = [
        'curl',
        '-q',
        '-sSf',
        '--proxy',
        proxyOf(user),
        '--proxy-cacert',
        files.cert,
        '--cacert',
        files.cert,
      ]
      const ran = await run(...common, '-o', '/dev/null', '-w', '%{size_download}', `${url}large`)
      expect(ran).toMatchObject({ exit: 0, out: String(downloadBytes) })
    }))

  test('requests of Python downloads and uploads through the TLS port and is billed what its tunnel carried', () =>
    billedAs(async (user) => {
      const ran = await run(python, '-c', requests, proxyOf(user), url, files.cert)
      expect(ran).toMatchObject({ exit: 0, out: `${downloadBytes} ${downloadBytes}\n` })
    }))

  test('undici downloads and uploads through the TLS port and is billed what its tunnel carried', () =>
    billedAs(async (user) => {
      const node = ['env', `NODE_PATH=${nodeModulesFolder}`, 'node', '-e', undici]
      const ran = await run(...node, `https://localhost:${tlsPort}`, basic(user), url, files.cert)
      expect(ran).toMatchObject({ exit: 0, out: `${downloadBytes} ${downloadBytes}\n` })
    }))

  test('python3-h2 downloads through 5 tunnels of one HTTP/2 connection and is billed what they carried', () =>
    billedAs(
      async ({ username, password }) => {
        const args = ['localhost', String(tlsPort), username, password, `127.0.0.1:${plainCounter.port}`]
        const ran = await run(python, '-c', pythonH2, ...args)
        const heads = 5 * 'HTTP/1.1 200 OK\r\n\r\n'.length
        expect(ran).toMatchObject({ exit: 0, out: `${5 * downloadBytes + heads}\n` })
      },
      plainCounter,
      0,
    ))

  test('nghttp accepts each frame of the site, and h2load gets 2,000 answers in 10 connections', async () => {
    const site = `https://localhost:${tlsPort}/`
    const asked = await run('nghttp', '-nv', '-m', '5', site)
    expect(asked).toMatchObject({ exit: 0 })
    expect(asked.out.match(/recv \(stream_id=\d+\) :status: 404/g)).toHaveLength(5)
    expect(asked.out).toContain('[SETTINGS_ENABLE_CONNECT_PROTOCOL(0x08):1]')
    expect(asked.out).not.toMatch(/PROTOCOL_ERROR|COMPRESSION_ERROR|FLOW_CONTROL_ERROR|RST_STREAM/)
    const loaded = await run('h2load', '-n', '2000', '-c', '10', '-m', '20', site)
    expect(loaded).toMatchObject({ exit: 0 })
    expect(loaded.out).toContain('2000 total, 2000 started, 2000 done')
    expect(loaded.out).toContain('0 errored, 0 timeout')
    expect(loaded.out).toContain('0 2xx, 0 3xx, 2000 4xx, 0 5xx')
  })

  test('git clones a repository through the TLS port and is billed what its tunnels carried', () =>
    billedAs(async (user) => {
      const [work, bare] = [join(folder, 'work'), join(folder, 'site', 'project.git')]
      mkdirSync(work, { recursive: true })
      writeFileSync(join(work, 'file'), Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * at) % 251)))
      const author = ['-c', 'user.name=test', '-c', 'user.email=test@localhost']
      for (const args of [
        ['-C', work, 'init', '-q'],
        ['-C', work, 'add', '.'],
        ['-C', work, ...author, 'commit', '-qm', 'one'],
        ['clone', '-q', '--bare', work, bare],
        ['-C', bare, 'update-server-info'],
      ])
        expect(await run('git', ...args)).toMatchObject({ exit: 0 })
      const proxy = ['-c', `http.proxy=${proxyOf(user)}`, '-c', `http.proxySSLCAInfo=${files.cert}`]
      // Without the method, git sends the login only after a 407.
      const options = [...proxy, '-c', 'http.proxyAuthMethod=basic', '-c', `http.sslCAInfo=${files.cert}`]
      const ran = await run('git', ...options, 'clone', '-q', `${url}project.git`, join(folder, 'cloned'))
      expect(ran).toMatchObject({ exit: 0 })
      expect(readFileSync(join(folder, 'cloned', 'file')).equals(readFileSync(join(work, 'file')))).toBe(true)
    }))

  test('apt-get updates its lists through the TLS port and is billed what its tunnels carried', () =>
    billedAs(async (user) => {
      const apt = join(folder, 'apt')
      for (const each of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(apt, each), { recursive: true })
      mkdirSync(join(folder, 'site'), { recursive: true })
      const packages = Array.from({ length: 5000 }, (_, index) => `Package: p${index}\nVersion: 1\nArchitecture: all\n`)
      const list = packages.join('\n')
      const digest = new Bun.CryptoHasher('sha256').update(list).digest('hex')
      // Without a Release file apt tries every compression, with pauses.
      const release = `Date: ${new Date().toUTCString()}\nSHA256:\n ${digest} ${list.length} Packages\n`
      writeFileSync(join(folder, 'site', 'Packages'), list)
      writeFileSync(join(folder, 'site', 'Release'), release)
      writeFileSync(join(apt, 'sources.list'), `deb [trusted=yes] ${url} ./\n`)
      const options = {
        'Dir::Etc::SourceList': join(apt, 'sources.list'),
        'Dir::Etc::SourceParts': '/dev/null',
        'Dir::State::Lists': join(apt, 'lists'),
        'Dir::Cache': join(apt, 'cache'),
        'APT::Sandbox::User': 'root',
        'Acquire::https::Proxy': proxyOf(user),
        'Acquire::https::CAInfo': files.cert,
        'Acquire::Languages': 'none',
      }
      const args = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
      const ran = await run('apt-get', ...args, '-q', 'update')
      expect(ran).toMatchObject({ exit: 0, out: expect.stringMatching(/Get:\d+ \S+ \.\/ Packages/), err: '' })
    }))
})
