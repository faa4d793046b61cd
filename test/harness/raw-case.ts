import { describe, expect, test } from 'bun:test'
import { loginLine, type TestGateway } from './engine.ts'
import { RawClient, readAnswers, summarizeResponse } from './raw-client.ts'
import { findTraces, type RecordingOrigin, summarizeRequest } from './recording-origin.ts'

/**
 * Bytes sent, the answers to the client, and the requests that the origin saw. In the bytes `ORIGIN` is replaced by the
 * origin's authority, `LOGIN` by the Proxy-Authorization line of anna, and `LOGIN:name` by that of another customer.
 */
export type RawCase = readonly [name: string, sent: string, answers: readonly string[], seen?: readonly string[]]

export type RawCaseServers = { readonly gateway: TestGateway; readonly origin: RecordingOrigin }

/** Only the last bytes of a long message are sent one by one, to save time. */
const maxSlowBytes = 1500

export const fillIn = (sent: string, origin: RecordingOrigin): string =>
  sent
    .replaceAll('ORIGIN', origin.authority)
    .replaceAll(/LOGIN:([\w-]+)\r\n/g, (_, name: string) => loginLine(name))
    .replaceAll('LOGIN\r\n', loginLine('anna'))

/** Each answer as its status and error code, and the bytes of a tunnel. */
export function summarizeResponses(text: string): string[] {
  const { answers, rest } = readAnswers(text)
  return [...answers.map(summarizeResponse), ...(rest === '' ? [] : [`bytes ${rest}`])]
}

/** Sends, and reads until the expected answers have arrived and the connection has ended. */
export async function converse(
  port: number,
  sent: string,
  expected: readonly string[],
  isSlow: boolean,
): Promise<string[]> {
  const client = await RawClient.open(port)
  const slowFrom = isSlow ? Math.max(0, sent.length - maxSlowBytes) : sent.length
  if (slowFrom > 0) client.send(sent.slice(0, slowFrom))
  await client.sendSlowly(sent.slice(slowFrom))
  const isAsExpected = (text: string): boolean => Bun.deepEquals(summarizeResponses(text), expected)
  await client.readUntil(expected.length === 0 ? () => false : isAsExpected)
  // After an answer with Connection: close the gateway closes the connection itself.
  if (expected.length > 0 && !readAnswers(client.text).answers.at(-1)?.closes) client.finish()
  const { hasEnded } = await client.readToEnd()
  const lines = summarizeResponses(client.text)
  client.reset()
  return hasEnded ? lines : [...lines, 'and it stayed open']
}

/**
 * Waits until the gateway has processed all bytes that have arrived: later clients, one after another, are answered
 * 407, each in several turns of its event loop.
 */
export async function untilProcessed(port: number, extraConnections = 20): Promise<void> {
  for (let index = 0; index < extraConnections; index += 1) {
    const client = await RawClient.open(port)
    client.send('GET http://a.example/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    const { hasEnded } = await client.readToEnd()
    expect({ hasEnded, status: readAnswers(client.text).answers[0]?.status }).toEqual({ hasEnded: true, status: 407 })
    client.reset()
  }
}

/** Sends each case whole and byte by byte: the answers and the requests at the origin are the same. */
export function rawCases(subject: string, cases: readonly RawCase[], servers: () => RawCaseServers): void {
  const listed = cases.map(([name, sent, answers, seen = []]) => {
    const statuses = answers.filter((each) => !each.startsWith('bytes ')).join(', ')
    return [statuses || 'nothing', name, sent, answers, seen] as const
  })
  describe(subject, () => {
    test.each(listed)(`the gateway answers %s for this ${subject}: %s`, async (_, __, sent, answers, seen) => {
      const { gateway, origin } = servers()
      for (const isSlow of [false, true]) {
        origin.records.length = 0
        const received = await converse(gateway.port, fillIn(sent, origin), answers, isSlow)
        const records = origin.records.filter((record) => record.text !== '' || seen.length > 0)
        expect({ isSlow, received }).toEqual({ isSlow, received: [...answers] })
        expect({ isSlow, seen: records.map(summarizeRequest) }).toEqual({ isSlow, seen: [...seen] })
        expect(records.flatMap(findTraces)).toEqual([])
      }
    })
  })
}
