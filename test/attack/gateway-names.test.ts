import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createAsk } from '../../src/plane/agent/ask.ts'
import { LinkError } from '../../src/plane/agent/shop-link.ts'
import { realTiming } from '../../src/plane/agent/surroundings.ts'
import type { FindBody, Found } from '../../src/wire/node/state.ts'
import { foundProxy, loginLine, openEngine, type Stand } from '../harness/engine.ts'
import { quietLog } from '../harness/hand-timing.ts'
import { RawClient } from '../harness/raw-client.ts'
import { socksLogin } from '../harness/socks-client.ts'

/** More than a source may ask at once. Time stands still for whoever counts them, so that none come back. */
const guesses = 250
const rounds = 30

let stand: Stand
let find: (question: FindBody) => Promise<Found>

beforeEach(() => {
  find = async (question) => foundProxy('username' in question ? question.username : '')
  const asking = createAsk({
    link: { find: (question) => find(question) },
    now: () => 0,
    log: quietLog,
  })
  stand = openEngine({
    async ask(question, source) {
      const answer = await asking.find(question, source)
      if (answer.outcome === 'unasked') return 'unasked'
      return { found: answer.outcome === 'found' ? answer.found : { proxy: null, subuser: null } }
    },
  })
})
afterEach(() => stand.stop())

const overHttp = (name: string, password: string): string =>
  `GET http://a.example/ HTTP/1.1\r\nHost: a\r\n${loginLine(name, password)}Connection: close\r\n\r\n`
const overSocks = (name: string, password: string): string =>
  `\x05\x01\x02${socksLogin(name, password)}\x05\x01\0\x01\x7f\0\0\x01\0\x09`

async function guess(sent: string): Promise<{ told: string; tookMs: number }> {
  const client = await RawClient.open(stand.port)
  const startedAt = performance.now()
  client.send(sent)
  await client.hearEnd()
  const tookMs = performance.now() - startedAt
  const told = client.text
  client.reset()
  return { told, tookMs }
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** Side by side, so that whatever else the machine does slows both alike. */
async function compare(known: () => string, unknown: () => string): Promise<number> {
  const pairs = await Promise.all(
    Array.from({ length: rounds }, () => Promise.all([guess(known()), guess(unknown())] as const)),
  )
  expect(new Set(pairs.map(([{ told }]) => told))).toEqual(new Set(pairs.map(([, { told }]) => told)))
  const [first, second] = [median(pairs.map(([each]) => each.tookMs)), median(pairs.map(([, each]) => each.tookMs))]
  expect(Math.min(first, second)).toBeGreaterThan(240)
  return Math.abs(first - second)
}

/** What tells the two apart does so every time; a busy machine does not. */
async function expectAlike(known: () => string, unknown: () => string): Promise<void> {
  let difference = await compare(known, unknown)
  for (let again = 0; again < 2 && difference >= 50; again += 1) difference = await compare(known, unknown)
  expect(difference).toBeLessThan(50)
}

const useUp = async (): Promise<void> => {
  await Promise.all(Array.from({ length: guesses }, (_, index) => guess(overHttp(`guess${index}`, 'x'))))
}

let tried = 0
/** Never the same twice. */
const fresh = (): string => `wrong${(tried += 1)}`

describe.each([
  ['over HTTP', overHttp, 'anna'],
  ['over SOCKS5', overSocks, 'dora'],
])('a name that exists and one that does not are told alike %s', (_, speak, real) => {
  test('while there are questions left', async () => {
    await expectAlike(
      () => speak(real, 'wrong'),
      () => speak('nobody', 'wrong'),
    )
  })

  test('when all questions are used up, for a guess that was made before', async () => {
    await Promise.all([guess(speak(real, 'wrong')), guess(speak('nobody', 'wrong'))])
    await useUp()
    await expectAlike(
      () => speak(real, 'wrong'),
      () => speak('nobody', 'wrong'),
    )
  })

  test('when all questions are used up, for a new one', async () => {
    await Promise.all([guess(speak(real, 'wrong')), guess(speak('nobody', 'wrong'))])
    await useUp()
    await expectAlike(
      () => speak(real, fresh()),
      () => speak('nobody', fresh()),
    )
  })

  test('when the shop goes away between two guesses', async () => {
    await Promise.all([guess(speak(real, 'wrong')), guess(speak('nobody', 'wrong'))])
    find = async () => Promise.reject(new LinkError('unreachable', 'away'))
    await expectAlike(
      () => speak(real, fresh()),
      () => speak('nobody', fresh()),
    )
    await expectAlike(
      () => speak(real, 'wrong'),
      () => speak('nobody', 'wrong'),
    )
  })

  test('when the shop is slow, and slower with those it knows', async () => {
    await Promise.all([guess(speak(real, 'wrong')), guess(speak('nobody', 'wrong'))])
    find = async (question) => {
      const found = foundProxy('username' in question ? question.username : '')
      await realTiming.pause(found.proxy ? 320 : 270)
      return found
    }
    await expectAlike(
      () => speak(real, fresh()),
      () => speak('nobody', fresh()),
    )
    await expectAlike(
      () => speak(real, 'wrong'),
      () => speak('nobody', 'wrong'),
    )
  })
})
