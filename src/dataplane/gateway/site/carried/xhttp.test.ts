import { expect, test } from 'bun:test'
import { vless } from '../../ways-in/vless/request.ts'
import { FairBudget } from '../fair-budget.ts'
import type { Exchange } from './exchange.ts'
import { XhttpSessions } from './xhttp.ts'

type Seen = Exchange & { admitted: number; answered: number[]; isGone: boolean; isRead: boolean }

function makeExchange(): Seen {
  const seen: Seen = {
    owner: undefined,
    source: '203.0.113.1',
    fd: -1,
    isShared: true,
    admitted: 0,
    answered: [],
    isGone: false,
    isRead: false,
    admit: () => void (seen.admitted += 1),
    respond: (status) => void seen.answered.push(status),
    write: (bytes) => bytes.length,
    follow: () => undefined,
    end() {},
    terminate() {
      if (seen.isGone) return
      seen.isGone = true
      seen.owner?.onClose()
    },
    pause: () => void (seen.isRead = false),
    resume: () => void (seen.isRead = true),
  }
  return seen
}

const waiting = { all: 1024, ofPrefix: 128 }

function openSessions() {
  const handedOver: unknown[] = []
  const sessions = new XhttpSessions({
    findKeyed: (first) => (first.length >= 17 ? { device: 'one', protocol: vless } : undefined),
    handOver: (client) => void handedOver.push(client),
    after: () => () => {},
    waiting: new FairBudget(waiting),
    random: () => 0,
  })
  return { sessions, handedOver }
}

test('the sessions let 128 of 200 uploads of a device wait for a download, unread and unadmitted, and another device’s too', () => {
  const { sessions } = openSessions()
  const uploads = Array.from({ length: 200 }, makeExchange)
  for (const [at, upload] of uploads.entries())
    sessions.take('one', { kind: 'packet', session: `s${at}`, seq: 0 }, upload)
  expect(uploads.filter((each) => !each.isGone)).toHaveLength(128)
  expect(uploads.filter((each) => each.admitted > 0 || each.isRead)).toEqual([])
  const other = makeExchange()
  sessions.take('two', { kind: 'packet', session: 's', seq: 0 }, other)
  expect(other.isGone).toBe(false)
})

test('the sessions let 128 downloads of a device wait for a key, and one with a key gives its place back', () => {
  const { sessions, handedOver } = openSessions()
  const downloads = Array.from({ length: 128 }, makeExchange)
  for (const [at, each] of downloads.entries()) sessions.take('one', { kind: 'download', session: `s${at}` }, each)
  const upload = makeExchange()
  sessions.take('one', { kind: 'upload', session: 's0' }, upload)
  upload.owner?.onBody(new Uint8Array(17))
  expect([downloads[0]?.admitted, upload.admitted, handedOver.length]).toEqual([1, 1, 1])
  const next = makeExchange()
  sessions.take('one', { kind: 'packet', session: 'later', seq: 0 }, next)
  expect(next.isGone).toBe(false)
  const beyond = makeExchange()
  sessions.take('one', { kind: 'packet', session: 'last', seq: 0 }, beyond)
  expect(beyond.isGone).toBe(true)
})

test('packets ahead of the next one hold at most 128 places of a device over all its sessions', () => {
  const { sessions } = openSessions()
  const downloads = Array.from({ length: 5 }, makeExchange)
  for (const [at, download] of downloads.entries()) {
    sessions.take('one', { kind: 'download', session: `s${at}` }, download)
    const upload = makeExchange()
    sessions.take('one', { kind: 'packet', session: `s${at}`, seq: 0 }, upload)
    upload.owner?.onBody(new Uint8Array(17))
    upload.owner?.onBodyEnd()
    for (let seq = 2; seq < 31; seq += 1)
      sessions.take('one', { kind: 'packet', session: `s${at}`, seq }, makeExchange())
  }
  expect(downloads.map((each) => each.isGone)).toEqual([false, false, false, false, true])
})

test('100 packets wait for the next one, however far ahead they are, and one more resets the session', () => {
  const { sessions } = openSessions()
  const download = makeExchange()
  sessions.take('one', { kind: 'download', session: 's' }, download)
  const first = makeExchange()
  sessions.take('one', { kind: 'packet', session: 's', seq: 0 }, first)
  first.owner?.onBody(new Uint8Array(17))
  for (let at = 0; at < 100; at += 1)
    sessions.take('one', { kind: 'packet', session: 's', seq: 1_000_000 + at }, makeExchange())
  expect(download.isGone).toBe(false)
  sessions.take('one', { kind: 'packet', session: 's', seq: 1 }, makeExchange())
  expect(download.isGone).toBe(true)
})

