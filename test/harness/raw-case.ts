import { describe, expect, test } from 'bun:test'
import { loginLine, type Stand } from './engine.ts'
import { RawClient, readAnswers, tellAnswer } from './raw-client.ts'
import { findTraces, type RecordingOrigin, tellSeen } from './recording-origin.ts'

/**
 * What is sent, what the client is told, and what the origin saw of it. In what is sent `ORIGIN` stands for the
 * origin's authority and `LOGIN` for a line with anna's name and password; LOGIN:name for somebody else's.
 */
export type RawCase = readonly [name: string, sent: string, told: readonly string[], seen?: readonly string[]]

export type Place = { readonly stand: Stand; readonly origin: RecordingOrigin }

/** Of a long message only the end goes byte by byte: what matters is there, and a test has better things to do. */
const mostSlowly = 1500

export const fillIn = (sent: string, origin: RecordingOrigin): string =>
  sent
    .replaceAll('ORIGIN', origin.authority)
    .replaceAll(/LOGIN:([\w-]+)\r\n/g, (_, name: string) => loginLine(name))
    .replaceAll('LOGIN\r\n', loginLine('anna'))

/** What the client was told: each answer in a word or two, and what came through a tunnel. */
export function tellHeard(text: string): string[] {
  const { answers, rest } = readAnswers(text)
  return [...answers.map(tellAnswer), ...(rest === '' ? [] : [`bytes ${rest}`])]
}

/** Sends, and listens until the gateway has said what it was expected to say and the connection is at its end. */
export async function converse(
  port: number,
  sent: string,
  expected: readonly string[],
  isSlow: boolean,
): Promise<string[]> {
  const client = await RawClient.open(port)
  const slowFrom = isSlow ? Math.max(0, sent.length - mostSlowly) : sent.length
  if (slowFrom > 0) client.send(sent.slice(0, slowFrom))
  await client.sendSlowly(sent.slice(slowFrom))
  const isAsExpected = (text: string): boolean => Bun.deepEquals(tellHeard(text), expected)
  await client.hear(expected.length === 0 ? () => false : isAsExpected)
  // Whoever was told that the connection closes sees it closed, without a word of his own.
  if (expected.length > 0 && !readAnswers(client.text).answers.at(-1)?.closes) client.finish()
  const { hasEnded } = await client.hearEnd()
  const lines = tellHeard(client.text)
  client.reset()
  return hasEnded ? lines : [...lines, 'and it stayed open']
}

/**
 * Lets the gateway do with what has come to it by now all that it will do: strangers who come later, one after another,
 * are heard and refused, each in several turns of its loop.
 */
export async function letItWork(port: number, strangers = 20): Promise<void> {
  for (let index = 0; index < strangers; index += 1) {
    const client = await RawClient.open(port)
    client.send('GET http://a.example/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    const { hasEnded } = await client.hearEnd()
    expect({ hasEnded, status: readAnswers(client.text).answers[0]?.status }).toEqual({ hasEnded: true, status: 407 })
    client.reset()
  }
}

/** Each case is sent whole and byte by byte: the same is told, and the same is seen. */
export function rawCases(title: string, cases: readonly RawCase[], place: () => Place): void {
  describe(title, () => {
    test.each(cases.map(([name, sent, told, seen = []]) => [name, sent, told, seen] as const))(
      '%s',
      async (_, sent, told, seen) => {
        const { stand, origin } = place()
        for (const isSlow of [false, true]) {
          origin.records.length = 0
          const heard = await converse(stand.port, fillIn(sent, origin), told, isSlow)
          const records = origin.records.filter((record) => record.text !== '' || seen.length > 0)
          expect({ isSlow, heard }).toEqual({ isSlow, heard: [...told] })
          expect({ isSlow, seen: records.map(tellSeen) }).toEqual({ isSlow, seen: [...seen] })
          expect(records.flatMap(findTraces)).toEqual([])
        }
      },
    )
  })
}
