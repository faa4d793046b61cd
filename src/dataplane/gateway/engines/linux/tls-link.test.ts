import { afterEach, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { selfSigned } from '../../../../../test/harness/self-signed.ts'
import { until, untilStill } from '../../../../../test/harness/until.ts'
import { readAddress } from '../../../../core/address.ts'
import { readCertificate } from '../../../tls/certificate.ts'
import { TlsBuffers } from '../../../tls/openssl/buffers.ts'
import { TlsCallbacks, TlsContext } from '../../../tls/openssl/context.ts'
import { openLibrary } from '../../../tls/openssl/library.ts'
import { makeTicketKey } from '../../../tls/openssl/ticket-keys.ts'
import { Descriptors, ownedCells } from '../../system/descriptors.ts'
import { Kernel } from '../../system/kernel.ts'
import { makeDirect, openLibc } from '../../system/libc.ts'
import type { Processor } from '../../system/structures.ts'
import { Reactor } from './reactor.ts'
import { TlsLink } from './tls-link.ts'

const library = openLibrary()
const thread = { library, buffers: new TlsBuffers(library) }
const callbacks = new TlsCallbacks(library, true)
callbacks.setTicketKeys([makeTicketKey()])
const context = new TlsContext(callbacks, [readCertificate(selfSigned.cert, selfSigned.key)])
const processor = process.arch as Processor
const kernel = new Kernel(makeDirect(openLibc(), processor), processor)
const loopback = readAddress('127.0.0.1') ?? expect.unreachable()

let close: () => void = () => {}
afterEach(() => close())

/** A link whose client has shaken hands, on a reactor that the test turns. */
async function openLink() {
  let nowMs = 1000
  const polling = Object.assign(Object.create(kernel) as Kernel, { poll: (poll: number) => kernel.poll(poll, 0) })
  const owned = new Int32Array(ownedCells)
  const descriptors = new Descriptors(owned, (descriptor) => kernel.close(descriptor), true)
  const onFault = (fault: unknown): void => {
    throw fault
  }
  const reactor = new Reactor(polling, descriptors, onFault, () => nowMs)
  const listener = kernel.listen(loopback, 0, 8)
  const socket: Socket = connectPlain({ port: kernel.portOf(listener), host: '127.0.0.1' })
  const client: TLSSocket = connect({ socket, rejectUnauthorized: false })
  client.on('error', () => {})
  const turn = (): void => reactor.turn(() => false)
  let descriptor = -1
  await until(() => (descriptor = kernel.accept(listener)) >= 0)
  descriptors.own(descriptor)
  const seen = { ending: 0, gone: 0 }
  const events = {
    onShaken() {},
    onEnding: () => void (seen.ending += 1),
    onGone: () => void (seen.gone += 1),
    mayShake: () => true,
  }
  const link = new TlsLink(reactor, descriptor, '127.0.0.1', thread, events, context, 1)
  link.begin()
  let isSecure = false
  client.once('secureConnect', () => void (isSecure = true))
  await until(() => {
    turn()
    return isSecure
  })
  close = () => {
    client.destroy()
    if (!link.isClosed) link.terminate()
    turn()
    kernel.close(listener)
  }
  const wait = (ms: number): void => {
    nowMs += ms
    turn()
  }
  return { link, client, socket, seen, turn, wait }
}

/** Writes until the client's machine takes no more: it acknowledges a moment after each write. */
async function fill(link: TlsLink, turn: () => void): Promise<number> {
  const bytes = Buffer.alloc(64 * 1024, 'a')
  let taken = 0
  await untilStill(() => {
    turn()
    while (!link.isHolding) taken += link.write(bytes)
    return taken
  })
  return taken
}

test('a connection that was ended here, whose client does not read, is closed after 30 s and not before', async () => {
  const { link, client, seen, turn, wait } = await openLink()
  client.pause()
  await fill(link, turn)
  link.end()
  expect([seen, link.isClosed]).toEqual([{ ending: 1, gone: 0 }, false])
  wait(29_999)
  expect(link.isClosed).toBeFalse()
  wait(1)
  expect([seen, link.isClosed]).toEqual([{ ending: 1, gone: 1 }, true])
})

test('a client that reads within 30 s gets every byte and then the end of the connection', async () => {
  const { link, client, seen, turn, wait } = await openLink()
  client.pause()
  const written = await fill(link, turn)
  link.end()
  wait(29_000)
  let received = 0
  let hasEnded = false
  client.on('data', (bytes: Buffer) => void (received += bytes.length))
  client.once('end', () => void (hasEnded = true))
  client.resume()
  await until(() => {
    turn()
    return hasEnded
  })
  expect([received, seen.gone]).toEqual([written, 1])
})

test('an end with nothing unsent closes at once, and counts as no connection that lingers', async () => {
  const { link, client, seen } = await openLink()
  link.write(Buffer.from('bye'))
  link.end()
  expect([seen, link.isClosed]).toEqual([{ ending: 0, gone: 1 }, true])
  const [bytes] = (await once(client, 'data')) as [Buffer]
  expect(bytes.toString()).toBe('bye')
})

test('bytes that were announced as the last arrive whole before the half-close, and the client may answer', async () => {
  const { link, client, turn } = await openLink()
  let answer = ''
  let hasEnded = false
  link.owner = {
    onSocketData: (bytes) => void (answer += Buffer.from(bytes).toString()),
    onSocketDrain() {},
    onSocketEnd: () => void (hasEnded = true),
    onSocketClose() {},
  }
  const received: Buffer[] = []
  client.on('data', (bytes: Buffer) => void received.push(bytes))
  client.once('end', () => client.end('thanks'))
  link.announceEnd()
  link.write(Buffer.from('the last bytes'))
  link.shutdown()
  await until(() => {
    turn()
    return hasEnded
  })
  expect([Buffer.concat(received).toString(), answer]).toEqual(['the last bytes', 'thanks'])
})
