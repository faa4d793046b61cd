import { connect } from 'node:net'
import { readAnswers } from './raw.ts'
import type { Service } from './service.ts'

/** A request whose head has arrived and whose body has not. */
export type Dripping = {
  /** Sends the rest of the body, and reads the answer. */
  finish(): Promise<{ status: number; body: { ok: boolean; error?: { code: string }; data?: unknown } }>
  /** Disconnects without it. */
  leave(): void
}

/** The authentication of customers or nodes. */
type Entrance = { authenticate: (...args: never[]) => Promise<unknown> }

/** Sends a POST except for the last byte of its body, and waits until the shop has authenticated the caller. */
export async function startDripping(
  service: Pick<Service, 'url' | 'services'>,
  path: string,
  options: { readonly token: string; readonly body: unknown; readonly key?: string },
): Promise<Dripping> {
  const entrance: Entrance = path.startsWith('/node/') ? service.services.fleet : service.services.customers
  const { authenticate } = entrance
  const authenticated = Promise.withResolvers<void>()
  entrance.authenticate = async (...args) => {
    const caller = await authenticate(...args)
    authenticated.resolve()
    return caller
  }
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  const body = JSON.stringify(options.body)
  const key = options.key === undefined ? '' : `Idempotency-Key: ${options.key}\r\n`
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer ${options.token}\r\n${key}` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n` +
      body.slice(0, -1),
  )
  await authenticated.promise
  entrance.authenticate = authenticate
  return {
    async finish() {
      const received: Buffer[] = []
      socket.on('data', (chunk) => received.push(Buffer.from(chunk)))
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.write(body.slice(-1))
      await closed
      const [answer] = readAnswers(Buffer.concat(received))
      if (!answer) throw new Error('there was no answer')
      return { status: answer.status, body: JSON.parse(answer.body) }
    },
    leave: () => void socket.destroy(),
  }
}
