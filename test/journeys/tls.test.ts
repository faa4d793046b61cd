import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { type Made, makeCertificate, putCertificate, servedAt } from '../harness/certificates.ts'
import { curl, run } from '../harness/clients.ts'
import { prepareFolder } from '../harness/database.ts'
import { freePort, startOrigin } from '../harness/gateway.ts'
import { type Pebble, startPebble } from '../harness/pebble.ts'
import { isLong } from '../harness/scale.ts'
import { selfSignedEnded } from '../harness/self-signed.ts'
import { openServiceManager } from '../harness/service-manager.ts'
import { endStarted, type Running, runTurnpike, startTurnpike, untilTrue } from '../harness/turnpike.ts'

const token = 'sandbox-token-of-a-test'
const folder = mkdtempSync(join(tmpdir(), 'turnpike-tls-'))
afterAll(async () => {
  await endStarted()
  rmSync(folder, { recursive: true, force: true })
})

const settings = (name: string): Record<string, string> => ({
  TURNPIKE_DATA: join(folder, name),
  TURNPIKE_METRICS_LISTEN: '',
  TURNPIKE_SANDBOX_TOKEN: token,
})

describe('a shop with a certificate from files', () => {
  const port = freePort()
  let first: Made
  let second: Made
  let files: ReturnType<typeof putCertificate>
  let shop: Running
  beforeAll(async () => {
    ;[first, second] = await Promise.all([makeCertificate('first'), makeCertificate('second')])
    files = putCertificate(first)
    shop = startTurnpike(['shop'], {
      ...settings('files'),
      TURNPIKE_DATA: prepareFolder(join(folder, 'files'), 'stocked'),
      ...files.env,
      TURNPIKE_PORT: String(port),
      TURNPIKE_PUBLIC_URL: 'https://shop.example.net',
    })
    await shop.until(
      /Turnpike is open at https:\/\/127.*\n.*https:\/\/shop\.example\.net .*\n.*shop\.example\.net\/docs/,
    )
  })
  afterAll(() => files.remove())

  const request = (path: string, ...more: readonly string[]) =>
    run('curl', '-qsS', '--max-time', '60', '--cacert', files.cert, ...more, `https://127.0.0.1:${port}${path}`)

  test('a shop serves the API and the console over TLS 1.2 and 1.3 only', async () => {
    const bearer = ['-H', `Authorization: Bearer ${token}`]
    expect((await request('/api/v1/balance', ...bearer)).out).toContain('"balance_rub":100000')
    expect((await request('/api/v1/balance', ...bearer, '--tls-max', '1.2')).out).toContain('"balance_rub":100000')
    expect((await request('/')).out).toContain('<!doctype html>')
    expect((await request('/api/v1/balance')).out).toContain('invalid_token')
    expect(await servedAt(port, '-tls1_1', '-cipher', 'ALL:@SECLEVEL=0')).toBeUndefined()
    expect((await run('curl', '-qsS', `http://127.0.0.1:${port}/healthz`)).exit).not.toBe(0)
    const bought = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
    const body = ['-H', 'Content-Type: application/json', '-d', JSON.stringify(bought)]
    // No gateway serves the address; the test checks that a body and its answer pass.
    expect((await request('/api/v1/dedicated/buy', ...bearer, ...body)).out).toContain(
      'No gateway that serves these addresses',
    )
  })

  test('SIGHUP serves a new certificate without a failed request or a closed connection', async () => {
    const kept = await openKept(port, files.cert)
    expect(await kept.get('/healthz')).toBe('200')
    const failures: string[] = []
    const until = { isOver: false }
    const others = Promise.all(
      [0, 1].map(async () => {
        while (!until.isOver) {
          const { exit, err } = await request('/healthz', '-k')
          if (exit !== 0) failures.push(err)
        }
      }),
    )
    for (const made of isLong ? [second, first, second, first] : [second, first]) {
      const name = made === first ? 'first' : 'second'
      files.replace(made)
      shop.kill('SIGHUP')
      expect(await untilTrue(async () => (await servedAt(port)) === name)).toBe(true)
      expect(await kept.get('/healthz')).toBe('200')
    }
    until.isOver = true
    await others
    expect(failures).toEqual([])
    kept.close()
  })

  test('a shop keeps its certificate when the new files do not fit or have expired, and logs why', async () => {
    files.replace({ cert: second.cert, key: first.key })
    shop.kill('SIGHUP')
    await shop.until(/certificate not taken.*the key does not belong to the certificate/)
    expect(await servedAt(port)).toBe('first')
    files.replace(selfSignedEnded)
    shop.kill('SIGHUP')
    await shop.until(/certificate not taken.*it has expired/)
    expect(await servedAt(port)).toBe('first')
    files.replace(first)
    shop.kill('SIGHUP')
    expect(shop.err()).not.toContain('PRIVATE KEY')
  })

  test('a shop exits 2 when its key does not belong to its certificate', async () => {
    const bad = putCertificate({ cert: second.cert, key: first.key })
    const ended = await runTurnpike(['shop'], { ...settings('bad'), TURNPIKE_PORT: '0', ...bad.env })
    expect(ended.exit).toBe(2)
    expect(ended.err).toContain('cannot be used: the key does not belong to the certificate.')
    expect(ended.err).not.toContain('PRIVATE')
    bad.remove()
  })
})

