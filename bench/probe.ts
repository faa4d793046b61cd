import { LinuxEngine } from '../src/dataplane/gateway/engines/linux/engine.ts'
import { clientPreface, toGoaway, toHeaders, toSettings } from '../src/dataplane/gateway/ways-in/http2/frames.ts'
import { encodeFields, type Field } from '../src/dataplane/gateway/ways-in/http2/hpack.ts'
import { readCertificate } from '../src/dataplane/tls/certificate.ts'
import type { NodeDevice } from '../src/node-protocol/state.ts'
import { makeEngineDeps } from '../test/harness/engine.ts'
import { type Probe, sendProbe } from '../test/harness/prober.ts'
import { selfSigned } from '../test/harness/self-signed.ts'
import { openTlsFront } from '../test/harness/tls-front.ts'
import type { Bench } from './context.ts'
import type { Row } from './report.ts'
import { median } from './statistics.ts'

const maxConnections = 1000
const samplesPerRound = 200
/** Each comparison is wrong once in a thousand runs by chance. */
const minP = 0.001

/** VPN devices of the gateway, whose keys no probe has. */
const devices: readonly NodeDevice[] = Array.from({ length: 1000 }, (_, index) => {
  const digestOf = (text: string): string => new Bun.SHA256().update(`${text} ${index}`).digest('hex')
  return {
    id: `vpn_probe_${index}`,
    vless: digestOf('vless'),
    trojan: digestOf('trojan'),
    password: digestOf('password'),
    state: 'up',
    expires_at: Date.now() + 86_400_000,
    speed_mbit: null,
    owner: index.toString(16).padStart(16, '0'),
  }
})

/** A site on the engine's TLS, with a gateway behind it or without. Prints its port. */
function serve(kind: string): void {
  const { deps, change, answerTo } = makeEngineDeps({})
  const certificate = readCertificate(selfSigned.cert, selfSigned.key)
  const onFault = (fault: unknown): void => console.error(fault)
  const engine = new LinuxEngine({ ...deps, reactors: 1 })
  answerTo(engine)
  engine.start({ hostname: '127.0.0.1', port: 0 })
  if (kind === 'gateway') {
    engine.changed(change, onFault)
    engine.changed(
      deps.snapshot.apply({ proxies: [], subusers: [], exits: [], gateways: [], devices: [...devices] }),
      onFault,
    )
  }
  const { front } = openTlsFront(engine, {
    certificate: () => certificate,
    max: maxConnections,
    site: { source: { kind: 'builtin' }, challengeHost: undefined, passwordKeys: [], hasDevices: kind === 'gateway' },
  })
  console.log(front.port)
}

if (import.meta.main) serve(process.argv[2] ?? 'plain')

const login = (text: string): string => `Proxy-Authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`
const probeOf = (name: string, target: string, more: string): Probe => {
  const head = `${target} HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n${more}\r\n`
  return { name, alpn: ['http/1.1'], steps: [Buffer.from(head)], halfCloses: false }
}

/** Bytes that are no HTTP, or a request as it is. */
const bytesOf = (name: string, text: string): Probe => ({
  name,
  alpn: ['http/1.1'],
  steps: [Buffer.from(text, 'latin1')],
  halfCloses: true,
})
/** `title`: where the name tells how an answer ends. */
type TimedProbe = Probe & { readonly title?: string }
const http2Of = (title: string, fields: readonly Field[]): TimedProbe => ({
  title,
  name: 'h2',
  alpn: ['h2'],
  steps: [
    Buffer.concat([clientPreface, toSettings({}), toHeaders(1, encodeFields(fields), false)]),
    toGoaway(0, 'none'),
  ],
  halfCloses: false,
})

const devicePath = `/${'0123abcd'.repeat(4)}`
const padded = `Referer: https://site.example/?x_padding=${'X'.repeat(300)}\r\n`
const upgrade = 'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const wrongDevice: Field = ['proxy-authorization', `Basic ${Buffer.from('vpn_probe_1:wrong').toString('base64')}`]
const vlessHead = (version: string): string => `${version}${'k'.repeat(16)}\x00\x01\x01\xbb\x02\x09a.example`
const trojanHead = (digit: string): string => `${digit.repeat(56)}\r\n\x01\x03\x09a.example\x01\xbb\r\n`

/** Every VPN way in with a key that no device has. */
const vpnProbes: readonly TimedProbe[] = [
  bytesOf('VLESS', vlessHead('\x00')),
  bytesOf('Trojan', trojanHead('a')),
  probeOf('WebSocket', `GET ${devicePath}`, upgrade),
  probeOf('XHTTP', `GET ${devicePath}/11111111-2222-4333-8444-555555555555`, padded),
  http2Of('XHTTP over HTTP/2', [
    [':method', 'POST'],
    [':scheme', 'https'],
    [':path', `${devicePath}/11111111-2222-4333-8444-555555555555/0`],
    [':authority', 'site.example'],
    ['content-length', '0'],
    ['referer', `https://site.example/?x_padding=${'X'.repeat(300)}`],
  ]),
  http2Of('TrustTunnel', [[':method', 'CONNECT'], [':authority', '_check'], wrongDevice]),
  http2Of('NaïveProxy', [
    [':method', 'CONNECT'],
    [':authority', 'example.com:443'],
    wrongDevice,
    ['padding', '~'.repeat(20)],
  ]),
]

