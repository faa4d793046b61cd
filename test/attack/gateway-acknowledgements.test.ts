import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'bun:test'
import type { Socket, TCPSocketListener } from 'bun'
import { mostLost } from '../../src/plane/gateway/count/losses.ts'
import { loginLine, openEngine, type Stand, until } from '../harness/engine.ts'
import { findGround } from '../harness/ground.ts'
import { enterOwnNetwork, type OwnNetwork } from '../harness/own-network.ts'
import { untilStill } from '../harness/until.ts'
import { type AckPolicy, openUserTcp, type UserConnection, type UserTcp } from '../harness/user-tcp.ts'

/**
 * Selective acknowledgements are counted in segments, of which the last may be short; one is kept a secret, and one is
 * doubtful after a reset.
 */
const segmentBytes = 1460
const inDoubt = 3 * segmentBytes

const { test, isPossible } = await findGround('tests with a TCP of their own')
const origin4 = '45.12.0.2'
const block = Buffer.alloc(256 * 1024, 97)

let network: OwnNetwork
let machine: UserTcp
let stand: Stand
let origin: TCPSocketListener<Pouring>
let billed: number

type Pouring = { left: number; ends: boolean }

/** Gives as many bytes as it is asked for; `1000 and no more` are a thousand, and the end. */
function startOrigin(): TCPSocketListener<Pouring> {
  const pour = (socket: Socket<Pouring>): void => {
    while (socket.data.left > 0) {
      const gone = socket.write(block.subarray(0, Math.min(block.length, socket.data.left)))
      if (gone <= 0) return
      socket.data.left -= gone
    }
    if (socket.data.ends) socket.end()
  }
  return Bun.listen<Pouring>({
    hostname: origin4,
    port: 0,
    socket: {
      open: (socket) => void (socket.data = { left: 0, ends: false }),
      data(socket, bytes) {
        const asked = bytes.toString()
        socket.data = { left: Number.parseInt(asked, 10), ends: asked.endsWith('no more') }
        pour(socket)
      },
      drain: pour,
    },
  })
}

function look(): number {
  for (const { received } of stand.engine.carrier.takeChanged().subusers) billed = received
  return billed
}

