import { connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { z } from 'zod'
import { readAddress } from '../../core/address.ts'
import { seenSchema } from '../../node-protocol/tried.ts'
import { parseJson } from './json.ts'
import type { CallShop } from './leaving.ts'

const shippedLimitMs = 3_000
const mostBytes = 16 * 1024

const answerSchema = z.object({ data: seenSchema })

/** Asks the shop whom it sees, over a connection that leaves from one address, and shows the node's secret. */
export function createCallShop(deps: {
  readonly base: URL
  readonly secret: string
  /** How long a call may take; three seconds unless given. */
  readonly limitMs?: number
}): CallShop {
  const { base, secret, limitMs = shippedLimitMs } = deps
  const host = base.hostname.replace(/^\[|\]$/g, '')
  const isSecure = base.protocol === 'https:'
  const port = base.port === '' ? (isSecure ? 443 : 80) : Number(base.port)
  // RFC 6066, section 3: an address is no server name. The certificate is held against `host` all the same.
  const named = readAddress(host) ? {} : { servername: host }
  const head = [
    `GET ${new URL('seen', base).pathname} HTTP/1.1`,
    `Host: ${base.host}`,
    `Authorization: Bearer ${secret}`,
    'Connection: close',
  ]
  const request = `${head.join('\r\n')}\r\n\r\n`

  return (version, from, end) =>
    new Promise((resolve, reject) => {
      const plain = connect({ host, port, family: version, ...(from !== undefined && { localAddress: from }) })
      const socket: Socket = isSecure ? connectSecurely({ socket: plain, host, ...named }) : plain
      let text = ''
      const finish = (error?: Error) => {
        clearTimeout(timer)
        end.removeEventListener('abort', giveUp)
        socket.destroy()
        plain.destroy()
        const seen = error ? undefined : readSeen(text)
        if (seen === undefined) reject(error ?? new Error('the shop did not say whom it saw'))
        else resolve(seen)
      }
      const giveUp = () => finish(new Error('no answer in time'))
      const timer = setTimeout(giveUp, limitMs)
      end.addEventListener('abort', giveUp)
      plain.on('error', finish)
      socket.on('error', finish)
      socket.on(isSecure ? 'secureConnect' : 'connect', () => socket.write(request))
      socket.on('data', (bytes: Uint8Array) => {
        text += new TextDecoder().decode(bytes)
        if (text.length > mostBytes || readSeen(text) !== undefined) finish()
      })
      socket.on('close', () => finish())
    })
}

/** The body is one line of JSON, however the answer is framed. */
function readSeen(answer: string): string | undefined {
  if (!/^HTTP\/1\.[01] 200 /.test(answer)) return undefined
  const body = /\{.*\}/s.exec(answer.slice(answer.indexOf('\r\n\r\n')))?.[0]
  const read = body === undefined ? undefined : answerSchema.safeParse(parseJson(body))
  return read?.success ? read.data.data.from : undefined
}
