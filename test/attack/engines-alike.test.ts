import { afterAll, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import { shippedUdp } from '../../src/dataplane/gateway/access/limits.ts'
import { createDice, type Dice, mutate } from '../harness/dice.ts'
import { loginLine, openEngine, proxyOf, type TestGateway } from '../harness/engine.ts'
import { type RecordingOrigin, readRequest, type Script, startRecordingOrigin } from '../harness/recording-origin.ts'
import { isLong } from '../harness/scale.ts'
import { socksLogin, socksRequest } from '../harness/socks-client.ts'
import { SystemClient } from '../harness/system-client.ts'
import { until } from '../harness/until.ts'

const full = 20_000
/** A tenth of the full count takes a minute; 200 handshakes already reach more than 15 outcomes. */
const count = isLong ? full : 200
const atOnce = 8
/**
 * Time limits of a silent client. The first is short, because a tenth of the clients wait for it. A difference is
 * checked again with a longer limit, because a busy machine may close one connection before all bytes were sent.
 */
const silenceLimitsMs = [400, 5000, 20_000]

/** One origin with both engines. The origin distinguishes the engines by their source address. */
type EnginePair = {
  readonly origin: RecordingOrigin
  readonly portable: TestGateway
  readonly linux: TestGateway
  readonly counts: Counts
}
type Counts = Record<Kind, Counted>
const leaveFrom = { portable: '127.0.0.2', linux: '127.0.0.3' } as const
type Kind = keyof typeof leaveFrom

/** A credential that no plan uses. */
const marker = 'hugo'
const markerId = 8

const enginePairs: EnginePair[] = []
function openEnginePair(silentMs: number): EnginePair {
  const origin = startRecordingOrigin()
  origin.play(answerOnce())
  // The answer to UDP ASSOCIATE has a random port; with UDP off it is a refusal.
  const udp = { ...shippedUdp, isOn: false }
  const limits = { handshakeMs: silentMs, betweenRequestsMs: silentMs, idleMs: silentMs, connectMs: 60_000, udp }
  const open = (kind: Kind): TestGateway => {
    const gateway = openEngine({ kind, leaveFrom: leaveFrom[kind], limits: { ...limits, refusalDelayMs: 20 } })
    gateway.change({ proxies: [proxyOf(markerId, marker, { leave_from: leaveFrom[kind] })] })
    return gateway
  }
  const enginePair = { origin, portable: open('portable'), linux: open('linux'), counts: ofBoth(() => new Map()) }
  enginePairs.push(enginePair)
  return enginePair
}
afterAll(async () => {
  for (const { origin, portable, linux } of enginePairs) {
    origin.stop()
    await Promise.all([portable.stop(), linux.stop()])
  }
})

/** Answers independently of how the bytes are split: one answer to a whole request, and an echo of everything else. */
function answerOnce(): Script {
  const connections = new WeakMap<Socket<never>, { text: string; isRaw: boolean; isAnswered: boolean }>()
  return {
    onBytes(bytes, write, socket) {
      const key = socket as unknown as Socket<never>
      const of = connections.get(key) ?? { text: '', isRaw: false, isAnswered: false }
      connections.set(key, of)
      of.text += Buffer.from(bytes).toString('latin1')
      of.isRaw ||= of.text.length > 0 && !/^[A-Z]/.test(of.text)
      if (of.isRaw) {
        write(of.text)
        of.text = ''
      } else if (!of.isAnswered && isWhole(of.text)) {
        of.isAnswered = true
        write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      }
    },
  }
}

function isWhole(text: string): boolean {
  try {
    return readRequest(text) !== undefined
  } catch {
    return false
  }
}

const seeds = ({ authority, port }: RecordingOrigin): Uint8Array[] => {
  const at = `Host: ${authority}\r\n`
  const here = String.fromCharCode(port >> 8, port & 255)
  return [
    `CONNECT ${authority} HTTP/1.1\r\n${at}${loginLine('anna')}\r\n`,
    `CONNECT ${authority} HTTP/1.1\r\n${at}${loginLine('pavel-pool-residential')}\r\n1 early`,
    `CONNECT ${authority} HTTP/1.0\r\n${loginLine('anna')}\r\nGET / HTTP/1.1\r\n\r\n`,
    `GET http://${authority}/a HTTP/1.1\r\n${at}${loginLine('anna')}Connection: keep-alive, X-A\r\nX-A: 1\r\n\r\n`,
    `POST http://${authority}/a HTTP/1.1\r\n${at}${loginLine('boris')}Transfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\n\r\n`,
    `PUT http://${authority}/a HTTP/1.1\r\n${at}${loginLine('pavel-pool-residential')}Content-Length: 5\r\n\r\nhello`,
    `GET http://${authority}/a HTTP/1.1\r\n${at}\r\nGET http://${authority}/b HTTP/1.1\r\n${at}${loginLine('anna')}\r\n`,
    `\x05\x01\x02${socksLogin('dora')}${socksRequest('127.0.0.1', port)}GET / HTTP/1.1\r\n\r\n`,
    `\x05\x02\0\x02${socksLogin('dora')}\x05\x01\0\x01\x7f\0\0\x01${here}2 early`,
    `\x05\x01\x02${socksLogin('pavel-pool-residential')}${socksRequest('127.0.0.1', port)}`,
    '\x04\x01\0\x50\x7f\0\0\x01\0',
  ].map((text) => Buffer.from(text, 'latin1'))
}

/**
 * A client's behaviour: its bytes in pieces, and its ending. A client that waits does so until the gateway's time
 * limit.
 */
type Plan = {
  readonly pieces: readonly Uint8Array[]
  readonly ending: 'half-close' | 'reset after an answer' | 'reset' | 'wait'
}

/** Waiting costs time, so one plan in ten waits. */
const endings: readonly Plan['ending'][] = [
  ...Array.from({ length: 6 }, () => 'half-close' as const),
  'reset after an answer',
  'reset after an answer',
  'reset',
  'wait',
]

function draw(from: readonly Uint8Array[], dice: Dice): Plan {
  const isValid = dice(4) === 0
  const bytes = isValid ? (from[dice(from.length)] ?? new Uint8Array(0)) : mutate(from, dice)
  const cuts = [
    0,
    ...Array.from({ length: dice(4) }, () => dice(bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ]
  const pieces = cuts.slice(1).map((to, index) => bytes.subarray(cuts[index], to))
  const ending = endings[dice(endings.length)] ?? 'wait'
  // A reset in the middle leaves the remaining pieces unsent.
  return ending === 'reset' ? { ending, pieces: pieces.slice(0, 1 + dice(pieces.length)) } : { ending, pieces }
}

type Outcome = Pick<SystemClient, 'end'> & { answer: string }

async function act({ pieces, ending }: Plan, port: number): Promise<Outcome> {
  const client = await SystemClient.open(port)
  for (const piece of pieces) await client.send(piece)
  if (ending === 'half-close') client.finish()
  if (ending === 'reset after an answer') await client.readUntil(() => client.received.length > 0)
  else if (ending !== 'reset') await client.readUntil(() => false)
  const { end } = client
  const answer = client.received.toString('latin1')
  client.reset()
  return { answer, end }
}

/** Byte counts by credential since the start. */
type Counted = ReadonlyMap<string, { readonly received: number; readonly sent: number }>

function collect(gateway: TestGateway, before: Counted): Counted {
  const { proxies, subusers } = gateway.engine.dataPath.takeChanged()
  const counts = [...proxies, ...subusers].map(({ id, received, sent }) => [String(id), { received, sent }] as const)
  return new Map([...before, ...counts])
}

/** The bytes added for each credential, as text. */
const added = (counted: Counted, before: Counted): string[] =>
  [...counted].flatMap(([id, { received, sent }]) => {
    if (id === String(markerId)) return []
    const had = before.get(id) ?? { received: 0, sent: 0 }
    const more = { received: received - had.received, sent: sent - had.sent }
    return more.received + more.sent === 0 ? [] : [`${id}: ${more.received} received, ${more.sent} sent`]
  })

const isAtRest = ({ engine }: TestGateway): boolean => {
  const { open, dialling, settling } = engine.status
  return open + dialling + settling === 0
}

const kinds = ['portable', 'linux'] as const
const ofBoth = <Value>(make: (kind: Kind) => Value): Record<Kind, Value> => ({
  portable: make('portable'),
  linux: make('linux'),
})

/** Distinct outcomes, to check that the conversations have many outcomes. */
const outcomes = new Set<string>()

/**
 * Waits until both engines have reported all counts so far. An engine reports all changed counts together, so a
 * reported marker request implies that all earlier counts were reported.
 */
async function untilCounted({ origin, counts, ...gateways }: EnginePair): Promise<void> {
  const request = `GET http://${origin.authority}/marker HTTP/1.1\r\nHost: a\r\n${loginLine(marker)}\r\n`
  const plan: Plan = { pieces: [Buffer.from(request, 'latin1')], ending: 'half-close' }
  const sentOf = (kind: Kind): number => counts[kind].get(String(markerId))?.sent ?? 0
  await Promise.all(
    kinds.map(async (kind) => {
      const before = sentOf(kind)
      let { answer } = await act(plan, gateways[kind].port)
      // A busy machine may close the connection before its request was read.
      for (let tries = 0; tries < 100 && !answer.startsWith('HTTP/1.1 200'); tries += 1) {
        ;({ answer } = await act(plan, gateways[kind].port))
      }
      await until(() => {
        counts[kind] = collect(gateways[kind], counts[kind])
        return sentOf(kind) >= before + request.length
      })
    }),
  )
}

/** The difference between the two engines for one seed, or undefined. */
async function compare(enginePair: EnginePair, seed: number): Promise<object | undefined> {
  const { counts } = enginePair
  const plan = draw(seeds(enginePair.origin), createDice(seed))
  const before = { ...counts }
  enginePair.origin.records.length = 0
  const [portable, linux] = await Promise.all(kinds.map((kind) => act(plan, enginePair[kind].port)))
  await until(() => kinds.every((kind) => isAtRest(enginePair[kind])) && enginePair.origin.open === 0)
  outcomes.add(`${portable?.answer.slice(0, 12)} ${portable?.end}`)
  const isGivenUp = plan.ending.startsWith('reset')
  const seen = ofBoth((kind) =>
    enginePair.origin.records.filter(({ from }) => from === leaveFrom[kind]).map(({ text }) => text),
  )
  await untilCounted(enginePair)
  const counted = ofBoth((kind) => added(counts[kind], before[kind]))
  // A malformed body is refused whether its destination was reached or not. That timing is random, and so is how much
  // of the body was forwarded and counted before.
  const isBroken = [portable, linux].some((each) => each?.answer.startsWith('HTTP/1.1 400'))
  const isSeenAlike = zip(seen.portable, seen.linux).every(([one, other]) => agree(one, other))
  if (plan.pieces.length > 1) {
    for (const each of [portable, linux]) if (each) each.answer = withoutKeeping(each.answer)
    if (portable && linux && isOtherFault(portable.answer, linux.answer)) linux.answer = portable.answer
  }
  const isAlike = isGivenUp
    ? agree(portable?.answer ?? '', linux?.answer ?? '') && isSeenAlike
    : Bun.deepEquals(portable, linux) &&
      isSeenAlike &&
      (isBroken || Bun.deepEquals([counted.portable, seen.portable.length], [counted.linux, seen.linux.length]))
  if (isAlike) return undefined
  const sent = plan.pieces.map((piece) => Buffer.from(piece).toString('latin1'))
  return { seed, sent, ending: plan.ending, portable, linux, seen, counted }
}

/** A difference counts only if it appears with every time limit. */
async function compareAgain(enginePair: EnginePair, seed: number): Promise<object | undefined> {
  let difference = await compare(enginePair, seed)
  for (const silentMs of silenceLimitsMs.slice(1)) {
    if (!difference) return undefined
    difference = await compare(openEnginePair(silentMs), seed)
  }
  return difference
}

const zip = (one: readonly string[], other: readonly string[]): [string, string][] =>
  one.map((each, index) => [each, other[index] ?? ''])

/**
 * Replaces the Connection header of refusals. Whether a refusal keeps the connection depends on whether the rest of the
 * request has arrived, which is random when it is sent in pieces.
 */
const withoutKeeping = (answer: string): string =>
  answer.replaceAll(/^Connection: (?:keep-alive|close)\r$/gm, 'Connection: either\r')

/**
 * A request in several pieces may have two faults: a refused head and a malformed body. Which one is answered depends
 * on whether the body arrives before the refusal is sent, which is random.
 */
const isOtherFault = (one: string, other: string): boolean =>
  [one, other].every((answer) => /^HTTP\/1\.1 4\d\d /.test(answer)) &&
  [one, other].some((answer) => answer.startsWith('HTTP/1.1 400'))

/** A reset can overtake bytes, so one text must be a prefix of the other. */
const agree = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one)

test(`${count} random handshakes get the same answers, endings and byte counts on both relay engines`, async () => {
  // Other systems have one engine.
  if (process.platform !== 'linux') return
  const first = Number(process.env['TURNPIKE_TEST_SEED'] ?? 0)
  let next = first
  const unlike: object[] = []
  const lane = async (enginePair: EnginePair): Promise<void> => {
    while (next < first + count && unlike.length < 5) {
      const seed = next
      next += 1
      const difference = await compareAgain(enginePair, seed)
      if (difference) unlike.push(difference)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, () => lane(openEnginePair(silenceLimitsMs[0] ?? 0))))
  expect(unlike).toEqual([])
  expect(outcomes.size).toBeGreaterThan(15)
}, 3_600_000)
