/**
 * Runs a test's actions inside a network namespace: the VPN node, an origin, a customer's program. It reads and writes
 * one JSON object per line, and ends with its input.
 */

import { shippedConnectionLimits } from '../../src/app/settings/vpn.ts'
import type { ConnectionLimits } from '../../src/dataplane/wireguard/firewall.ts'
import { openWireguardNode, type WireguardNode } from '../../src/dataplane/wireguard/node.ts'
import { runProgram } from '../../src/dataplane/wireguard/run.ts'
import type { VpnSetup } from '../../src/node-protocol/join.ts'
import type { NodePeer } from '../../src/node-protocol/state.ts'
import type { Caller } from './caller.ts'
import { waitLimitMs } from './until.ts'

/** Each verb uses some of these. */
type Given = {
  readonly deviceName: string
  readonly folder: string
  readonly setup: VpnSetup
  readonly peers: readonly NodePeer[]
  readonly ports: readonly number[]
  readonly host: string
  readonly port: number
  readonly url: string
  readonly count: number
  readonly withinMs?: number
  readonly restarts?: boolean
  readonly program?: string
  readonly localPorts: readonly number[]
  readonly limits?: ConnectionLimits
  readonly token: string
  readonly path: string
  readonly body?: unknown
}
type Transfer = { bytes: number; isDone: boolean; problem: string | null }

let node: WireguardNode | undefined
let failingProgram: string | undefined
const calls: string[][] = []
const log: unknown[] = []
let transfer: Transfer | undefined
let caller: Promise<Caller> | undefined
const servers: { stop(closeActive: boolean): unknown }[] = []
const piece = new Uint8Array(64 * 1024)

const record = (level: string) => (event: string, fields?: Record<string, unknown>) => {
  const problem = fields?.['error'] instanceof Error ? fields['error'].message : undefined
  log.push({ level, event, ...fields, ...(problem !== undefined && { error: problem }) })
}

/** Sends 1,000 bytes every 10 ms until the client leaves: a download that lasts and costs little. */
function sendSlowly(): Response {
  let timer: Timer | undefined
  return new Response(
    new ReadableStream({
      start(controller) {
        timer = setInterval(() => controller.enqueue(new Uint8Array(1000)), 10)
      },
      cancel: () => clearInterval(timer),
    }),
  )
}

/** Sends the requested number of bytes as fast as they are read. */
function sendBytes(count: number): Response {
  let left = count
  return new Response(
    new ReadableStream({
      pull(controller) {
        if (left <= 0) return controller.close()
        const next = piece.subarray(0, Math.min(left, piece.length))
        left -= next.length
        controller.enqueue(next)
      },
    }),
  )
}

function answer(request: Request, server: Bun.Server<undefined>): Response | Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname === '/who') return new Response(server.requestIP(request)?.address ?? '')
  if (pathname === '/slow') return sendSlowly()
  if (pathname === '/bytes') return sendBytes(Number(searchParams.get('count')))
  return request.arrayBuffer().then((body) => new Response(String(body.byteLength)))
}

async function receive(url: string): Promise<void> {
  const of: Transfer = { bytes: 0, isDone: false, problem: null }
  transfer = of
  try {
    const response = await fetch(url)
    if (!response.body) throw new Error('there is no body')
    for await (const part of response.body) of.bytes += part.length
  } catch (error) {
    of.problem = String(error)
  }
  of.isDone = true
}

function connect(host: string, port: number, withinMs: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(() => resolve('no answer'), withinMs)
  const settle = (outcome: string) => {
    clearTimeout(timer)
    resolve(outcome)
  }
  Bun.connect({
    hostname: host,
    port,
    socket: {
      open(socket) {
        settle('open')
        socket.end()
      },
      data() {},
      connectError: (_, error) => settle(`refused: ${String((error as { code?: string }).code)}`),
    },
  }).catch((error: unknown) => settle(`refused: ${String((error as { code?: string }).code)}`))
  return promise
}

/** Answers every datagram with the sender's port, as the origin sees it. */
async function echoPorts(hostname: string, port: number): Promise<void> {
  await Bun.udpSocket({
    hostname,
    port,
    socket: { data: (socket, _, from, host) => void socket.send(String(from), from, host) },
  })
}

/** A tracked connection from one local port, and the answers that it has got. */
async function openFlow(host: string, port: number, localPort = 0) {
  const answers: string[] = []
  let wake = () => {}
  const socket = await Bun.udpSocket({
    port: localPort,
    connect: { hostname: host, port },
    socket: {
      data(_, text) {
        answers.push(text.toString())
        wake()
      },
    },
  })
  const send = () => void socket.send('?')
  const roundTrip = async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    send()
    await promise
  }
  return { answers, send, roundTrip, close: () => socket.close() }
}

