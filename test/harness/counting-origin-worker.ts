/**
 * An origin in a network of its own, which counts the bytes of its connections and datagrams: a page and a file of
 * 100 MB over HTTP and HTTPS, and a name server. It prints its counts as JSON for each line that it reads.
 */
import { createHash } from 'node:crypto'
import { createInterface } from 'node:readline'
import { createDice } from './dice.ts'
import { serveNames } from './name-server.ts'
import { selfSigned } from './self-signed.ts'

const [host = '127.0.0.1', fileBytes = '100000000'] = process.argv.slice(2)
const counts = { received: 0, sent: 0 }

const dice = createDice(1)
const piece = Uint8Array.from({ length: 65_521 }, () => dice(256))
const file = new Uint8Array(Number(fileBytes))
for (let at = 0; at < file.length; at += piece.length) file.set(piece.subarray(0, file.length - at), at)

const fetch = (request: Request): Response =>
  new URL(request.url).pathname === '/file'
    ? new Response(file, { headers: { 'Content-Disposition': 'attachment; filename=file' } })
    : new Response('hello')
const inside = [
  [80, Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch }).port],
  [443, Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch, tls: selfSigned }).port],
] as const

/** Passes bytes on, counts them, and keeps what the other side does not take. */
function makePipe(add: (bytes: number) => void) {
  let waiting: Buffer[] = []
  let hasEnded = false
  return {
    to: undefined as Bun.Socket<unknown> | undefined,
    from: undefined as Bun.Socket<unknown> | undefined,
    take(bytes: Uint8Array): void {
      add(bytes.length)
      waiting.push(Buffer.from(bytes))
      this.flush()
    },
    flush(): void {
      while (this.to && waiting[0]) {
        const taken = this.to.write(waiting[0])
        if (taken < waiting[0].length) {
          waiting[0] = waiting[0].subarray(Math.max(0, taken))
          this.from?.pause()
          return
        }
        waiting.shift()
      }
      this.from?.resume()
      if (hasEnded) this.to?.end()
    },
    end(): void {
      hasEnded = true
      if (waiting.length === 0) this.to?.end()
    },
    drop(): void {
      waiting = []
    },
  }
}

type Pair = { readonly up: ReturnType<typeof makePipe>; readonly down: ReturnType<typeof makePipe> }
for (const [port, behind = 0] of inside) {
  Bun.listen<Pair>({
    hostname: host,
    port,
    allowHalfOpen: true,
    socket: {
      open(near) {
        const up = makePipe((bytes) => void (counts.received += bytes))
        const down = makePipe((bytes) => void (counts.sent += bytes))
        near.data = { up, down }
        up.from = near
        down.to = near
        void Bun.connect({
          hostname: '127.0.0.1',
          port: behind,
          allowHalfOpen: true,
          socket: {
            open(far) {
              up.to = far
              down.from = far
              up.flush()
            },
            data: (_, bytes) => down.take(bytes),
            drain: () => up.flush(),
            end: () => down.end(),
            close: () => down.end(),
            error() {},
          },
        })
      },
      data: ({ data }, bytes) => data.up.take(bytes),
      drain: ({ data }) => data.down.flush(),
      end: ({ data }) => data.up.end(),
      close({ data }) {
        data.down.drop()
        data.up.to?.end()
      },
      error() {},
    },
  })
}

await serveNames(host, 7, 53, (queryBytes, answerBytes) => {
  counts.received += queryBytes
  counts.sent += answerBytes
})
process.stdout.write(`${JSON.stringify({ digest: createHash('sha256').update(file).digest('hex') })}\n`)
for await (const _ of createInterface({ input: process.stdin })) process.stdout.write(`${JSON.stringify(counts)}\n`)
process.exit(0)