/** A keep-alive connection. */
async function openKept(port: number, ca: string) {
  const socket = await new Promise<TLSSocket>((resolve, reject) => {
    const opening = connect({ port, host: '127.0.0.1', ca: readFileSync(ca), servername: 'localhost' }, () =>
      resolve(opening),
    )
    opening.once('error', reject)
  })
  return {
    get: (path: string) =>
      new Promise<string>((resolve, reject) => {
        socket.once('close', () => reject(new Error('it was closed')))
        socket.once('data', (bytes) => resolve(bytes.toString().split(' ')[1] ?? ''))
        socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      }),
    close: () => socket.destroy(),
  }
}

test('a shop without its ACME certificate tells systemd that it is ready, and that it has no certificate', async () => {
  const notify = `@turnpike-tls-${freePort()}`
  const systemd = openServiceManager(notify)
  const shop = startTurnpike(['shop'], {
    ...settings('awaited'),
    TURNPIKE_DATA: prepareFolder(join(folder, 'awaited'), 'stocked'),
    TURNPIKE_PORT: '0',
    TURNPIKE_ACME_NAMES: 'shop.test',
    TURNPIKE_ACME_TERMS: 'agreed',
    TURNPIKE_ACME_DIRECTORY: `https://127.0.0.1:${freePort()}/nobody`,
    TURNPIKE_ACME_LISTEN: `127.0.0.1:${freePort()}`,
    NOTIFY_SOCKET: notify,
  })
  const notices: string[] = []
  const missing = 'STATUS=No certificate yet: TLS connections are refused. The log has the reason.'
  expect(await untilTrue(() => notices.push(...systemd.receiveAll()) > 0 && notices.includes(missing))).toBeTrue()
  expect(notices).toEqual(['STATUS=Serving.', 'READY=1', missing])
  await shop.until(/"event":"certificate not renewed"/)
  // The banner waits 30 s for the certificate.
  expect(shop.out()).toBe('')
  shop.kill('SIGTERM')
  await shop.exited
  systemd.close()
})

