import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { createDice, type Dice, mutate } from '../harness/dice.ts'
import { loginLine, openEngine, type TestGateway, until } from '../harness/engine.ts'
import { RawClient } from '../harness/raw-client.ts'
import { type RecordingOrigin, startRecordingOrigin } from '../harness/recording-origin.ts'
import { isLong } from '../harness/scale.ts'
import { socksLogin, socksRequest } from '../harness/socks-client.ts'

const full = 200_000
const count = isLong ? full : 8000
const atOnce = 250
const handshakeMs = 150

let gateway: TestGateway
let origin: RecordingOrigin
const faults: unknown[] = []
const note = (fault: unknown): void => void faults.push(fault)

beforeAll(() => {
  gateway = openEngine({ limits: { handshakeMs, betweenRequestsMs: handshakeMs, idleMs: 500, connectMs: 500 } })
  origin = startRecordingOrigin()
  origin.play({ onBytes: (_, write) => write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok') })
  process.on('unhandledRejection', note)
  process.on('uncaughtException', note)
})
afterAll(async () => {
  process.off('unhandledRejection', note)
  process.off('uncaughtException', note)
  origin.stop()
  await gateway.stop()
})

const seeds = (): Uint8Array[] =>
  [
    `CONNECT ${origin.authority} HTTP/1.1\r\nHost: ${origin.authority}\r\n${loginLine('anna')}\r\nearly`,
    `GET http://${origin.authority}/a HTTP/1.1\r\nHost: a\r\n${loginLine('anna')}Connection: keep-alive, X-A\r\nX-A: 1\r\n\r\n`,
    `POST http://${origin.authority}/a HTTP/1.1\r\nHost: a\r\n${loginLine('boris')}Transfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\n\r\n`,
    `PUT http://${origin.authority}/a HTTP/1.1\r\nHost: a\r\n${loginLine('pavel-pool-residential')}Content-Length: 5\r\n\r\nhello`,
    `GET http://${origin.authority}/a HTTP/1.1\r\nHost: a\r\n\r\nGET http://${origin.authority}/b HTTP/1.1\r\nHost: a\r\n${loginLine('anna')}\r\n`,
    `\x05\x01\x02${socksLogin('dora')}${socksRequest('127.0.0.1', origin.port)}GET / HTTP/1.1\r\n\r\n`,
    `\x05\x02\0\x02${socksLogin('dora')}\x05\x01\0\x01\x7f\0\0\x01${String.fromCharCode(origin.port >> 8, origin.port & 255)}x`,
    '\x04\x01\0\x50\x7f\0\0\x01\0',
  ].map((text) => Buffer.from(text, 'latin1'))

const outcomes = new Set<string>()
const outcomeOf = ({ text, bytes }: RawClient): string =>
  text.startsWith('HTTP') ? text.slice(9, 12) : bytes.subarray(0, 6).toString('hex')

/** One handshake, split and abandoned at random. True if it was answered, closed, or abandoned by the client itself. */
async function shake(bytes: Uint8Array, dice: Dice): Promise<boolean> {
  const client = await RawClient.open(gateway.port)
  const cuts = dice(3)
  let from = 0
  for (let cut = 0; cut < cuts; cut += 1) {
    const to = from + dice(bytes.length - from + 1)
    client.send(bytes.subarray(from, to))
    from = to
    if (dice(4) === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  if (dice(6) === 0) {
    client.reset()
    return true
  }
  client.send(bytes.subarray(from))
  if (dice(3) > 0) client.finish()
  // One client in eight waits for the end, which comes at the latest at the gateway's time limit.
  const waitsForEnd = dice(8) === 0
  const wasAnswered = await client.readUntil((text) => !waitsForEnd && text.length > 0)
  outcomes.add(outcomeOf(client))
  client.reset()
  return wasAnswered
}

const descriptors = (): number => readdirSync('/proc/self/fd').length

test(`the gateway answers or closes each of ${count} mutated handshakes, throws nothing and leaks no descriptor`, async () => {
  const from = seeds()
  const rounds = async (lane: number, each: number): Promise<number[]> => {
    const silent: number[] = []
    for (let index = 0; index < each; index += 1) {
      const seed = lane * full + index
      const dice = createDice(seed)
      if (!(await shake(mutate(from, dice), dice))) silent.push(seed)
    }
    return silent
  }
  await rounds(atOnce, 20)
  await until(() => gateway.engine.status.open === 0)
  const before = descriptors()
  const lanes = Array.from({ length: atOnce }, (_, lane) => rounds(lane, Math.ceil(count / atOnce)))
  const silent = (await Promise.all(lanes)).flat()
  expect(silent).toEqual([])
  expect(faults).toEqual([])
  await until(() => gateway.engine.status.open === 0)
  await until(() => origin.open === 0)
  await until(() => gateway.engine.status.dialling === 0)
  expect(gateway.engine.status).toEqual({
    open: 0,
    connections: 0,
    tunnels: 0,
    dialling: 0,
    settling: 0,
    listeners: 1,
    spared: 0,
    turnedAway: 0,
    starved: 0,
    maxHeld: expect.any(Number),
  })
  // Early bytes of clients whose destination did not take them at once.
  expect(gateway.engine.status.maxHeld).toBeLessThan(64 * 1024)
  await until(() => descriptors() <= before)
}, 1_800_000)
