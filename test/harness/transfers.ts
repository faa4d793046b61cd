import { type ByteOrigin, chunked } from './byte-origin.ts'
import { vlessHead } from './key-client.ts'
import { untilTrue } from './turnpike.ts'
import { WireClient } from './wire-client.ts'

/** The credentials of a client, and the address of the gateway. */
export type Pass = {
  readonly port: number
  /** This machine by default. */
  readonly host?: string
  /** Whether the client uses TLS; then no transfer is cut in the middle, because the received part is not known. */
  readonly isTls?: boolean
  readonly username: string
  readonly password: string
}

/** Bytes that a client has really sent and received, past the handshake; and the gateway's refusal, if any. */
export type Passed = { sent: number; received: number; refusal?: string }

/** `vless`: a VPN device over TLS, whose user name is its key. */
export type Via = 'connect' | 'socks' | 'vless'

/**
 * Opens a tunnel and sends the first bytes right behind the handshake. Returns the length of the handshake's answers.
 */
export async function openTunnel(
  pass: Pass,
  via: Via,
  target: { host: string; port: number },
  early: Uint8Array = new Uint8Array(0),
): Promise<{ client: WireClient; handshake: number }> {
  const client = await WireClient.connect(pass.port, pass.host, undefined, pass.isTls)
  const shake = { connect: shakeHttp, socks: shakeSocks, vless: shakeVless }[via]
  return { client, handshake: await shake(client, pass, target, early) }
}

async function shakeVless(client: WireClient, pass: Pass, target: { host: string; port: number }, early: Uint8Array) {
  const head = vlessHead({ id: '', uuid: pass.username, password: '' }, target, 'tcp')
  await client.send(Buffer.concat([head, early]))
  await client.until(() => client.total >= 2 || client.hasEnded)
  // The site's answer begins with a letter.
  if (client.kept[0] !== 0) throw new Refused(client.kept.toString('latin1', 0, 200))
  return 2
}

async function shakeHttp(client: WireClient, pass: Pass, target: { host: string; port: number }, early: Uint8Array) {
  const at = `${target.host}:${target.port}`
  const head = `CONNECT ${at} HTTP/1.1\r\nHost: ${at}\r\nProxy-Authorization: ${basic(pass)}\r\n\r\n`
  await client.send(Buffer.concat([Buffer.from(head), early]))
  await client.until(() => client.kept.includes('\r\n\r\n') || client.hasEnded)
  const status = client.kept.toString('latin1', 0, 12)
  if (status !== 'HTTP/1.1 200') throw new Refused(client.kept.toString('latin1'))
  return client.kept.indexOf('\r\n\r\n') + 4
}

async function shakeSocks(client: WireClient, pass: Pass, target: { host: string; port: number }, early: Uint8Array) {
  const [user, password] = [Buffer.from(pass.username), Buffer.from(pass.password)]
  const address = target.host.split('.').map(Number)
  const port = [target.port >> 8, target.port & 255]
  await client.send(
    Buffer.concat([
      Buffer.from([5, 1, 2, 1, user.length]),
      user,
      Buffer.from([password.length]),
      password,
      Buffer.from([5, 1, 0, 1, ...address, ...port]),
      early,
    ]),
  )
  await client.until(() => client.total >= 14 || client.hasEnded)
  if (client.kept[5] !== 0) throw new Refused(client.kept.toString('hex'))
  return 14
}

/** The gateway's refusal, unchanged. */
export class Refused extends Error {}

export const basic = ({ username, password }: Pass): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/** The id in its own line, padded to so many bytes. */
export function lineOf(id: string, bytes: number): Uint8Array {
  return Buffer.from(`${id}\n`.padEnd(bytes, 'u'))
}

/** Random values from a seed, so that a failure can be reproduced. */
export function drawFrom(seed: number) {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const upTo = (max: number): number => Math.floor(next() * (max + 1))
  return {
    upTo,
    oneOf: <T>(all: readonly T[]): T => all[upTo(all.length - 1)] as T,
    /** Mostly small, sometimes up to 50 MB; one in twenty is empty. */
    size(): number {
      const luck = next()
      if (luck < 0.05) return 0
      const max = luck < 0.85 ? 64 * 1024 : luck < 0.99 ? 1024 * 1024 : 50_000_000
      return Math.floor(Math.exp(next() * Math.log(max)))
    },
  }
}

export type Draw = ReturnType<typeof drawFrom>

const endings = [
  'whole',
  'whole',
  'origin ends',
  'origin resets',
  'half-close',
  'client resets',
  'client resets within',
  'client ends within',
  'nothing',
] as const

const endingsOverTls = endings.filter((ending) => ending !== 'client resets')

let made = 0
const newId = (): string => `task-${++made}`

/**
 * One tunnel with random sizes, ended in a random way. Resolves with the bytes that its client has really sent and
 * received: none if it was refused.
 */
export async function passTunnel(pass: Pass, origin: ByteOrigin, draw: Draw): Promise<Passed> {
  try {
    return await passRandomTunnel(pass, origin, draw)
  } catch (error) {
    if (error instanceof Refused) return { sent: 0, received: 0, refusal: error.message }
    throw error
  }
}

