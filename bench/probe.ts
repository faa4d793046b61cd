import { LinuxEngine } from '../src/dataplane/gateway/engines/linux/engine.ts'
import { readCertificate } from '../src/dataplane/tls/certificate.ts'
import { makeEngineDeps } from '../test/harness/engine.ts'
import { type Probe, sendProbe } from '../test/harness/prober.ts'
import { selfSigned } from '../test/harness/self-signed.ts'
import { openTlsFront } from '../test/harness/tls-front.ts'
import type { Bench } from './context.ts'
import type { Row } from './report.ts'
import { median } from './statistics.ts'

const maxConnections = 1000
const samplesPerRound = 200
/** Four comparisons, each wrong once in a thousand runs by chance. */
const minP = 0.001

/** A site on the engine's TLS, with a gateway behind it or without. Prints its port. */
function serve(kind: string): void {
  const { deps, change, answerTo } = makeEngineDeps({})
  const certificate = readCertificate(selfSigned.cert, selfSigned.key)
  const onFault = (fault: unknown): void => console.error(fault)
  const engine = new LinuxEngine({ ...deps, reactors: 1 })
  answerTo(engine)
  engine.start({ hostname: '127.0.0.1', port: 0 })
  if (kind === 'gateway') engine.changed(change, onFault)
  const { front } = openTlsFront(engine, {
    certificate: () => certificate,
    max: maxConnections,
    site: { source: { kind: 'builtin' }, challengeHost: undefined, passwordKeys: [] },
  })
  console.log(front.port)
}

if (import.meta.main) serve(process.argv[2] ?? 'plain')

const login = (text: string): string => `Proxy-Authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`
const probeOf = (name: string, target: string, more: string): Probe => {
  const head = `${target} HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n${more}\r\n`
  return { name, alpn: ['http/1.1'], steps: [Buffer.from(head)], halfCloses: false }
}

const page = probeOf('GET', 'GET /', '')
/** `anna` is a customer of the gateway. */
const probes = [
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
      times[index].push((await sendProbe(port, probe)).firstByteMs)
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
  about: 'times of probes without credentials: Mann-Whitney U of a gateway and of a plain site on the same TLS threads',
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
    for (const each of probes) {
      const times = await compare({ port: gateway, probe: each }, { port: plain, probe: each }, count)
      rows.push(rowOf(`${each.name}: gateway, plain site`, times))
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
