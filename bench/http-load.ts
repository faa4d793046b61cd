/**
 * The load generator: open raw sockets, one request at a time on each. It runs in its own process, reads its plan from
 * standard input and writes the result to standard output, so that it shares nothing with the measured program.
 */
import type { Socket } from 'bun'
import { percentile } from './statistics.ts'

/** Ends after so many seconds or so many requests. `requests` are sent in turn, repeatedly. */
export type LoadPlan = {
  readonly port: number
  readonly connections: number
  readonly requests: readonly string[]
  readonly seconds?: number
  readonly count?: number
  /** The rate of all connections together; without it each sends as soon as it has an answer. */
  readonly perSecond?: number
}

export type LoadResult = {
  readonly answers: number
  readonly failures: number
  readonly firstFailure: string
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

type Connection = { sentMs: number; missingBytes: number; head: Buffer | undefined; failed: boolean }

/** The time limit of the last answers after the last request. */
const lastAnswersMs = 30_000

async function load(plan: LoadPlan): Promise<LoadResult> {
  const requests = plan.requests.map((text) => Buffer.from(text))
  const max = plan.count ?? Number.MAX_SAFE_INTEGER
  const tookMs: number[] = []
  const done = Promise.withResolvers<void>()
  let sent = 0
  let failures = 0
  let firstFailure = ''
  let idle = 0
  let lastMs = 0

  const startedMs = performance.now()
  const endMs = startedMs + (plan.seconds ?? 3600) * 1000

  function next(socket: Socket<Connection>): void {
    const nowMs = performance.now()
    if (nowMs >= endMs || sent >= max) {
      idle += 1
      socket.end()
      if (idle === plan.connections) done.resolve()
      return
    }
    const request = requests[sent % requests.length]
    sent += 1
    socket.data.sentMs = nowMs
    if (request) socket.write(request)
  }

  function finish(socket: Socket<Connection>): void {
    lastMs = performance.now()
    tookMs.push(lastMs - socket.data.sentMs)
    if (socket.data.failed) failures += 1
    socket.data.head = undefined
    const waitMs = plan.perSecond === undefined ? 0 : startedMs + (sent * 1000) / plan.perSecond - lastMs
    if (waitMs < 1) next(socket)
    else setTimeout(() => next(socket), waitMs)
  }

  function readChunk(socket: Socket<Connection>, chunk: Buffer): void {
    const state = socket.data
    if (state.missingBytes > 0) {
      state.missingBytes -= chunk.length
    } else {
      const head = state.head ? Buffer.concat([state.head, chunk]) : chunk
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) {
        state.head = Buffer.from(head)
        return
      }
      const text = head.toString('latin1', 0, end)
      const length = /content-length: (\d+)/i.exec(text)?.[1]
      state.failed = !text.startsWith('HTTP/1.1 200') || length === undefined
      if (state.failed && firstFailure === '') firstFailure = head.toString('utf8', 0, 2000)
      state.missingBytes = end + 4 + Number(length ?? 0) - head.length
    }
    if (state.missingBytes <= 0) finish(socket)
  }

  const connect = () =>
    Bun.connect<Connection>({
      hostname: '127.0.0.1',
      port: plan.port,
      data: { sentMs: 0, missingBytes: 0, head: undefined, failed: false },
      socket: {
        open: next,
        data: readChunk,
        close: () => {
          if (idle < plan.connections && performance.now() < endMs && sent < max) {
            done.reject(new Error('the server closed a connection'))
          }
        },
        error: (_, error) => done.reject(error),
      },
    })
  await Promise.all(Array.from({ length: plan.connections }, connect))
  const tooLate = setTimeout(
    () => done.reject(new Error('the last answers did not come')),
    Math.max(0, endMs - performance.now()) + lastAnswersMs,
  )
  await done.promise
  clearTimeout(tooLate)
  return {
    answers: tookMs.length,
    failures,
    firstFailure,
    perSecond: (tookMs.length * 1000) / (lastMs - startedMs),
    p50Ms: percentile(tookMs, 0.5),
    p99Ms: percentile(tookMs, 0.99),
  }
}

if (import.meta.main) {
  const plan = JSON.parse(await Bun.stdin.text()) as LoadPlan
  process.stdout.write(JSON.stringify(await load(plan)))
  process.exit(0)
}
