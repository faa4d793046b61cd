import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'bun:test'
import type { Socket, TCPSocketListener } from 'bun'
import { maxLost } from '../../src/dataplane/gateway/metering/losses.ts'
import { createSockets } from '../../src/dataplane/gateway/system/sockets.ts'
import type { WithDescriptor } from '../../src/dataplane/tls/tls-socket.ts'
import { digestOf, loginLine, openEngine, subuserOf, type TestGateway, until } from '../harness/engine.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { enterOwnNetwork, type OwnNetwork } from '../harness/own-network.ts'
import { isLong } from '../harness/scale.ts'
import { untilStill } from '../harness/until.ts'
import { type AckPolicy, openUserTcp, type UserConnection, type UserTcp } from '../harness/user-tcp.ts'

/**
 * Selective acknowledgements are counted in segments: the last may be short, one is not acknowledged, and one is
 * uncertain after a reset.
 */
const segmentBytes = 1460
const inDoubt = 3 * segmentBytes

const { test, isPossible } = await findNetnsSupport('tests with a TCP of their own')
const origin4 = '45.12.0.2'
const block = Buffer.alloc(256 * 1024, 97)

/** The idle limit unless a test sets another. */
const hourMs = 3_600_000

let network: OwnNetwork
let machine: UserTcp
let gateway: TestGateway
let origin: TCPSocketListener<Sending>
/** By sub-user. */
const billedOf = new Map<string, number>()
let isStopped = false
/** Bytes that origins have sent since the test began. */
let originSentBytes = 0
/** The origin's socket that was opened last. */
let sending = -1

type Sending = { left: number; ends: boolean }

/** Sends as many bytes as requested; `1000 and no more` means 1000 bytes and the end of the stream. */
function startOrigin(): TCPSocketListener<Sending> {
  const sendBytes = (socket: Socket<Sending>): void => {
    while (socket.data.left > 0) {
      const gone = socket.write(block.subarray(0, Math.min(block.length, socket.data.left)))
      if (gone <= 0) return
      socket.data.left -= gone
      originSentBytes += gone
    }
    if (socket.data.ends) socket.end()
  }
  return Bun.listen<Sending>({
    hostname: origin4,
    port: 0,
    socket: {
      open(socket: Socket<Sending> & WithDescriptor) {
        socket.data = { left: 0, ends: false }
        sending = socket.fd ?? -1
      },
      data(socket, bytes) {
        const request = bytes.toString()
        socket.data = { left: Number.parseInt(request, 10), ends: request.endsWith('no more') }
        sendBytes(socket)
      },
      drain: sendBytes,
    },
  })
}

function readBill(): number {
  for (const { id, received } of gateway.engine.dataPath.takeChanged().subusers) billedOf.set(id, received)
  return billedOf.values().reduce((sum, each) => sum + each, 0)
}