test('a packet that the end of its session interrupts is read to its end and answered, and one of 1 MB more is reset', () => {
  const { sessions } = openSessions()
  const [download, first, second] = [makeExchange(), makeExchange(), makeExchange()]
  sessions.take('one', { kind: 'download', session: 's' }, download)
  sessions.take('one', { kind: 'packet', session: 's', seq: 0 }, first)
  first.owner?.onBody(new Uint8Array(17))
  sessions.take('one', { kind: 'packet', session: 's', seq: 1 }, second)
  download.terminate()
  expect([first.isRead, second.isRead, first.isGone, second.isGone]).toEqual([true, true, false, false])
  first.owner?.onBodyEnd()
  expect(first.answered).toEqual([200])
  second.owner?.onBody(new Uint8Array(1_000_001))
  expect([second.isGone, second.answered]).toEqual([true, []])
})

test('a packet that comes after the end of its session is read to its end and answered, and does not wait for a download', () => {
  const { sessions } = openSessions()
  const [download, first, late] = [makeExchange(), makeExchange(), makeExchange()]
  sessions.take('one', { kind: 'download', session: 's' }, download)
  sessions.take('one', { kind: 'packet', session: 's', seq: 0 }, first)
  first.owner?.onBody(new Uint8Array(17))
  first.owner?.onBodyEnd()
  download.terminate()
  sessions.take('one', { kind: 'packet', session: 's', seq: 1 }, late)
  expect(late.isRead).toBe(true)
  late.owner?.onBodyEnd()
  expect([late.answered, late.isGone]).toEqual([[200], false])
})

/** Sessions of which one, `s`, has ended after its key. */
function openEnded() {
  const { sessions } = openSessions()
  const [download, first] = [makeExchange(), makeExchange()]
  sessions.take('one', { kind: 'download', session: 's' }, download)
  sessions.take('one', { kind: 'packet', session: 's', seq: 0 }, first)
  first.owner?.onBody(new Uint8Array(17))
  first.owner?.onBodyEnd()
  download.terminate()
  const send = (seq: number): Seen => {
    const late = makeExchange()
    sessions.take('one', { kind: 'packet', session: 's', seq }, late)
    return late
  }
  return { send, sessions }
}

test('eight packets that come after the end of their session are read, and the ninth is reset', () => {
  const { send, sessions } = openEnded()
  const late = [1, 2, 3, 4, 5, 6, 7, 8, 9, 9].map(send)
  expect(late.map(({ isRead, isGone }) => isRead && !isGone)).toEqual([...Array(8).fill(true), false, false])
  expect(late.slice(8).every(({ isGone }) => isGone)).toBe(true)
  sessions.noteEnded('one s')
  expect(send(10).isGone).toBe(true)
})

test('100 packets that the end of their session interrupts are read up to 8 MB in all', () => {
  const { sessions } = openSessions()
  const [download, first] = [makeExchange(), makeExchange()]
  sessions.take('one', { kind: 'download', session: 's' }, download)
  sessions.take('one', { kind: 'packet', session: 's', seq: 0 }, first)
  first.owner?.onBody(new Uint8Array(17))
  first.owner?.onBodyEnd()
  const ahead = Array.from({ length: 100 }, makeExchange)
  for (const [at, each] of ahead.entries()) sessions.take('one', { kind: 'packet', session: 's', seq: at + 2 }, each)
  download.terminate()
  expect(ahead.every(({ isRead }) => isRead)).toBe(true)
  for (const each of ahead) each.owner?.onBody(new Uint8Array(1_000_000))
  expect(ahead.filter(({ isGone }) => !isGone)).toHaveLength(8)
})

test('an upload without a key is reset with its session', () => {
  const { sessions } = openSessions()
  const [download, first] = [makeExchange(), makeExchange()]
  sessions.take('one', { kind: 'download', session: 's' }, download)
  sessions.take('one', { kind: 'packet', session: 's', seq: 0 }, first)
  download.terminate()
  expect(first.isGone).toBe(true)
})