async function passRandomTunnel(pass: Pass, origin: ByteOrigin, draw: Draw): Promise<Passed> {
  const ending = draw.oneOf(pass.isTls ? endingsOverTls : endings)
  const [host = '', port = ''] = origin.host.split(':')
  const target = { host, port: Number(port) }
  const via = draw.oneOf(['connect', 'socks'] as const)
  if (ending === 'nothing') {
    const { client } = await openTunnel(pass, via, target)
    client.close()
    return { sent: 0, received: 0 }
  }
  const id = newId()
  const all = lineOf(id, draw.size())
  // Often more than the kernel of a client accepts unread.
  const down = draw.size() + (ending === 'client resets' ? draw.upTo(1) * 500_000 : 0)
  const isWithin = ending === 'client resets within' || ending === 'client ends within'
  origin.expect({
    id,
    up: ending === 'half-close' ? 'end' : all.length + (isWithin ? 1 : 0),
    down,
    afterwards: ending === 'origin resets' ? 'reset' : ending === 'client resets' ? 'stay' : 'end',
  })
  const isEarly = draw.upTo(3) === 0
  const first = isEarly ? all.subarray(0, 1000) : new Uint8Array(0)
  const { client, handshake } = await openTunnel(pass, via, target, first)
  const sending = client.send(all.subarray(first.length))
  return end(ending, client, { handshake, all, sending, down, id, origin, draw })
}

type Under = {
  readonly handshake: number
  readonly all: Uint8Array
  readonly sending: Promise<void>
  readonly down: number
  readonly id: string
  readonly origin: ByteOrigin
  readonly draw: Draw
}

async function end(ending: (typeof endings)[number], client: WireClient, under: Under): Promise<Passed> {
  const { handshake, all, draw, down } = under
  if (ending === 'client resets') {
    client.readOnly(draw.upTo(down))
    await under.sending
    await untilTrue(() => under.origin.arrived(under.id) >= all.length)
    return { sent: all.length, received: (await client.reset()) - handshake }
  }
  await under.sending
  if (ending === 'client resets within' || ending === 'client ends within') {
    await untilTrue(() => under.origin.arrived(under.id) >= all.length)
    if (ending === 'client resets within') await client.reset()
    else client.close()
    return { sent: all.length, received: 0 }
  }
  if (ending === 'half-close') client.finish()
  await client.untilEnd()
  client.close()
  return { sent: all.length, received: client.total - handshake }
}

/** A few forwarded requests on one connection, with bodies and answers in both framings; the last is sometimes cut. */
export async function passRequests(pass: Pass, origin: ByteOrigin, draw: Draw): Promise<Passed> {
  const client = await WireClient.connect(pass.port, pass.host, undefined, pass.isTls)
  const passed = { sent: 0, received: 0 }
  const count = 1 + draw.upTo(3)
  for (let index = 0; index < count; index += 1) {
    const cut =
      index + 1 < count
        ? undefined
        : draw.oneOf([
            undefined,
            pass.isTls ? undefined : 'client resets',
            'client resets within',
            'origin ends',
          ] as const)
    const request = makeRequest(pass, origin, draw, cut)
    const answerFrom = client.total
    client.kept = Buffer.alloc(0)
    if (cut === 'client resets') client.readOnly(1 + draw.upTo(request.down))
    await client.send(request.bytes)
    const isReset = cut === 'client resets within' || cut === 'client resets'
    const isRefused = (): boolean => client.kept.includes('X-Turnpike-Error')
    if (isReset) await untilTrue(() => origin.arrived(request.id) >= request.body || isRefused())
    else await client.until(() => client.hasEnded || isRefused() || hasWhole(client, answerFrom, request.answerBody))
    // Refused requests are not billed.
    if (isRefused()) {
      client.close()
      return { ...passed, received: answerFrom, refusal: client.kept.toString('latin1', 0, 200) }
    }
    passed.sent += request.bytes.length
    if (isReset) {
      const got = await client.reset()
      return { ...passed, received: pass.isTls ? client.total : got }
    }
  }
  client.close()
  return { ...passed, received: client.total }
}

type Cut = 'client resets' | 'client resets within' | 'origin ends' | undefined

/** A request and the size of its answer. `body` is the length that arrives at the origin before a cut. */
function makeRequest(pass: Pass, origin: ByteOrigin, draw: Draw, cut: Cut) {
  const id = newId()
  const isChunked = draw.upTo(2) === 0 && cut === undefined
  const framing = draw.upTo(2) === 0 && cut === undefined ? 'chunked' : 'length'
  const down =
    framing === 'chunked'
      ? Math.min(draw.size(), 500_000)
      : draw.size() + (cut === 'client resets' ? draw.upTo(1) * 500_000 : 0)
  const body = Buffer.alloc(isChunked ? Math.min(draw.size(), 60_000) : draw.size(), 'b')
  const within = cut === 'client resets within' ? 1 : 0
  const promised = cut === 'origin ends' ? down + 1 : down
  origin.expect({ id, up: 0, down, afterwards: cut === 'client resets' ? 'stay' : 'end', framing, promised })
  const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length + within}`
  const head = `POST http://${origin.host}/${id} HTTP/1.1\r\nHost: ${origin.host}\r\nProxy-Authorization: ${basic(pass)}\r\n${length}\r\n\r\n`
  const framed = isChunked ? toChunks(body) : body
  return {
    id,
    down,
    body: isChunked ? 0 : body.length,
    bytes: Buffer.concat([Buffer.from(head), framed]),
    answerBody:
      cut === 'origin ends'
        ? Number.POSITIVE_INFINITY
        : framing === 'chunked'
          ? chunked(down).length - chunked(0).length + lastChunk.length
          : down,
  }
}

const lastChunk = '0\r\n\r\n'

/**
 * A response head and so many bytes behind it. A client that closes before that leaves unread bytes on its machine,
 * which are billed.
 */
function hasWhole(client: WireClient, answerFrom: number, bodyBytes: number): boolean {
  const headEnd = client.kept.indexOf('\r\n\r\n')
  return headEnd >= 0 && client.total - answerFrom >= headEnd + 4 + bodyBytes
}

function toChunks(body: Buffer): Buffer {
  if (body.length === 0) return Buffer.from('0\r\n\r\n')
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')])
}
