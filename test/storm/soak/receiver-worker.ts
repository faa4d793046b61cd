/**
 * A program of customers that takes webhooks over HTTPS, in a process of its own: `receiver-worker.ts HOST PORT CERT
 * KEY`. The path names the customer. A GET answers how many messages of each customer came, and the numbers of their
 * events; every hundredth message is refused once, so that it is repeated.
 */
import { readFileSync } from 'node:fs'

const [hostname = '', port = '', cert = '', key = ''] = process.argv.slice(2)
const refuseEvery = 100
const received = new Map<string, { messages: number; readonly events: Set<number> }>()
let count = 0

Bun.serve({
  hostname,
  port: Number(port),
  tls: { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') },
  async fetch(request) {
    if (request.method === 'GET') {
      const shown = [...received].map(([name, { messages, events }]) => [name, { messages, events: [...events] }])
      return Response.json(Object.fromEntries(shown))
    }
    const { id } = (await request.json()) as { id: number }
    count += 1
    if (count % refuseEvery === 0) return new Response(null, { status: 503 })
    const name = new URL(request.url).pathname.slice(1)
    const known = received.get(name) ?? { messages: 0, events: new Set<number>() }
    received.set(name, known)
    known.messages += 1
    known.events.add(id)
    return new Response(null, { status: 204 })
  },
})
process.stdout.write('open\n')