/** Bytes that look like a key and are looked up, and such that do not. */
const keyLike = [
  ['VLESS', bytesOf('VLESS', vlessHead('\x00')), bytesOf('other', vlessHead('\x01'))],
  ['Trojan', bytesOf('Trojan', trojanHead('a')), bytesOf('other', trojanHead('g'))],
] as const

const page = probeOf('GET', 'GET /', '')
/** `anna` is a customer of the gateway. */
const probes: readonly TimedProbe[] = [
  page,
  probeOf('GET, wrong password of a customer', 'GET /', login('anna:wrong')),
  probeOf('CONNECT, unknown login', 'CONNECT example.com:443', login('nobody:nothing')),
]

/** Two-sided p of the Mann-Whitney U test (normal approximation): whether two samples are of one distribution. */
function mannWhitney(a: readonly number[], b: readonly number[]): number {
  const all = [...a.map((value) => ({ value, isA: true })), ...b.map((value) => ({ value, isA: false }))]
  all.sort((x, y) => x.value - y.value)
  const rankSum = all.reduce((sum, { isA }, index) => (isA ? sum + index + 1 : sum), 0)
  const u = rankSum - (a.length * (a.length + 1)) / 2
  const deviation = Math.sqrt((a.length * b.length * (a.length + b.length + 1)) / 12)
  const z = Math.abs(u - (a.length * b.length) / 2) / deviation
  return Math.min(1, erfc(z / Math.SQRT2))
}

/** Complementary error function, with an error below 1.2e-7 (Numerical Recipes). */
function erfc(x: number): number {
  const t = 1 / (1 + x / 2)
  const terms = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587]
  const sum = [...terms, -0.82215223, 0.17087277].reduceRight((rest, term) => term + t * rest, 0)
  return t * Math.exp(-x * x + sum)
}

type Side = { readonly port: number; readonly probe: Probe }

/** Interleaved samples in random order, so that the load of the machine is the same for both. */
async function compare(a: Side, b: Side, count: number): Promise<[number[], number[]]> {
  const times: [number[], number[]] = [[], []]
  for (let sample = 0; sample < count; sample += 1) {
    const order = Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)
    for (const index of order) {
      const { port, probe } = index === 0 ? a : b
      const { firstByteMs, text } = await sendProbe(port, probe)
      if (Number.isNaN(firstByteMs)) throw new Error(`${probe.name} at port ${port} was not answered: ${text}`)
      times[index].push(firstByteMs)
    }
  }
  return times
}

function rowOf(what: string, [ours, theirs]: [number[], number[]]): Row {
  const p = mannWhitney(ours, theirs)
  const microseconds = (values: readonly number[]): string => `${Math.round(median(values) * 1000)} µs`
  const figure = `p = ${p.toFixed(3)} (${microseconds(ours)}, ${microseconds(theirs)})`
  return { what, figure, target: `p ≥ ${minP}`, met: p >= minP, rounds: [p] }
}

/** Whether a prober can tell a gateway from a plain site by the time from a request to the first byte of the answer. */
export const probe: Bench = {
  name: 'probe',
  about:
    'times of probes without credentials by every way in: Mann-Whitney U of a gateway with VPN devices and a plain site',
  async run(context) {
    const start = async (kind: string): Promise<number> => {
      const child = Bun.spawn([process.execPath, import.meta.path, kind], { stdout: 'pipe', stderr: 'inherit' })
      context.stage.atEnd(() => child.kill())
      const { value } = await child.stdout.getReader().read()
      return Number(Buffer.from(value ?? []).toString())
    }
    const [gateway, plain] = [await start('gateway'), await start('plain')]
    const count = samplesPerRound * context.rounds
    await compare({ port: gateway, probe: page }, { port: plain, probe: page }, samplesPerRound / 2)
    const rows: Row[] = []
    for (const each of [...probes, ...vpnProbes]) {
      const times = await compare({ port: gateway, probe: each }, { port: plain, probe: each }, count)
      rows.push(rowOf(`${each.title ?? each.name}: gateway, plain site`, times))
    }
    for (const [name, one, other] of keyLike) {
      const times = await compare({ port: gateway, probe: one }, { port: gateway, probe: other }, count)
      rows.push(rowOf(`gateway: ${name}, and other bytes with the same answer`, times))
    }
    const [wrong, other] = [
      login('anna:wrong'),
      login('anna:wrong').replace('Proxy-Authorization', 'X-Request-Signature'),
    ]
    const own = await compare(
      { port: gateway, probe: probeOf('GET', 'GET /', wrong) },
      { port: gateway, probe: probeOf('GET', 'GET /', other) },
      count,
    )
    return [...rows, rowOf('gateway: GET with a wrong password, with another field of the same length', own)]
  },
}
