import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from '../harness/apt.ts'
import { makeCertificate } from '../harness/certificates.ts'
import { makePreparedTestDatabase, type TestDatabase } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { endStarted, type Running, runJson, startTurnpike, untilTrue } from '../harness/turnpike.ts'

const documented = join(import.meta.dir, '../../docs/operate/balancer')
const daemons = `${process.env['PATH'] ?? ''}:/usr/sbin`
const token = 'sandbox-token-behind-a-balancer'
const purchases = 40

type Balancer = {
  readonly program: string
  readonly packageName: string
  readonly file: string
  /** The command that runs the documented file, in the foreground, from a folder. */
  readonly command: (program: string, folder: string, text: string) => string[]
}

const balancers: Readonly<Record<'haproxy' | 'nginx', Balancer>> = {
  haproxy: {
    program: 'haproxy',
    packageName: 'haproxy',
    file: 'haproxy.cfg',
    command(program, folder, text) {
      writeFileSync(join(folder, 'haproxy.cfg'), text)
      return [program, '-db', '-f', join(folder, 'haproxy.cfg')]
    },
  },
  nginx: {
    program: 'nginx',
    packageName: 'nginx-light | nginx',
    file: 'nginx.conf',
    command(program, folder, text) {
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      )
      const whole = `daemon off; pid ${folder}/pid; error_log stderr; events {}
http { access_log off; ${paths.join(' ')} ${text} }`
      writeFileSync(join(folder, 'nginx.conf'), whole)
      return [program, '-p', folder, '-c', join(folder, 'nginx.conf')]
    },
  },
}

