/**
 * `server CERTIFICATE KEY` answers HTTP/3 requests with the bytes it was sent, and prints its port. `client PORT` sends
 * three requests of up to 600,000 bytes and prints `equal` if each answer has the bytes of its request. Each runs in a
 * process of its own: a second client or server in one process of Bun 1.4 fails at times with HTTP3HandshakeFailed. The
 * process ends when its stdin is closed, so a test that fails or times out leaves none behind.
 */
const [role, ...given] = process.argv.slice(2)

function serve(cert: string, key: string): void {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: { cert: Bun.file(cert), key: Bun.file(key) },
    http1: false,
    http3: true,
    development: false,
    fetch: async (request) => new Response(await request.arrayBuffer()),
  })
  console.log(server.port)
}

async function send(port: string): Promise<void> {
  for (const length of [1, 60_000, 600_000]) {
    const body = Uint8Array.from({ length }, (_, at) => (at * at) % 251)
    // With a certificate authority of the caller, Bun 1.4 fails with HTTP3Unsupported.
    const init = { method: 'POST', body, protocol: 'http3', tls: { rejectUnauthorized: false } } as const
    const answer = await fetch(`https://127.0.0.1:${port}/`, init)
    if (!Buffer.from(await answer.bytes()).equals(body)) process.exit(1)
  }
  console.log('equal')
  process.exit(0)
}

void Bun.stdin.text().then(() => process.exit(1))
if (role === 'server') serve(given[0] ?? '', given[1] ?? '')
else await send(given[0] ?? '')