async function tunnel(login = 'pavel', window?: number): Promise<UserConnection> {
  const client = await machine.connect(gateway.port, window === undefined ? {} : { window })
  const to = `${origin4}:${origin.port}`
  client.send(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n${loginLine(login)}\r\n`)
  await client.readUntil(({ text }) => text.includes('\r\n\r\n'))
  expect(client.text).toStartWith('HTTP/1.1 200')
  return client
}

/** Requests so many bytes, and waits until at least `least` of them have arrived. */
async function download(client: UserConnection, bytes: number, ackPolicy: AckPolicy, least = bytes): Promise<void> {
  const before = client.receivedBytes
  client.ackPolicy = ackPolicy
  client.send(String(bytes))
  await client.readUntil(({ receivedBytes }) => receivedBytes >= before + least)
  expect(client.receivedBytes).toBeGreaterThanOrEqual(before + least)
}

function openGateway(idleMs: number): void {
  const policy = { ownAddresses: [], allowLocalDelivery: true }
  gateway = openEngine({ hostname: machine.address, mode: 'production', policy, limits: { idleMs } })
}

/** A tunnel whose client has vanished is closed after 1 s. */
async function cutIdle(): Promise<void> {
  await gateway.stop()
  openGateway(1000)
}

const isSettled = (): boolean => gateway.engine.status.open + gateway.engine.status.settling === 0

/**
 * The bill once every connection is closed and settled. A stopped engine has reported all its counts, and all packets
 * that it sent have reached the clients.
 */
async function finalBill(): Promise<number> {
  await until(isSettled)
  await gateway.stop()
  isStopped = true
  machine.takeAll()
  return readBill()
}

describe('billing by TCP acknowledgements', () => {
  beforeAll(() => {
    if (!isPossible) return
    network = enterOwnNetwork()
    network.ip('address', 'add', `${origin4}/32`, 'dev', 'lo')
    machine = openUserTcp(network)
    origin = startOrigin()
  })

  afterAll(() => {
    if (!isPossible) return
    machine.close()
    origin.stop(true)
    network.leave()
  })

  beforeEach(() => {
    if (!isPossible) return
    billedOf.clear()
    isStopped = false
    originSentBytes = 0
    openGateway(hourMs)
  })

  afterEach(async () => {
    if (isPossible && !isStopped) await gateway.stop()
  })

  test('the gateway bills bytes acknowledged only by SACK, within 3 segments', async () => {
    const client = await tunnel()
    const head = client.receivedBytes
    await download(client, 1_000_000, 'sack', 200_000)
    const early = client.receivedBytes - head
    await until(() => readBill() >= early - inDoubt)
    client.reset()
    const bill = await finalBill()
    expect(bill).toBeLessThanOrEqual(client.receivedBytes - head)
    expect(bill).toBeGreaterThanOrEqual(early - inDoubt)
  })

  test('a client that resets before the gateway reads its counters gains at most 3 segments per connection', async () => {
    const count = isLong ? 10 : 4
    let got = 0
    for (let index = 0; index < count; index += 1) {
      const client = await tunnel()
      client.ackPolicy = 'sack'
      client.send('1000000')
      await client.readUntil(({ receivedBytes }) => receivedBytes > (isLong ? 800_000 : 100_000))
      client.reset()
      got += client.receivedBytes
    }
    expect(await finalBill()).toBeGreaterThanOrEqual(got - count * (inDoubt + 100))
  })

  test('a client that acknowledges nothing gets at most 64 KiB unbilled on one connection', async () => {
    const client = await tunnel()
    const head = client.receivedBytes
    await download(client, 500_000, 'normal')
    client.ackPolicy = 'none'
    client.send('1000000')
    const silentFrom = client.receivedBytes
    await client.readUntil(({ receivedBytes }) => receivedBytes > silentFrom + maxLost.ofConnection)
    client.reset()
    const bill = await finalBill()
    const got = client.receivedBytes - head
    expect(got).toBeGreaterThan(silentFrom - head + maxLost.ofConnection)
    expect(bill).toBeGreaterThanOrEqual(got - maxLost.ofConnection)
    expect(bill).toBeLessThanOrEqual(got)
  })

  test('a customer whose clients acknowledge nothing gets at most 1 MiB unbilled on 100 connections of two sub-users', async () => {
    const got = 100 * 20_000
    const other = 'second'
    gateway.change({ subusers: [subuserOf({ id: 'sub-second', login: other, digest: digestOf(other) })] })
    for (let count = 0; count < 100; count += 1) {
      const client = await tunnel(count % 2 === 0 ? 'pavel' : other)
      await download(client, 20_000, 'none')
      client.reset()
    }
    const bill = await finalBill()
    expect(bill).toBeGreaterThanOrEqual(got - maxLost.ofOwner)
    expect(bill).toBeLessThanOrEqual(got)
  })

  test('a client that acknowledges bytes before they arrive is billed for them, within 2 segments', async () => {
    const client = await tunnel()
    const head = client.receivedBytes
    await download(client, 1_000_000, 'optimistic', 500_000)
    const got = client.receivedBytes - head
    client.reset()
    // The kernel ignores acknowledgements of bytes that it has not sent, so the last segment and the one before it stay
    // unacknowledged.
    expect(await finalBill()).toBeGreaterThanOrEqual(got - 2 * segmentBytes)
  })

  test('the gateway does not bill bytes that it never sent because the client window was zero', async () => {
    const client = await tunnel()
    const head = client.receivedBytes
    await download(client, 100_000, 'normal')
    client.setWindow(0)
    client.send('5000000')
    // The origin has filled the buffers of the gateway and its kernel; no byte goes further.
    await until(() => originSentBytes >= 200_000)
    client.reset()
    expect([await finalBill(), client.receivedBytes - head]).toEqual([100_000, 100_000])
  })

  test.each(['pavel', 'anna'])(
    'a client whose TCP window is zero makes an origin send at most 256 KiB into a tunnel of %s',
    async (login) => {
      const client = await tunnel(login)
      client.setWindow(0)
      client.send('5000000')
      const sockets = createSockets(process.platform)
      const taken = () => sockets.acknowledged(sending) ?? 0
      await until(() => taken() > 0)
      expect(await untilStill(taken)).toBeLessThanOrEqual(256 * 1024)
      client.reset()
    },
  )

  test('a client that closes in order and then stays silent gains at most 3 segments', async () => {
    const client = await tunnel()
    const head = client.receivedBytes
    await download(client, 500_000, 'sack', 200_000)
    const got = client.receivedBytes - head
    client.finish()
    await until(() => gateway.engine.status.open === 0)
    await until(() => readBill() >= got - inDoubt)
  })

  test.each(['normal', 'sack', 'none'] as const)(
    'the gateway does not bill the FIN as a byte, however the client acknowledges it (%s) before a reset',
    async (ackPolicy) => {
      let got = 0
      for (const bytes of [0, 1, 2, 1459, 1460, 1461, 100_000]) {
        const client = await tunnel()
        const head = client.receivedBytes
        client.ackPolicy = ackPolicy
        client.send(`${bytes} and no more`)
        await client.readUntil(({ hasEnded, receivedBytes }) => hasEnded || receivedBytes - head >= 10 * segmentBytes)
        client.reset()
        got += client.receivedBytes - head
      }
      const bill = await finalBill()
      if (ackPolicy === 'normal') expect(bill).toBe(got)
      expect(bill).toBeLessThanOrEqual(got)
    },
  )

  test('the gateway bills ten clients whose line drops exactly for the bytes that they acknowledged', async () => {
    await cutIdle()
    let acknowledged = 0
    for (let count = 0; count < 10; count += 1) {
      const client = await tunnel('pavel', 48 * 1024)
      const head = client.acknowledgedBytes
      client.send('50000000')
      await client.readUntil(({ receivedBytes }) => receivedBytes > 500_000)
      client.drop()
      acknowledged += client.acknowledgedBytes - head
    }
    expect(await finalBill()).toBe(acknowledged)
  })

  test('the gateway bills a client whose line drops at most 4 MiB less 64 KiB beyond its acknowledged bytes', async () => {
    await cutIdle()
    const client = await tunnel()
    const head = client.acknowledgedBytes
    client.send('50000000')
    await client.readUntil(({ receivedBytes }) => receivedBytes > 3_000_000)
    client.drop()
    const acknowledged = client.acknowledgedBytes - head
    const bill = await finalBill()
    expect(bill).toBeGreaterThanOrEqual(acknowledged)
    // The largest send buffer of the kernel bounds the bytes in flight.
    expect(bill).toBeLessThanOrEqual(acknowledged + 4 * 1024 * 1024 - maxLost.ofConnection)
  })
})
