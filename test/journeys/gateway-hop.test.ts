import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createSign, makeHopKey } from '../../src/dataplane/agent/hop-key.ts'
import { createTicketWriter } from '../../src/dataplane/gateway/access/hop.ts'
import type { NodeExit } from '../../src/node-protocol/state.ts'
import { makeCertificate } from '../harness/certificates.ts'
import { someExit } from '../harness/desired.ts'
import { passwordOf, type TestGateway, until } from '../harness/engine.ts'
import { type HopGatewayNames, nameGateway, openHopGateway, type TestHopGateway } from '../harness/hop-gateway.ts'
import { sendRaw } from '../harness/raw.ts'
import { attempt, openTunnel, startEcho } from '../harness/tunnel.ts'

/** One exit per gateway, each in its own city. */
const exits: readonly NodeExit[] = [
  someExit({ id: 'ext_a', host: '127.101.0.1', city: 'here', node: 'nod_a' }),
  someExit({ id: 'ext_b', host: '127.102.0.1', city: 'there', node: 'nod_b' }),
]

describe.each(['the plain port', 'TLS'] as const)('hops between two gateways over %s', (over) => {
  const reports: string[] = []
  let names: { readonly a: HopGatewayNames; readonly b: HopGatewayNames }
  let a: TestHopGateway
  let b: TestHopGateway
  let echo: ReturnType<typeof startEcho>
  const open = (name: 'a' | 'b'): TestHopGateway =>
    openHopGateway(names[name], {
      exits,
      gateways: [names.a.gateway, names.b.gateway],
      onExit: ({ id, isUp, reason }) => void reports.push(`${name} ${id} ${isUp ? 'up' : `down: ${reason}`}`),
    })
  beforeAll(async () => {
    const certificateOf = async (name: string) => (over === 'TLS' ? await makeCertificate(name) : undefined)
    names = { a: nameGateway('a', await certificateOf('a')), b: nameGateway('b', await certificateOf('b')) }
    echo = startEcho()
    a = open('a')
    b = open('b')
    await until(() => reports.includes('a ext_b up') && reports.includes('b ext_a up'))
  })
  afterAll(async () => {
    echo.stop()
    await Promise.all([a.stop(), b.stop()])
  })

  const as = (parts: string) => ({ username: `pavel-pool-residential${parts}`, password: passwordOf('pavel') })
  const at = (gateway: TestGateway) => ({ host: '127.0.0.1', port: gateway.port })
  const relayed = (gateway: TestGateway) => gateway.engine.dataPath.health.hopBytes ?? 0

  // The first test, because it expects all counters at 0.
  test('a hop counts 100,000 bytes for the customer at the entry and as relayed at the exit gateway', async () => {
    const countOf = (gateway: TestGateway) => gateway.engine.dataPath.takeChanged().subusers.at(-1)
    expect([countOf(a), countOf(b), relayed(a), relayed(b)]).toEqual([undefined, undefined, 0, 0])
    const tunnel = await openTunnel('http', at(a), as('-city-there'), echo.spot)
    await tunnel.echo('x'.repeat(50_000))
    tunnel.close()
    for (const gateway of [a, b]) await until(() => gateway.engine.status.open === 0)
    const bytes = 50_000
    let now = { received: 0, sent: 0 }
    await until(() => {
      now = countOf(a) ?? now
      return now.sent >= bytes && now.received >= bytes
    })
    expect(now).toMatchObject({ sent: bytes, received: bytes })
    await until(() => relayed(b) >= 2 * bytes)
    expect([relayed(a), relayed(b), countOf(b)]).toEqual([0, 2 * bytes, undefined])
  })

  test('either gateway relays a login through the exits of both', async () => {
    for (const protocol of ['http', 'socks'] as const) {
      for (const [city, from] of [
        ['here', '127.101.0.1'],
        ['there', '127.102.0.1'],
      ] as const) {
        for (const gateway of [a, b]) {
          const tunnel = await openTunnel(protocol, at(gateway), as(`-city-${city}`), echo.spot)
          expect(await tunnel.echo('x'.repeat(100_000))).toHaveLength(100_000)
          expect(echo.sources.at(-1)).toBe(from)
          tunnel.close()
        }
      }
    }
  })

  test('a gateway prefers its own exits, and both gateways give a session the same exit', async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      for (const [gateway, from] of [
        [a, '127.101.0.1'],
        [b, '127.102.0.1'],
      ] as const) {
        const tunnel = await openTunnel('http', at(gateway), as(''), echo.spot)
        await tunnel.echo('x')
        expect(echo.sources.at(-1)).toBe(from)
        tunnel.close()
      }
    }
    for (const name of ['one', 'two', 'three', 'four']) {
      const seen = new Set<string | undefined>()
      for (const gateway of [a, b]) {
        const tunnel = await openTunnel('http', at(gateway), as(`-session-${name}`), echo.spot)
        await tunnel.echo('x')
        seen.add(echo.sources.at(-1))
        tunnel.close()
      }
      expect(seen.size).toBe(1)
    }
  })

  /** Sends gateway B a hop as gateway A would, with the given fields changed. */
  async function hop(change: {
    exit?: string
    target?: string
    signedFor?: string
    key?: HopGatewayNames['key']
    skewMs?: number
  }) {
    const write = createTicketWriter({
      self: 'nod_a',
      clock: () => Date.now() + (change.skewMs ?? 0),
      nonce: () => crypto.getRandomValues(new Uint8Array(16)).toHex(),
      sign: createSign((change.key ?? names.a.key).privateKey),
    })
    const spot = change.target ?? `127.0.0.1:${echo.spot.port}`
    const [host = '', port = ''] = (change.signedFor ?? spot).split(/:(?=\d+$)/)
    const ticket = write('nod_b', change.exit ?? 'ext_b', { host: host.replace(/^\[|\]$/g, ''), port: Number(port) })
    return connectWith(ticket, spot)
  }
  async function connectWith(ticket: string, spot: string): Promise<string> {
    const request = `CONNECT ${spot} HTTP/1.1\r\nProxy-Authorization: Turnpike-Hop ${ticket}\r\n\r\n`
    const [answer] = await sendRaw(b.port, [request])
    return /X-Turnpike-Error: (\w+)/.exec(answer?.head ?? '')?.[1] ?? String(answer?.status)
  }

  test('a gateway refuses a hop ticket with a wrong key, target, time or format', async () => {
    const seen = echo.sources.length
    expect(await hop({ key: makeHopKey() })).toBe('hop_refused')
    expect(await hop({ signedFor: '203.0.113.7:443' })).toBe('hop_refused')
    expect(await hop({ skewMs: -60_000 })).toBe('hop_late')
    expect(await hop({ skewMs: 60_000 })).toBe('hop_late')
    expect(await connectWith('nonsense', '127.0.0.1:80')).toBe('hop_refused')
    expect(echo.sources.length).toBe(seen)
  })

  test('a gateway refuses a hop to another gateway’s exit and to denied destinations', async () => {
    const seen = echo.sources.length
    expect(await hop({ exit: 'ext_a' })).toBe('no_exit')
    expect(await hop({ exit: 'ext_nobody' })).toBe('no_exit')
    for (const target of ['10.0.0.1:80', '169.254.169.254:80', '192.168.1.1:443']) {
      expect(await hop({ target })).toBe('destination_not_public')
    }
    expect(await hop({ target: '127.0.0.1:25' })).toBe('port_denied')
    expect(echo.sources.length).toBe(seen)
  })

  test('a gateway closes the hops of a revoked gateway and refuses new ones', async () => {
    const tunnel = await openTunnel('http', at(a), as('-city-there'), echo.spot)
    expect(await tunnel.echo('hello')).toBe('hello')
    b.change({ gateways: [{ ...names.a.gateway, state: 'gone' }] })
    await tunnel.closedAt
    expect(await hop({})).toBe('hop_refused')
    expect((await attempt('http', at(a), as('-city-there'), echo.spot)).status).toBe(502)
    await until(() => reports.some((report) => report.startsWith('a ext_b down: its gateway does not take our hop')))
    expect(await attempt('http', at(a), as('-city-there'), echo.spot)).toMatchObject({ code: 'no_exit' })
    expect(await attempt('http', at(a), as(''), echo.spot)).toMatchObject({ status: 200 })
    b.change({ gateways: [names.a.gateway] })
  })
})
