import type { OwnNetwork } from '../harness/own-network.ts'
import { basic } from '../harness/transfers.ts'
import { untilStill } from '../harness/until.ts'
import { openUserTcp, type UserConnection } from '../harness/user-tcp.ts'
import type { StealthyClient, StealthyFetch } from './attackers/unacknowledged.ts'

/** The part that a client acknowledges before it stops: it raises the kernel's congestion window. */
const paidPart = 0.25
const stillMs = 400
const answerWithinMs = 20_000

/** A client with a user-space TCP, which looks to the kernel and the gateway like a local program. */
export function openStealthyClient(network: OwnNetwork): StealthyClient {
  const machine = openUserTcp(network, 'loopback')

  async function take(connection: UserConnection, ask: StealthyFetch): Promise<void> {
    const proof = basic({ port: ask.gatewayPort, username: ask.username, password: ask.password })
    connection.send(`CONNECT ${ask.target} HTTP/1.1\r\nHost: ${ask.target}\r\nProxy-Authorization: ${proof}\r\n\r\n`)
    await connection.readUntil(({ text }) => text.includes('\r\n\r\n'), answerWithinMs)
    if (!connection.text.startsWith('HTTP/1.1 200')) throw new Error(connection.text.slice(0, 80))
    if (ask.how === 'selective') connection.ackPolicy = 'sack'
    connection.send(`${ask.firstLine}\n`)
    if (ask.how === 'silent') {
      await connection.readUntil(({ receivedBytes }) => receivedBytes > paidPart * ask.bytes, answerWithinMs)
      connection.ackPolicy = 'none'
    }
    await untilStill(() => connection.receivedBytes, stillMs)
  }

  return {
    async fetch(ask) {
      const connection = await machine.connect(ask.gatewayPort)
      try {
        await take(connection, ask)
      } catch {
        // Refused, cut, or too slow; the bytes received so far count.
      }
      connection.reset()
      // The body of a refusal comes from the gateway and is never billed.
      if (!connection.text.startsWith('HTTP/1.1 200')) return { taken: 0 }
      const head = connection.text.indexOf('\r\n\r\n') + 4
      return { taken: head < 4 ? 0 : connection.receivedBytes - head }
    },
    async close() {
      machine.close()
    },
  }
}
