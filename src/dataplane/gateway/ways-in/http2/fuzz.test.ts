import { expect, test } from 'bun:test'
import { isLong } from '../../../../../test/harness/scale.ts'
import { drawFrom } from '../../../../../test/harness/transfers.ts'
import { clientPreface, flags, frameTypes, toFrame, toHeaders, toSettings } from './frames.ts'
import { encodeFields } from './hpack.ts'
import { Http2Session } from './session.ts'
import type { Http2Stream } from './stream.ts'

const framesInAll = isLong ? 10_000_000 : 20_000
const framesPerSession = 100
const requestBlock = encodeFields([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'a'],
])
const payload = new Uint8Array(2000)

/** Draws frames that are mostly valid, so that a session lives for some of them. */
function createDraw(upTo: (max: number) => number): () => Uint8Array {
  let opened = 0
  const known = (): number => Math.max(1, 2 * upTo(opened) - 1)
  return () => {
    const kind = upTo(19)
    if (kind < 6) {
      if (upTo(30) > 0) opened += 1
      return toHeaders(2 * opened - 1 || 1, requestBlock, upTo(3) === 0)
    }
    if (kind < 11) return toFrame(frameTypes.data, upTo(1) * flags.endStream, known(), payload.subarray(0, upTo(2000)))
    if (kind < 14) return toFrame(frameTypes.windowUpdate, 0, known(), Uint8Array.of(0, upTo(3), upTo(255), upTo(255)))
    if (kind < 15) return toFrame(frameTypes.reset, 0, known(), new Uint8Array(4))
    if (kind < 16) return toFrame(frameTypes.ping, upTo(1), 0, new Uint8Array(8))
    if (kind < 18) return toSettings({ initialWindowSize: upTo(100_000) })
    const bytes = Uint8Array.from({ length: upTo(30) }, () => upTo(255))
    return toFrame(upTo(12), upTo(255), upTo(3) === 0 ? 0 : known(), bytes)
  }
}

test('random frames make no session throw, and every stream ends with its session', () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const { upTo } = drawFrom(seed)
  let sent = 0
  let served = 0
  while (sent < framesInAll) {
    const streams: Http2Stream[] = []
    const seen = { isOver: false }
    const drawFrame = createDraw(upTo)
    const session: Http2Session = new Http2Session({
      wire: {
        write: (bytes) => (upTo(3) === 0 ? upTo(bytes.length) : bytes.length),
        pause() {},
        resume() {},
        end: () => void (seen.isOver = true),
        terminate: () => void (seen.isOver = true),
      },
      role: 'server',
      clock: () => 0,
      onRequest(stream) {
        served += 1
        streams.push(stream)
        if (upTo(2) === 0) stream.pause()
        stream.owner = {
          onSocketData: (bytes) => void stream.write(bytes),
          onSocketDrain() {},
          onSocketEnd: () => (upTo(1) === 0 ? stream.end() : undefined),
          onSocketClose() {},
        }
        if (upTo(1) === 0) stream.respond([[':status', '200']], upTo(3) === 0)
      },
      onClosed() {},
    })
    session.onSocketData(clientPreface)
    session.onSocketData(toSettings({}))
    for (let count = 0; count < framesPerSession && !seen.isOver; count += 1) {
      const frame = drawFrame()
      const cut = upTo(2) === 0 ? upTo(frame.length) : frame.length
      session.onSocketData(frame.subarray(0, cut))
      if (cut < frame.length) session.onSocketData(frame.subarray(cut))
      if (upTo(3) === 0) session.onSocketDrain()
      if (upTo(9) === 0) streams[upTo(streams.length)]?.resume()
      sent += 1
    }
    session.onSocketClose()
    const areClosed = streams.every((stream) => stream.isClosed)
    expect({ seed, open: session.openStreams, areClosed }).toEqual({ seed, open: 0, areClosed: true })
  }
  expect(served).toBeGreaterThan(100)
})