describe('up with a certificate by ACME from pebble', () => {
  const [port, gatewayPort, tlsPort, metricsPort] = [freePort(), freePort(), freePort(), freePort()]
  const root = join(folder, 'root.pem')
  let pebble: Pebble
  let up: Running
  let env: Record<string, string>
  beforeAll(async () => {
    pebble = await startPebble()
    writeFileSync(root, await pebble.root())
    env = {
      ...settings('acme'),
      TURNPIKE_DATA: prepareFolder(join(folder, 'acme'), 'stocked'),
      TURNPIKE_PORT: String(port),
      TURNPIKE_GATEWAY_PORT: String(gatewayPort),
      TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
      TURNPIKE_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
      TURNPIKE_ACME_NAMES: 'shop.test,proxy.shop.test',
      TURNPIKE_ACME_TERMS: 'agreed',
      TURNPIKE_ACME_CONTACT: 'operator@shop.test',
      TURNPIKE_ACME_DIRECTORY: pebble.directory,
      TURNPIKE_ACME_CA: pebble.caFile,
      TURNPIKE_ACME_LISTEN: `127.0.0.1:${pebble.challengePort}`,
    }
    up = startTurnpike(['up'], env)
    await up.until(/Turnpike is open at/)
  })
  afterAll(() => pebble.stop())

  const request = (path: string, ...more: readonly string[]) => {
    const where = ['--cacert', root, '--resolve', `shop.test:${port}:127.0.0.1`]
    return run('curl', '-qsS', '--max-time', '60', ...where, ...more, `https://shop.test:${port}${path}`)
  }

  test('up prints its banner once it has its certificate, and logs no warning before except about joining', async () => {
    expect(up.out()).toContain(`Customers reach it at https://shop.test:${port} (TURNPIKE_PUBLIC_URL)`)
    expect((await request('/healthz')).exit).toBe(0)
    expect(up.err()).toContain('certificate renewed')
    // On a busy machine the nodes warn until they have joined.
    const loud = up
      .err()
      .split('\n')
      .filter((line) => /"level":"(warn|error)"/.test(line))
      .filter((line) => !/"event":"(no join key|not joined yet|report not taken)"/.test(line))
    expect(loud).toEqual([])
  })

  test('up serves the shop and proxies over TLS by the names of its certificate', async () => {
    const bearer = ['-H', `Authorization: Bearer ${token}`, '-H', 'Content-Type: application/json']
    const buy = JSON.stringify({ country_code: 'DE', period: 7, count: 1, ipv: 4 })
    const bought = JSON.parse((await request('/api/v1/dedicated/buy', ...bearer, '-d', buy)).out)
    const [{ username, password, exit_ip: from }] = bought.data.proxies
    const origin = startOrigin()
    const at = `https://${username}:${password}@proxy.shop.test:${tlsPort}`
    const resolve = ['--resolve', `proxy.shop.test:${tlsPort}:127.0.0.1`]
    expect((await curl('--proxy-cacert', root, ...resolve, '-x', at, origin.url)).status).toBe(200)
    expect(origin.seen.at(-1)?.from).toBe(from)
    await origin.stop()
  })

  test('the ACME account, key and certificate have mode 0600 and are not logged', () => {
    for (const name of ['account.json', 'certificate.key', 'certificate.pem', 'attempts.json']) {
      expect(statSync(join(folder, 'acme/acme', name)).mode & 0o777).toBe(0o600)
    }
    expect(up.err()).not.toContain('PRIVATE')
  })

  test('the HTTP port redirects to the shop’s own https address, whatever the Host header and path', async () => {
    const at = `http://127.0.0.1:${pebble.challengePort}`
    const locationOf = async (path: string, ...more: readonly string[]) => {
      const { out } = await run('curl', '-qsSI', '--path-as-is', ...more, `${at}${path}`)
      return /^location: (.*?)\r?$/im.exec(out)?.[1]
    }
    const own = `https://shop.test:${port}`
    expect(await locationOf('/docs?a=1')).toBe(`${own}/docs?a=1`)
    expect(await locationOf('/', '-H', 'Host: evil.example')).toBe(`${own}/`)
    expect(await locationOf('//evil.example/')).toBe(`${own}/evil.example/`)
    expect(await locationOf('/\\evil.example')).toStartWith(`${own}/`)
    expect(await locationOf('/%0d%0aSet-Cookie:a=b')).toBe(`${own}/%0d%0aSet-Cookie:a=b`)
    const posted = await run('curl', '-qsS', '-o', '/dev/null', '-w', '%{http_code}', '-d', 'token=1', `${at}/api/v1/x`)
    expect(posted.out).toBe('403')
    for (const path of ['nobody', '..%2f..%2fetc%2fpasswd', '../../shop', '']) {
      const found = await run(
        'curl',
        '-qsS',
        '--path-as-is',
        '-w',
        '%{http_code}',
        `${at}/.well-known/acme-challenge/${path}`,
      )
      expect(found.out).toMatch(/404$|308$/)
    }
  })

  test('metrics and doctor show when the certificate expires', async () => {
    for (const at of [metricsPort, metricsPort + 1]) {
      const text = await (await fetch(`http://127.0.0.1:${at}/metrics`)).text()
      const [, endsAt] = /^turnpike_tls_certificate_expires_timestamp_seconds (\d+)/m.exec(text) ?? []
      expect(Number(endsAt)).toBeGreaterThan(Date.now() / 1000 + 86_400)
    }
    const { out } = await runTurnpike(['doctor'], env)
    expect(out).toMatch(/ok {5}certificate in .*: it is for shop\.test, proxy\.shop\.test and valid for \d+ days/)
    expect(out).toMatch(new RegExp(`ok {5}port ${port} of the shop`))
  })

  test('a restart keeps the certificate and requests no new one', async () => {
    const before = readFileSync(join(folder, 'acme/acme/certificate.pem'), 'utf8')
    up.kill('SIGTERM')
    await up.exited
    // Only the shop requests certificates; a long run starts a gateway as well.
    up = startTurnpike([isLong ? 'up' : 'shop'], env)
    await up.until(/Turnpike is open at/)
    expect(await untilTrue(async () => (await request('/healthz')).exit === 0)).toBe(true)
    expect(readFileSync(join(folder, 'acme/acme/certificate.pem'), 'utf8')).toBe(before)
    expect(up.err()).not.toContain('certificate renewed')
  })
})