/** The first flow asks so often again before flows count as unanswered. */
const extraRoundTrips = 50

/**
 * Opens a flow from each local port, waits for the answers of the first `count`, and returns the ports that the origin
 * saw, of the other flows too if they are answered before 50 further round trips of the first flow.
 */
async function openFlows({ host, port, localPorts, count }: Given): Promise<number[]> {
  const flows = await Promise.all(localPorts.map((localPort) => openFlow(host, port, localPort)))
  for (const [index, flow] of flows.entries()) {
    if (index < count) await flow.roundTrip()
    else flow.send()
  }
  const seen = () => flows.flatMap((flow) => flow.answers.slice(0, 1)).map(Number)
  for (let trips = 0; trips < extraRoundTrips && seen().length < flows.length; trips += 1) await flows[0]?.roundTrip()
  for (const flow of flows) flow.close()
  return seen()
}

const needNode = (): WireguardNode => {
  if (!node) throw new Error('there is no node')
  return node
}

const verbs: Record<string, (given: Given) => unknown> = {
  hello: () => process.pid,
  /** Fails as the node's start fails: with the text of the refusal. */
  open: async ({ deviceName, folder, setup, limits }) => {
    node = await openWireguardNode({
      deviceName,
      folder,
      setup,
      limits: limits ?? shippedConnectionLimits,
      run: (command, input) => {
        calls.push([...command])
        if (command[0] === failingProgram) return Promise.resolve({ code: 1, out: '', err: 'made to fail' })
        return runProgram(command, input)
      },
      clock: Date.now,
      log: { info: record('info'), warn: record('warn'), error: record('error') },
      onFault: record('fault') as never,
    })
    return node.kind
  },
  apply: async ({ peers }) => {
    const beganMs = performance.now()
    await needNode().apply(peers)
    return performance.now() - beganMs
  },
  replace: async ({ peers }) => {
    const beganMs = performance.now()
    await needNode().replace(peers)
    return performance.now() - beganMs
  },
  /** Every call of this program by the node fails from now on; without a name none does. */
  fail: ({ program }) => void (failingProgram = program),
  counts: () => needNode().dataPath.takeChanged().peers,
  health: () => needNode().dataPath.health,
  close: async ({ restarts }) => {
    const last = needNode()
    node = undefined
    await last.close(() => restarts === true)
    return last.dataPath.takeChanged().peers
  },
  /** The commands since the last call. */
  calls: () => calls.splice(0),
  log: () => log.splice(0),
  serve: ({ ports }) => {
    for (const port of ports) {
      for (const hostname of ['0.0.0.0', '::']) {
        servers.push(Bun.serve({ hostname, port, fetch: answer, ipv6Only: hostname === '::', idleTimeout: 60 }))
      }
    }
  },
  fetch: async ({ url, withinMs }) => {
    const response = await fetch(url, { signal: AbortSignal.timeout(withinMs ?? waitLimitMs) })
    return response.text()
  },
  /** A request to a shop in this namespace, checked against its description. */
  call: async ({ url, token, path, body }) => {
    caller ??= (await import('./caller.ts')).createCaller(url, token)
    const { status, data } = await (await caller).call(body === undefined ? 'GET' : 'POST', path, { body })
    return { status, data }
  },
  drain: async ({ url }) => {
    const body = await (await fetch(url)).arrayBuffer()
    return body.byteLength
  },
  send: async ({ url, count }) => {
    const response = await fetch(url, { method: 'POST', body: new Uint8Array(count) })
    return Number(await response.text())
  },
  connect: ({ host, port, withinMs }) => connect(host, port, withinMs ?? waitLimitMs),
  echo: ({ host, port }) => echoPorts(host, port),
  flows: openFlows,
  receive: ({ url }) => void receive(url),
  transfer: () => transfer,
}

async function serveLine(line: string): Promise<void> {
  const { id, verb, given } = JSON.parse(line) as { id: number; verb: string; given: Given }
  try {
    const result = (await verbs[verb]?.(given)) ?? null
    process.stdout.write(`${JSON.stringify({ id, result })}\n`)
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ id, problem: error instanceof Error ? error.message : String(error) })}\n`)
  }
}

for await (const line of console) if (line !== '') void serveLine(line)
await node?.close()
process.exit(0)