async function tunnel(login = 'pavel', window?: number): Promise<UserConnection> {
  const client = await machine.connect(stand.port, window === undefined ? {} : { window })
  const to = `${origin4}:${origin.port}`
  client.send(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n${loginLine(login)}\r\n`)
  await client.hear(({ text }) => text.includes('\r\n\r\n'))
  expect(client.text).toStartWith('HTTP/1.1 200')
  return client
}

/** Takes as much of so many bytes as the policy gets it, and tells how much that was. */
async function download(client: UserConnection, bytes: number, ackPolicy: AckPolicy): Promise<number> {
  const before = client.receivedBytes
  client.ackPolicy = ackPolicy
  client.send(String(bytes))
  await untilStill(() => client.receivedBytes, 250)
  return client.receivedBytes - before
}

const isClosed = (): boolean => stand.engine.standing.open === 0

describe('acknowledgements', () => {
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
    billed = 0
    const policy = { ownAddresses: [] }
    stand = openEngine({ hostname: machine.address, mode: 'production', policy, limits: { idleMs: 1000 } })
  })

  afterEach(async () => {
    if (isPossible) await stand.stop()
  })

  test('what is acknowledged selectively is billed, whether or not the acknowledgement moves', async () => {
    const client = await tunnel()
    const got = await download(client, 1_000_000, 'sack')
    expect(got).toBeGreaterThan(500_000)
    await untilStill(look)
    expect(look()).toBeGreaterThanOrEqual(got - inDoubt)
    client.reset()
    await until(isClosed)
    await untilStill(look)
    expect(look()).toBeLessThanOrEqual(got)
    expect(look()).toBeGreaterThanOrEqual(got - inDoubt)
  })

  test('nobody gains by resetting before anybody looks', async () => {
    let got = 0
    for (let count = 0; count < 10; count += 1) {
      const client = await tunnel()
      client.ackPolicy = 'sack'
      client.send('1000000')
      await client.hear(({ receivedBytes }) => receivedBytes > 800_000)
      client.reset()
      got += client.receivedBytes
    }
    await until(isClosed)
    expect(await untilStill(look)).toBeGreaterThanOrEqual(got - 10 * (inDoubt + 100))
  })

  test('who acknowledges nothing has at most 64 KiB of a connection for nothing', async () => {
    const client = await tunnel()
    // What it acknowledges lets the system send more at once; then it falls silent.
    const paid = await download(client, 3_000_000, 'normal')
    const got = paid + (await download(client, 3_000_000, 'none'))
    expect(got).toBeGreaterThan(paid + mostLost.ofConnection)
    client.reset()
    await until(isClosed)
    const bill = await untilStill(look)
    expect(bill).toBeGreaterThanOrEqual(got - mostLost.ofConnection)
    expect(bill).toBeLessThanOrEqual(got)
  })

  test('and at most a MiB of a credential, however many connections it takes', async () => {
    let got = 0
    for (let count = 0; count < 100; count += 1) {
      const client = await tunnel()
      client.ackPolicy = 'none'
      client.send('1000000')
      await client.hear(({ receivedBytes }) => receivedBytes >= 10 * segmentBytes)
      client.reset()
      got += client.receivedBytes - client.text.indexOf('\r\n\r\n') - 4
    }
    expect(got).toBeGreaterThan(1.3 * mostLost.ofCredential)
    await until(isClosed)
    const bill = await untilStill(look)
    expect(bill).toBeGreaterThanOrEqual(got - mostLost.ofCredential)
    expect(bill).toBeLessThanOrEqual(got)
  })

  test('who acknowledges what has not come pays for it', async () => {
    const client = await tunnel()
    const got = await download(client, 1_000_000, 'optimistic')
    client.reset()
    await until(isClosed)
    // No system believes what it has not sent: so the last piece goes unsaid, and a longer one right before it too.
    expect(await untilStill(look)).toBeGreaterThanOrEqual(got - 2 * segmentBytes)
  })

  test('what never went out, for the customer had no room, is not billed', async () => {
    const client = await tunnel()
    const got = await download(client, 100_000, 'normal')
    client.setWindow(0)
    client.send('5000000')
    await untilStill(() => client.receivedBytes, 250)
    client.reset()
    await until(isClosed)
    expect(await untilStill(look)).toBe(got)
  })

  test('a customer who ends in order, and then is silent, gains nothing by it', async () => {
    const client = await tunnel()
    const got = await download(client, 500_000, 'sack')
    client.finish()
    await until(isClosed)
    expect(await untilStill(look)).toBeGreaterThanOrEqual(got - inDoubt)
  })

  test.each(['normal', 'sack', 'none'] as const)(
    'the end of what was said is nobody’s byte, however it is acknowledged (%s) before a reset',
    async (ackPolicy) => {
      let got = 0
      for (const bytes of [0, 1, 2, 1459, 1460, 1461, 100_000]) {
        const client = await tunnel()
        const head = client.receivedBytes
        client.ackPolicy = ackPolicy
        client.send(`${bytes} and no more`)
        await client.hear(({ hasEnded, receivedBytes }) => hasEnded || receivedBytes - head >= 10 * segmentBytes)
        client.reset()
        got += client.receivedBytes - head
      }
      await until(isClosed)
      const bill = await untilStill(look)
      if (ackPolicy === 'normal') expect(bill).toBe(got)
      expect(bill).toBeLessThanOrEqual(got)
    },
  )

  test('a customer whose line drops pays for what his machine has acknowledged, to the byte, ten times in a row', async () => {
    let acknowledged = 0
    for (let count = 0; count < 10; count += 1) {
      const client = await tunnel('pavel', 48 * 1024)
      const head = client.acknowledgedBytes
      client.send('50000000')
      await client.hear(({ receivedBytes }) => receivedBytes > 500_000)
      client.drop()
      acknowledged += client.acknowledgedBytes - head
    }
    await until(isClosed)
    expect(await untilStill(look)).toBe(acknowledged)
  })

  test('a customer with a large window whose line drops pays for no more than was sent, less what is borne', async () => {
    const client = await tunnel()
    const head = client.acknowledgedBytes
    client.send('50000000')
    await client.hear(({ receivedBytes }) => receivedBytes > 3_000_000)
    client.drop()
    const acknowledged = client.acknowledgedBytes - head
    await until(isClosed)
    const bill = await untilStill(look)
    expect(bill).toBeGreaterThanOrEqual(acknowledged)
    // What can be on its way is what the system's largest send buffer holds.
    expect(bill).toBeLessThanOrEqual(acknowledged + 4 * 1024 * 1024 - mostLost.ofConnection)
  })
})
