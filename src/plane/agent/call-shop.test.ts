import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { selfSigned } from '../../../test/harness/self-signed.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-call-'))
const trusted = join(folder, 'shop.pem')
writeFileSync(trusted, selfSigned.cert)

/** Which certificates are trusted is said when a program starts, so each call is a program's. */
async function call(url: string, from: string, env: Record<string, string> = {}): Promise<string> {
  const script = `
    import { createCallShop } from ${JSON.stringify(join(import.meta.dir, 'call-shop.ts'))}
    const call = createCallShop({ base: new URL('/node/v1/', ${JSON.stringify(url)}), secret: 'secret' })
    console.log(await call(4, ${JSON.stringify(from)}, new AbortController().signal).catch(() => 'nobody'))
    // Nothing that was begun fails behind its back.
    await Bun.sleep(100)
    console.log('alive')`
  const child = Bun.spawn([process.execPath, '--no-env-file', '-e', script], { env, stdout: 'pipe', stderr: 'pipe' })
  return (await child.stdout.text()).trim().replaceAll('\n', ', ')
}

describe('a call from an address of the machine', () => {
  let stop = () => {}
  afterEach(() => stop())

  function open(isSecure: boolean): number {
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      ...(isSecure && { tls: selfSigned }),
      fetch: (request): Response =>
        request.headers.get('authorization') === 'Bearer secret'
          ? Response.json({ ok: true, data: { from: server.requestIP(request)?.address } })
          : new Response('', { status: 401 }),
    })
    stop = () => void server.stop(true)
    return server.port ?? 0
  }

  test('tells whom the shop saw, over TLS too, whether the shop goes by a name or by an address', async () => {
    expect(await call(`http://127.0.0.1:${open(false)}`, '127.0.0.5')).toBe('127.0.0.5, alive')
    stop()
    const port = open(true)
    const env = { NODE_EXTRA_CA_CERTS: trusted }
    expect(await call(`https://127.0.0.1:${port}`, '127.0.0.5', env)).toBe('127.0.0.5, alive')
    expect(await call(`https://localhost:${port}`, '127.0.0.6', env)).toBe('127.0.0.6, alive')
  })

  test('shows its secret to nobody who is not the shop, and comes to nothing where nobody listens', async () => {
    const port = open(true)
    expect(await call(`https://127.0.0.1:${port}`, '127.0.0.5')).toBe('nobody, alive')
    const env = { NODE_EXTRA_CA_CERTS: trusted }
    // Of this machine too, but of none that the certificate is for.
    expect(await call(`https://127.0.0.2:${port}`, '127.0.0.5', env)).toBe('nobody, alive')
    stop()
    expect(await call(`https://127.0.0.1:${port}`, '127.0.0.5', env)).toBe('nobody, alive')
  })
})

process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