describe.each(Object.keys(balancers) as (keyof typeof balancers)[])('two shops behind %s', (name) => {
  const [tlsPort, plainPort, certbotPort, ...shopPorts] = [freePort(), freePort(), freePort(), freePort(), freePort()]
  const url = `https://127.0.0.1:${tlsPort}/api/v1`
  let folder: string
  let testDatabase: TestDatabase
  let shops: Running[]
  let balancer: Bun.Subprocess
  let env: Record<string, string>

  beforeAll(async () => {
    const { program, packageName, file, command } = balancers[name]
    if (Bun.which(program, { PATH: daemons }) === null) {
      expect(await installPackages([packageName])).toBeUndefined()
    }
    folder = mkdtempSync(join(tmpdir(), 'turnpike-balancer-'))
    const { cert, key } = await makeCertificate('balancer')
    writeFileSync(join(folder, 'shop.pem'), cert + key)
    writeFileSync(join(folder, 'shop.crt'), cert)
    writeFileSync(join(folder, 'shop.key'), key)
    testDatabase = await makePreparedTestDatabase('postgres', 'stocked')
    env = {
      TURNPIKE_DATABASE_URL: testDatabase.address,
      TURNPIKE_SECRET_KEY: '21'.repeat(32),
      TURNPIKE_SANDBOX_TOKEN: token,
      TURNPIKE_METRICS_LISTEN: '',
      TURNPIKE_PUBLIC_URL: `https://127.0.0.1:${tlsPort}`,
      TURNPIKE_TRUSTED_PROXIES: '127.0.0.1',
      TURNPIKE_DRAIN_SECONDS: '5',
    }
    shops = []
    for (const [index, port] of shopPorts.entries()) {
      shops.push(await startShop(index, port))
    }
    const text = readFileSync(join(documented, file), 'utf8')
      .replaceAll('10.0.0.11:8080', `127.0.0.1:${shopPorts[0]}`)
      .replaceAll('10.0.0.12:8080', `127.0.0.1:${shopPorts[1]}`)
      .replaceAll('127.0.0.1:8402', `127.0.0.1:${certbotPort}`)
      .replaceAll(/\/etc\/(?:haproxy|nginx)\//g, `${folder}/`)
      .replaceAll('[::]:443', `[::1]:${tlsPort}`)
      .replaceAll('[::]:80', `[::1]:${plainPort}`)
      .replaceAll(/(bind|listen) :?443/g, `$1 127.0.0.1:${tlsPort}`)
      .replaceAll(/(bind|listen) :?80\b/g, `$1 127.0.0.1:${plainPort}`)
      // Shows the test which shop has answered.
      .replace('balance leastconn', 'balance leastconn\n    http-response set-header X-Test-Server %s')
    const found = Bun.which(program, { PATH: daemons }) ?? program
    mkdirSync(join(folder, 'run'))
    balancer = Bun.spawn(command(found, join(folder, 'run'), text), { stdout: 'inherit', stderr: 'inherit' })
    expect(await untilTrue(async () => (await request('GET', '/balance').catch(() => undefined))?.status === 200)).toBe(
      true,
    )
  })
  afterAll(async () => {
    // nginx ends its workers on SIGTERM only.
    balancer?.kill('SIGTERM')
    await balancer?.exited
    await endStarted()
    await testDatabase?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  async function startShop(index: number, port: number): Promise<Running> {
    const shop = startTurnpike(['shop'], {
      ...env,
      TURNPIKE_DATA: join(folder, `shop-${index}`),
      TURNPIKE_PORT: String(port),
    })
    await shop.until(/open at/)
    return shop
  }

  const request = (method: string, path: string, headers: Record<string, string> = {}, body?: object) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
      tls: { rejectUnauthorized: false },
      keepalive: true,
    })

  /** Buys as a customer's program does: the same key again until there is an answer. */
  async function buy(key: string): Promise<void> {
    const body = { pool_type: 'residential', gb: 1 }
    const isBought = async (): Promise<boolean> => {
      const answer = await request('POST', '/premium/traffic/buy', { 'idempotency-key': key }, body).catch(
        () => undefined,
      )
      expect([undefined, 200, 502, 503, 504]).toContain(answer?.status)
      return answer?.status === 200
    }
    expect(await untilTrue(isBought)).toBe(true)
  }
  const balance = async (): Promise<number> => {
    const { data } = (await (await request('GET', '/balance')).json()) as { data: { balance_rub: number } }
    return data.balance_rub
  }

  test(`${purchases} purchases with a key are each charged once while one shop is killed`, async () => {
    const before = await balance()
    await buy(`${name}-first`)
    const price = before - (await balance())
    expect(price).toBeGreaterThan(0)
    const keys = Array.from({ length: purchases }, (_, index) => `${name}-${index}`)
    const waiting = [...keys]
    const buyAll = async (): Promise<void> => {
      for (let key = waiting.shift(); key !== undefined; key = waiting.shift()) {
        if (waiting.length === purchases / 2) shops[0]?.kill('SIGKILL')
        await buy(key)
      }
    }
    await Promise.all([buyAll(), buyAll(), buyAll(), buyAll()])
    for (const key of keys) await buy(key)
    expect(await balance()).toBeCloseTo(before - price * (purchases + 1), 2)
    shops[0] = await startShop(0, shopPorts[0] ?? 0)
  })

  test('the balancer answers 200 while a shop with a drain time stops: haproxy always, nginx with few exceptions', async () => {
    // HAProxy uses a started shop again after two checks; nginx after two seconds.
    const isUsed = async (): Promise<boolean> => {
      const { status, headers } = await request('GET', '/balance')
      return status === 200 && [null, 'shop-1'].includes(headers.get('x-test-server'))
    }
    expect(await untilTrue(isUsed)).toBe(true)
    const running = { isStopped: false }
    const statuses: number[] = []
    const reading = untilTrue(async () => {
      statuses.push((await request('GET', '/balance')).status)
      return running.isStopped
    }, 100)
    shops[1]?.kill('SIGTERM')
    expect(await shops[1]?.exited).toBe(0)
    running.isStopped = true
    await reading
    const others = statuses.filter((status) => status !== 200)
    expect(statuses).toContain(200)
    if (name === 'haproxy') expect(others).toEqual([])
    for (const status of others) expect([502, 503]).toContain(status)
  })

  const shopEnv = () => ({ ...env, TURNPIKE_DATA: join(folder, 'shop-0') })
  const firstCustomer = async (): Promise<string> =>
    (await runJson(['customer', 'list'], shopEnv())).json.items[0].customer_id

  test('the shop sees the address of the client, and a client cannot choose it by a header', async () => {
    const made = await runJson(['token', 'create', await firstCustomer(), '--from', '127.0.0.5'], shopEnv())
    const statusFrom = async (address: string, ...more: string[]): Promise<string> => {
      const headers = ['-H', `Authorization: Bearer ${made.json.token}`, ...more]
      const command = ['curl', '-sk', '-o', '/dev/null', '-w', '%{http_code}', '--interface', address, ...headers]
      return Bun.spawn([...command, `${url}/balance`], { stdout: 'pipe' }).stdout.text()
    }
    expect(await statusFrom('127.0.0.5')).toBe('200')
    expect(await statusFrom('127.0.0.6')).toBe('403')
    expect(await statusFrom('127.0.0.6', '-H', 'X-Forwarded-For: 127.0.0.5')).toBe('403')
  })

  test('the plain port redirects to https with 308, over IPv4 and IPv6', async () => {
    for (const [host, location] of [
      ['127.0.0.1', /^https:\/\/127\.0\.0\.1/],
      ['[::1]', /^https:\/\/\[::1\]/],
    ] as const) {
      const answer = await fetch(`http://${host}:${plainPort}/docs`, { redirect: 'manual' })
      expect([answer.status, answer.headers.get('location')]).toEqual([308, expect.stringMatching(location)])
    }
  })

  test('the balancer serves IPv6 clients, and sends Strict-Transport-Security for one year as a shop does', async () => {
    const answers = [
      ['127.0.0.1', '/docs', 200],
      ['[::1]', '/docs', 200],
      ['[::1]', '/no-such-page', 404],
    ] as const
    for (const [host, path, status] of answers) {
      const answer = await fetch(`https://${host}:${tlsPort}${path}`, { tls: { rejectUnauthorized: false } })
      expect([answer.status, answer.headers.get('strict-transport-security')]).toEqual([status, 'max-age=31536000'])
    }
    const made = await runJson(['token', 'create', await firstCustomer(), '--from', '::1'], shopEnv())
    const statusOf = async (host: string): Promise<number> => {
      const headers = { authorization: `Bearer ${made.json.token}` }
      const at = `https://${host}:${tlsPort}/api/v1/balance`
      return (await fetch(at, { headers, tls: { rejectUnauthorized: false } })).status
    }
    expect([await statusOf('[::1]'), await statusOf('127.0.0.1')]).toEqual([200, 403])
  })

  test('the plain port sends challenges of the certificate authority to certbot, also without a shop', async () => {
    const certbot = Bun.serve({
      hostname: '127.0.0.1',
      port: certbotPort,
      fetch: ({ url: asked }) => new Response(new URL(asked).pathname),
    })
    const path = '/.well-known/acme-challenge/a-token'
    const answer = await fetch(`http://127.0.0.1:${plainPort}${path}`, { redirect: 'manual' })
    expect([answer.status, await answer.text()]).toEqual([200, path])
    await certbot.stop(true)
  })

  test('the documented deploy hook gives the balancer a renewed certificate, mode 0600, and reloads it', async () => {
    const [etc, live, bin] = [join(folder, 'etc'), join(folder, 'live'), join(folder, 'bin')]
    for (const path of [join(etc, name), live, bin]) mkdirSync(path, { recursive: true })
    writeFileSync(join(live, 'fullchain.pem'), 'certificate and issuers\n')
    writeFileSync(join(live, 'privkey.pem'), 'key\n')
    writeFileSync(join(bin, 'systemctl'), `#!/bin/sh\necho "$@" >${folder}/reloaded\n`, { mode: 0o755 })
    const hook = Bun.spawn(['sh', join(documented, 'deploy-certificate.sh')], {
      env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, RENEWED_LINEAGE: live, BALANCER_ETC: etc },
    })
    expect(await hook.exited).toBe(0)
    const read = (file: string) => readFileSync(join(etc, name, file), 'utf8')
    const files = name === 'haproxy' ? ['shop.pem'] : ['shop.crt', 'shop.key']
    expect(files.map(read).join('')).toBe('certificate and issuers\nkey\n')
    for (const file of files) expect(statSync(join(etc, name, file)).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(folder, 'reloaded'), 'utf8')).toBe(`reload ${name}\n`)
  })
})
