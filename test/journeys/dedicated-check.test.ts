import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { engines } from '../harness/database.ts'
import { addStock, applyCatalogue, shippedWith } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

/** A gateway in small: HTTP CONNECT only, and it asks the shop itself whom to let in. */
function startGateway(letIn: (username: string, password: string) => Promise<boolean>): Promise<Server> {
  const answer = async (socket: Socket, head: string): Promise<void> => {
    const [, host = '', port = ''] = /^CONNECT ([^:]+):(\d+) /.exec(head) ?? []
    const basic = /Proxy-Authorization: Basic (\S+)/.exec(head)?.[1] ?? ''
    const [username = '', password = ''] = Buffer.from(basic, 'base64').toString().split(':')
    if (!(await letIn(username, password))) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      return
    }
    const far = connect(Number(port), host)
    far.on('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(far).pipe(socket)
    })
    far.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
  }
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (head: Uint8Array) => void answer(socket, Buffer.from(head).toString()))
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

describe.each([...engines])('over HTTP on %s', (engine) => {
  let service: Service
  let gateway: Server
  beforeAll(async () => {
    gateway = await startGateway(async (username, password) => {
      const known = await service.services.dedicatedUpkeep.findCredential(username)
      const digest = new Bun.CryptoHasher('sha256').update(password).digest('hex')
      const open = known?.state === 'active' && known.portType === 'http' && service.clock.nowMs < known.expiresAt
      return open && known.passwordDigest.toHex() === digest
    })
    const address = gateway.address()
    const port = typeof address === 'object' && address ? address.port : 0
    service = await startService(engine, { TURNPIKE_GATEWAY_PORT: String(port) })
  })
  afterAll(async () => {
    expect(await findingsOf(service.services)).toEqual([])
    await service.stop()
    gateway.close()
  })

  test('a proxy works the moment it is bought, until it expires, and again once it is prolonged', async () => {
    const wish = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
    const { data } = await service.post('/dedicated/buy', wish)
    const [proxy] = data.proxies
    const check = async () => (await service.post('/dedicated/check', { id: proxy.id })).data
    const works = await check()
    expect(works).toMatchObject({ id: proxy.id, works: true, problem: null })
    expect(works.took_ms).toBeGreaterThanOrEqual(0)
    service.clock.nowMs = Date.parse(proxy.expires_at)
    expect(await check()).toMatchObject({ works: false, took_ms: null, problem: 'the gateway answered 407' })
    await service.post('/dedicated/prolong', { ids: [proxy.id], period: 3 })
    expect(await check()).toMatchObject({ works: true })
    await service.post('/dedicated/protocol', { ids: [proxy.id], port_type: 'socks' })
    expect(await check()).toMatchObject({ works: false })
  })

  test('500 buyers of one each for 50 addresses: exactly 50 get one', async () => {
    await applyCatalogue(service.services, shippedWith('AT'))
    for (const prefix of ['127.60.0.0/27', '127.60.0.32/28', '127.60.0.48/31']) {
      await addStock(service.services, prefix, 'AT', 4)
    }
    const buyers = await Promise.all(Array.from({ length: 25 }, () => service.newCustomer(10_000n)))
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, index) =>
        service.post(
          '/dedicated/buy',
          { country_code: 'AT', period: 7, count: 1, ipv: 4 },
          { token: buyers[index % buyers.length]?.token ?? '', key: `race-${index}` },
        ),
      ),
    )
    const sold = answers.filter((each) => each.status === 200)
    expect(sold).toHaveLength(50)
    expect(answers.filter((each) => each.error?.code === 'out_of_stock')).toHaveLength(450)
    expect(new Set(sold.map((each) => each.data.proxies[0].exit_ip)).size).toBe(50)
  })
})
