/** Answers every message with 204 and counts them: its own process, as a customer's program is. */
let count = 0
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    if (request.method === 'GET') return Response.json(count)
    count += 1
    return new Response(null, { status: 204 })
  },
})
process.stdout.write(`${server.port}\n`)
