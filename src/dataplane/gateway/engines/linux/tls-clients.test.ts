import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import { selfSigned } from '../../../../../test/harness/self-signed.ts'
import { Snapshot } from '../../../agent/snapshot.ts'
import { readCertificate } from '../../../tls/certificate.ts'
import { makeTicketKey } from '../../../tls/openssl/ticket-keys.ts'
import { Descriptors, ownedCells, ownedIn } from '../../system/descriptors.ts'
import { Kernel } from '../../system/kernel.ts'
import { makeDirect, openLibc } from '../../system/libc.ts'
import type { Processor } from '../../system/structures.ts'
import { Reactor } from './reactor.ts'
import { makeMemory, viewMemory } from './shared-memory.ts'
import { type FromTlsClients, TlsClients } from './tls-clients.ts'

const processor = process.arch as Processor
const kernel = new Kernel(makeDirect(openLibc(), processor), processor)

function throwFault(fault: unknown): never {
  throw fault
}

/** Clients over TLS on a reactor that the test turns. */
function openClients() {
  const polling = Object.assign(Object.create(kernel) as Kernel, { poll: (poll: number) => kernel.poll(poll, 0) })
  const owned = new Int32Array(ownedCells)
  const reactor = new Reactor(polling, new Descriptors(owned, (each) => kernel.close(each), true), throwFault)
  const reported = { shaken: 0, gone: 0 }
  function count(message: FromTlsClients): void {
    if (message.type !== 'notices') return
    reported.shaken += message.shaken.length
    reported.gone += message.gone.length
  }
  const memory = viewMemory(makeMemory())
  const clients = new TlsClients({
    reactor,
    memory,
    snapshot: new Snapshot(),
    sockets: { watch: () => undefined, acknowledged: () => undefined, narrow() {}, widen() {}, limitUnsent() {} },
    after: reactor.timers.after,
    take: () => expect.unreachable(),
    post: (messages) => messages.forEach(count),
    onFault: throwFault,
  })
  clients.takeMessage({ type: 'ticket-keys', keys: [makeTicketKey()] })
  clients.takeMessage({ type: 'certificates', certificates: [readCertificate(selfSigned.cert, selfSigned.key)] })
  const turn = (): void => {
    reactor.turn(() => false)
    clients.flush()
  }
  return { clients, reactor, owned, reported, turn }
}

const catchHello = (): Promise<Uint8Array> =>
  new Promise((resolve) => {
    const duplex = new Duplex({
      read() {},
      write(bytes: Buffer, _, done) {
        resolve(new Uint8Array(bytes))
        done()
      },
    })
    connect({ socket: duplex, rejectUnauthorized: false }).on('error', () => {})
  })

test('400 handshakes that break off leave no object, descriptor or timer in a reactor, which reports the end of each', async () => {
  const { clients, reactor, owned, reported, turn } = openClients()
  const hello = await catchHello()
  const garbage = new Uint8Array(100).fill(23)
  let lastId = 0
  function breakOff(): void {
    lastId += 1
    const pair = kernel.openPair()
    const [near, far] = typeof pair === 'number' ? expect.unreachable() : pair
    kernel.send(far, lastId % 3 === 0 ? hello.subarray(0, 100) : hello)
    clients.takeMessage({ type: 'begin', id: lastId, descriptor: near, source: '127.0.0.1' })
    turn()
    if (lastId % 3 === 1) kernel.send(far, garbage)
    turn()
    kernel.close(far)
    turn()
  }
  function countObjects(): number {
    Bun.gc(true)
    return heapStats().objectCount
  }
  for (let count = 0; count < 200; count += 1) breakOff()
  const [objects, descriptors] = [countObjects(), [...ownedIn(owned)].length]
  for (let count = 0; count < 400; count += 1) breakOff()
  // One object of each would be 400.
  expect(countObjects() - objects).toBeLessThan(300)
  expect([[...ownedIn(owned)].length, reactor.timers.size <= 1]).toEqual([descriptors, true])
  while (reported.gone < lastId) turn()
  expect(reported).toEqual({ shaken: 0, gone: lastId })
})
