import { connect } from 'node:net'
import { waitLimitMs } from './until.ts'

/** One response as received. */
export type RawAnswer = { readonly status: number; readonly head: string; readonly body: string }

/**
 * Sends raw bytes and reads until the server closes, has answered one request completely, or has been silent for
 * `waitMs`. Only a test that expects no answer shortens `waitMs`. The pieces are sent one after another; a number is a
 * pause in milliseconds.
 */
export async function sendRaw(
  port: number,
  pieces: readonly (string | Uint8Array | number)[],
  waitMs: number = waitLimitMs,
): Promise<RawAnswer[]> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const socket = connect(port, '127.0.0.1')
  const received: Buffer[] = []
  let quiet = setTimeout(resolve, waitMs)
  socket.on('data', (chunk) => {
    received.push(Buffer.from(chunk))
    clearTimeout(quiet)
    quiet = setTimeout(resolve, isComplete(Buffer.concat(received)) ? 60 : waitMs)
  })
  // A server that closes on malformed bytes may do so while the test still sends.
  socket.on('error', () => resolve())
  socket.on('close', () => resolve())
  await new Promise((ready) => socket.once('connect', ready))
  for (const piece of pieces) {
    if (typeof piece === 'number') await Bun.sleep(piece)
    else if (!socket.destroyed) socket.write(piece)
  }
  await promise
  clearTimeout(quiet)
  socket.destroy()
  return readAnswers(Buffer.concat(received))
}

const isComplete = (bytes: Buffer): boolean => {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return false
  const length = /content-length: (\d+)/i.exec(bytes.subarray(0, headEnd).toString())?.[1]
  return length !== undefined && bytes.length >= headEnd + 4 + Number(length)
}

/** All responses in the received bytes, in order. */
export function readAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = bytes
  while (rest.length > 0) {
    const headEnd = rest.indexOf('\r\n\r\n')
    const head = rest.subarray(0, headEnd < 0 ? rest.length : headEnd).toString()
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? Number.NaN)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    const bodyAt = headEnd < 0 ? rest.length : headEnd + 4
    // 100 only announces that the body may be sent.
    if (status !== 100) answers.push({ status, head, body: rest.subarray(bodyAt, bodyAt + length).toString() })
    rest = rest.subarray(bodyAt + length)
  }
  return answers
}
