import { readAnswers } from '../../test/harness/raw-client.ts'
import { socksTo } from '../../test/harness/socks-client.ts'
import { readDatagram, TestAssociation } from '../../test/harness/udp.ts'
import { until } from '../../test/harness/until.ts'
import { digestOf, type NameServer, type Origin } from './origin.ts'

const limitMs = 20_000
/** UDP may lose a datagram. */
const againMs = 1000

/** The local SOCKS5 port of a client. */
export type Local = { readonly port: number; readonly username: string }

/** Fails after the limit. */
async function within<Value>(work: Promise<Value>): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`not within ${limitMs / 1000} s`)), limitMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** The body of the origin's answer to one request. */
async function exchange(local: Local, origin: Origin, method: 'GET' | 'POST'): Promise<Uint8Array> {
  const { client, code } = await socksTo(local.port, local.username, '127.0.0.1', origin.port)
  if (code !== 0) throw new Error(`SOCKS5 reply ${code}`)
  const answerIn = (text: string, status: number) =>
    readAnswers(text.slice(text.indexOf('HTTP/1.1 '))).answers.find((each) => each.status === status)
  const read = async (status: number): Promise<Uint8Array> => {
    await client.readUntil((text) => answerIn(text, status) !== undefined, limitMs)
    const answer = answerIn(client.text, status)
    if (!answer) throw new Error(`${client.receivedBytes} B arrived, and no answer ${status}`)
    return Buffer.from(answer.body, 'latin1')
  }
  client.send(`${method} / HTTP/1.1\r\nHost: 127.0.0.1\r\n`)
  if (method === 'GET') client.send('\r\n')
  else {
    // Like curl. Xray's Trojan breaks off if the first bytes of a connection are more than 8 KiB.
    client.send(`Content-Length: ${origin.bytes.length}\r\nExpect: 100-continue\r\n\r\n`)
    await read(100)
    client.send(origin.bytes)
  }
  return read(200).finally(() => client.reset())
}

/** Bytes that the origin sends arrive unchanged. */
export async function checkDownload(local: Local, origin: Origin): Promise<void> {
  const arrived = await within(exchange(local, origin, 'GET'))
  if (digestOf(arrived) !== digestOf(origin.bytes)) throw new Error('other bytes arrived')
}

/** Bytes that the client sends reach the origin unchanged. */
export async function checkUpload(local: Local, origin: Origin): Promise<void> {
  const answer = await within(exchange(local, origin, 'POST'))
  if (Buffer.from(answer).toString() !== digestOf(origin.bytes)) throw new Error('other bytes arrived')
}

/** RFC 1035, 4.1: a query for the IPv4 addresses of a name. */
function toQuery(id: number): Buffer {
  const name = ['turnpike', 'test', ''].flatMap((label) => [label.length, ...Buffer.from(label)])
  return Buffer.from([id >> 8, id & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...name, 0, 1, 0, 1])
}

/** All name servers answer queries from one UDP socket of the client, each its own. */
export async function checkNames(
  local: Local,
  servers: readonly NameServer[],
  attempts = limitMs / againMs,
): Promise<void> {
  const association = await within(TestAssociation.open(local.port, local.username))
  if (association.code !== 0) throw new Error(`SOCKS5 reply ${association.code}`)
  const answers = () => association.peer.received.map(({ bytes }) => readDatagram(bytes).payload)
  const isAnswered = ({ last }: NameServer) => answers().some((each) => each[1] === last && each.at(-1) === last)
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    for (const server of servers.filter((each) => !isAnswered(each)))
      association.send(server.host, server.port, toQuery(server.last))
    await until(() => servers.every(isAnswered), againMs).catch(() => {})
    if (servers.every(isAnswered)) break
  }
  association.close()
  const missing = servers.filter((each) => !isAnswered(each))
  if (missing.length > 0) throw new Error(`${missing.length} of ${servers.length} name servers did not answer`)
}
