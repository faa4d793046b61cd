import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { engines } from '../harness/database.ts'
import { createDice } from '../harness/dice.ts'
import { longTest } from '../harness/long-test.ts'
import { fencesOf } from '../harness/markdown.ts'
import { isLong } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { drawFates, UnreliableProxy, usualFateCount } from '../harness/unreliable-proxy.ts'
import { type Installed, installClients } from './installed.ts'

let clients: Installed
beforeAll(async () => {
  clients = await installClients()
}, 300_000)
afterAll(() => clients.remove())

type Report = {
  readonly orders: string[]
  readonly prices: number[]
  readonly proxies: number[]
  readonly again: string[]
  readonly subuser: string
  readonly listed: number[]
  readonly refused: Readonly<Record<string, unknown>>
  readonly misspelt: string
  readonly proxyUrl: string
  readonly replays: number
  readonly shown: string
}

/** Three programs buy one and a half times as many proxies, all from the stock of one sandbox. */
const purchases = isLong ? 24 : 8

/** Runs a program with a token of a new customer, behind a proxy that damages most of its requests. */
async function buyThroughFaults(service: Service, command: readonly string[], seed: number) {
  const { token } = await service.newCustomer(1_000_000n)
  const nextFate = drawFates(createDice(seed))
  let isHeld = false
  const proxy = new UnreliableProxy(Number(new URL(service.url).port), (line) => {
    if (!isHeld && line.startsWith('POST /api/v1/dedicated/buy')) {
      isHeld = true
      return 'hold'
    }
    return nextFate()
  })
  try {
    const env = { TURNPIKE_URL: await proxy.open(), TURNPIKE_TOKEN: token, PURCHASES: String(purchases) }
    const ran = await clients.run(command, env)
    expect(ran).toMatchObject({ exit: 0, err: '' })
    return { report: JSON.parse(ran.out) as Report, token, fates: proxy.fates }
  } finally {
    await proxy.close()
  }
}

/** The shop's books have exactly the orders and charges that the program asked for. */
async function expectBoughtOnce(service: Service, { report, token }: { report: Report; token: string }) {
  const get = async (path: string) => (await service.get(path, { token })).data
  const { orders } = (await get('/orders?limit=500')) as { orders: { order_id: string; price_rub: number }[] }
  expect(orders.map((each) => each.order_id).toSorted()).toEqual([...report.orders, report.again[0] ?? ''].toSorted())
  expect(report.orders).toHaveLength(purchases)
  expect(report.again[1]).toBe(report.again[0] ?? '')
  const charged = orders.reduce((sum, each) => sum + each.price_rub, 0)
  expect((await get('/balance')).balance_rub).toBe(1_000_000 - charged)
  const { proxies } = (await get('/dedicated/list?limit=500')) as { proxies: { id: number }[] }
  expect(proxies).toHaveLength(purchases / 2 + purchases)
  const sorted = (ids: readonly number[]) => ids.toSorted((one, other) => one - other)
  expect(sorted(report.listed)).toEqual(sorted(proxies.map((each) => each.id)))
  expect(sorted(report.proxies)).toEqual(sorted(report.listed))
  const { subusers } = (await get('/premium/subusers')) as { subusers: { name: string }[] }
  expect(subusers.filter((each) => each.name.startsWith('once-'))).toHaveLength(1)
}

describe.each([...engines])('clients for programs before a shop on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  const programs = {
    Node: ['node', 'buyer.mjs'],
    Python: ['python3', 'buyer.py'],
    Bun: [process.execPath, 'buyer.mjs'],
  }
  const chosen = Object.entries(programs).filter(([name]) => isLong || (name === 'Bun') === (engine === 'postgres'))
  test.each(chosen)(
    `a program on %s whose requests and answers are lost, cut, held and repeated buys ${purchases} orders once each`,
    async (_, command) => {
      const result = await buyThroughFaults(service, command, engines.indexOf(engine) + 1)
      await expectBoughtOnce(service, result)
      expect(new Set(result.fates).size).toBe(usualFateCount + 1)
      expect(result.report.replays).toBeGreaterThan(1)
      expect(result.report.refused).toMatchObject({
        isRefusal: true,
        reason: 'out_of_stock',
        charged: false,
        params: { available: expect.any(Number) },
        status: 409,
        requestId: expect.stringMatching(/^[0-9a-f]{24}$/),
        idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/),
      })
      expect(result.report.misspelt).toBe('count')
      expect(result.report.proxyUrl).toMatch(/^http:\/\/[a-z0-9]+:[^@]+@127\.[0-9.]+:\d+$/)
      expect(result.report.shown).not.toContain(result.token)
    },
  )
})

describe('verification of webhooks', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const [id, seconds, body] = ['msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}']
  const nowMs = seconds * 1000
  const vector = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
  const wrong = 'v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc='
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const whpk = `whpk_${publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`
  const signed = (text: string) => `v1a,${sign(null, Buffer.from(text), privateKey).toString('base64')}`
  const asymmetric = signed(`${id}.${seconds}.${body}`)
  const headersWith = (signature: string, own: Record<string, string> = {}) => ({
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signature,
    ...own,
  })
  const flipped = asymmetric.replace(/^(v1a,.{20})(.)/, (_, head: string, letter: string) =>
    letter === 'A' ? `${head}B` : `${head}A`,
  )
  const macOf = (content: string) =>
    `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      .update(content)
      .digest('base64')}`

  type Case = { headers: object; body?: string; keys?: unknown; nowMs?: number }
  const good = { test: 2432232314 }
  const cases: readonly (readonly [title: string, given: Case, result: unknown])[] = [
    ['the vector of the specification’s libraries', { headers: headersWith(vector) }, good],
    [
      'the same with headers in capitals',
      { headers: { 'Webhook-Id': id, 'WEBHOOK-TIMESTAMP': String(seconds), 'Webhook-Signature': vector } },
      good,
    ],
    ['several signatures, one of them right', { headers: headersWith(`${wrong} v2,abc ${vector} ${wrong}`) }, good],
    ['several secrets, one of them right', { headers: headersWith(vector), keys: ['whsec_AAAA', secret] }, good],
    ['ed25519', { headers: headersWith(asymmetric), keys: whpk }, good],
    ['both schemes with the public key', { headers: headersWith(`${vector} ${asymmetric}`), keys: whpk }, good],
    ['exactly 5 minutes late', { headers: headersWith(vector), nowMs: nowMs + 300_000 }, good],
    ['5 minutes and 1 ms late', { headers: headersWith(vector), nowMs: nowMs + 300_001 }, 'too_old'],
    ['5 minutes and 1 ms early', { headers: headersWith(vector), nowMs: nowMs - 300_001 }, 'too_new'],
    ['another body', { headers: headersWith(vector), body: `${body} ` }, 'signature'],
    ['another id', { headers: headersWith(vector, { 'webhook-id': 'msg_other' }) }, 'signature'],
    ['another timestamp', { headers: headersWith(vector, { 'webhook-timestamp': String(seconds + 1) }) }, 'signature'],
    ['another secret', { headers: headersWith(vector), keys: 'whsec_AAAA' }, 'signature'],
    ['a wrong signature', { headers: headersWith(wrong) }, 'signature'],
    [
      'a MAC under the name of ed25519',
      { headers: headersWith(vector.replace('v1,', 'v1a,')), keys: whpk },
      'signature',
    ],
    ['a changed ed25519 signature', { headers: headersWith(flipped), keys: whpk }, 'signature'],
    ['an ed25519 signature of another text', { headers: headersWith(signed('x')), keys: whpk }, 'signature'],
    ['only v1 for a public key', { headers: headersWith(vector), keys: whpk }, 'signature'],
    ['a signature that is no base64', { headers: headersWith('v1,%%%') }, 'signature'],
    ['no id', { headers: { ...headersWith(vector), 'webhook-id': '' } }, 'header_missing'],
    [
      'a timestamp that is no number',
      { headers: headersWith(vector, { 'webhook-timestamp': 'hello' }) },
      'header_missing',
    ],
    [
      'an id with a full stop that moves the parts',
      { headers: headersWith(macOf(`a.1.${seconds}.${body}`), { 'webhook-id': 'a.1' }) },
      'header_missing',
    ],
    ['a signed body that is no JSON', { headers: headersWith(macOf(`${id}.${seconds}.{`)), body: '{' }, 'body'],
    ['a key of no known kind', { headers: headersWith(vector), keys: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }, 'TypeError'],
  ]
  const input = JSON.stringify(cases.map(([, given]) => ({ body, keys: secret, nowMs, ...given })))
  const expected = cases.map(([title, , result]) => [title, result])

  test.each([
    ['Node', ['node', '--no-warnings', 'verifier.mjs']],
    ['Bun', [process.execPath, 'verifier.mjs']],
    ['Python', ['python3', 'verifier.py']],
  ])(
    `the client on %s verifies and refuses ${cases.length} webhooks by the Standard Webhooks specification`,
    async (_, command) => {
      const ran = await clients.run(command, {}, input)
      expect(ran).toMatchObject({ exit: 0, err: '' })
      const results = JSON.parse(ran.out) as unknown[]
      expect(cases.map(([title], index) => [title, results[index]])).toEqual(expected)
    },
  )
})

/** Runs an installed command as npx does, without the start of npm. */
const quickNpx = 'npx() { name=$1; shift; node node_modules/.bin/"$name" "$@"; }'

describe('the command line', () => {
  let service: Service
  let env: Record<string, string>
  beforeAll(async () => {
    service = await startService('sqlite')
    env = { TURNPIKE_URL: service.url, TURNPIKE_TOKEN: (await service.newCustomer(10_000n)).token }
  })
  afterAll(() => service.stop())

  const type = (words: string, own = env) =>
    clients.run([process.execPath, 'node_modules/.bin/turnpike-client', ...words.split(' ')], own)
  const json = async (words: string): Promise<unknown> => JSON.parse((await type(`${words} --json`)).out)

  test('turnpike-client quotes, refuses to buy without --yes, buys within --max-price, and lists', async () => {
    const { price_rub } = (await json('quote dedicated DE --count 2')) as { price_rub: number }
    const buy = 'buy dedicated DE --count 2 --period 30'
    expect(await type(buy)).toMatchObject({ exit: 2, err: expect.stringContaining('--yes') })
    const tooHigh = await type(`${buy} --yes --max-price 1`)
    expect(tooHigh).toMatchObject({ exit: 1, err: expect.stringContaining('price_changed') })
    expect(await json('balance')).toMatchObject({ balance_rub: 10_000 })

    const bought = (await json(`${buy} --yes --max-price ${price_rub} --key order-1`)) as { order_id: string }
    expect(await json(`${buy} --yes --key order-1`)).toEqual(bought)
    expect(await json('balance')).toMatchObject({ balance_rub: 10_000 - price_rub })
    expect(await json('list dedicated')).toHaveLength(2)
    const table = await type('list dedicated')
    expect(table.out).toMatch(/^id +ip +port/)
    const wrong = await type('balance', { ...env, TURNPIKE_TOKEN: `${env['TURNPIKE_TOKEN']}x` })
    expect(wrong.exit).toBe(1)
    expect(wrong.err).toContain('token')
    expect(wrong.err).not.toContain(String(env['TURNPIKE_TOKEN']))
  })

  test('turnpike-client names the nearest command for one that does not exist', async () => {
    const typed = ['vpn info', 'list vpn', 'vpn devices', 'weather']
    const answers = await Promise.all(typed.map((words) => type(words)))
    expect(answers.map(({ exit, err }) => [exit, err])).toEqual([
      [2, 'there is no command "vpn info": try "vpn get", or "help" lists all\n'],
      [2, 'there is no command "list vpn": try "vpn get", or "help" lists all\n'],
      [2, 'there is no command "vpn devices": try "vpn increase-devices", or "help" lists all\n'],
      [2, 'there is no command "weather": "help" lists all\n'],
    ])
  })

  test('turnpike-client ends with 0 and without a message when its reader closes the pipe first', async () => {
    const program = 'node node_modules/.bin/turnpike-client help; echo "exit $?" >&2'
    const shell = `mkfifo closed && { read _ < closed; ${program}; } | { exec 0<&-; echo > closed; }`
    expect(await clients.run(['sh', '-c', shell])).toEqual({ exit: 0, out: '', err: 'exit 0\n' })
  })

  test('turnpike-client listen forwards each event once more after a 500, signed, and continues at its cursor', async () => {
    const got: { body: string; headers: Headers }[] = []
    const received = Promise.withResolvers<void>()
    const receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        got.push({ body: await request.text(), headers: request.headers })
        if (got.length === 2) received.resolve()
        return new Response(null, { status: got.length === 1 ? 500 : 204 })
      },
    })
    writeFileSync(join(clients.folder, 'cursor'), '0\n')
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const words = ['listen', '--to', `${receiver.url.href}hook`, '--cursor-file', 'cursor', '--secret', secret]
    const { token } = await service.newCustomer(10_000n)
    const own = { ...env, TURNPIKE_TOKEN: token }
    const listening = clients.start(['node', 'node_modules/.bin/turnpike-client', ...words], own)
    try {
      await service.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 }, { token })
      await received.promise
      const reader = listening.stdout.getReader()
      const line = new TextDecoder().decode((await reader.read()).value)
      expect(line).toBe('1 order.created 204\n')
    } finally {
      listening.kill('SIGTERM')
      await listening.exited
      await receiver.stop(true)
    }
    expect(listening.exitCode).toBe(0)
    const notes = await listening.stderr.text()
    expect(notes).toBe(`forwarding to ${receiver.url.href}hook\nevent 1: 500, again in 0.5 s\n`)
    expect(got.map(({ body }) => JSON.parse(body).type)).toEqual(['order.created', 'order.created'])
    expect(got[1]?.headers.get('webhook-id')).toBe('evt_1')
    expect(readFileSync(join(clients.folder, 'cursor'), 'utf8')).toBe('1\n')
    const { body = '', headers } = got[1] ?? {}
    const signed = `evt_1.${headers?.get('webhook-timestamp')}.${body}`
    const mac = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      .update(signed)
      .digest('base64')
    expect(headers?.get('webhook-signature')).toBe(`v1,${mac}`)
  })

  const languages = isLong ? ['js', 'python', 'sh'] : ['js', 'python']
  test(`every ${languages.join(', ')} fence of both READMEs runs as it is written`, async () => {
    for (const name of ['client', 'python']) {
      const text = readFileSync(join(import.meta.dir, `../../packages/${name}/README.md`), 'utf8')
      const programs = fencesOf(text).filter(({ language }) => languages.includes(language))
      expect(programs.length).toBeGreaterThan(1)
      for (const { language, line, lines } of programs) {
        const file = `readme-${name}-${line}`
        writeFileSync(join(clients.folder, `${file}.mjs`), lines.join('\n'))
        const command = {
          js: ['node', '--no-warnings', `${file}.mjs`],
          python: ['python3', '-c', lines.join('\n')],
          sh: ['sh', '-ec', [quickNpx, ...lines].join('\n')],
        }[language] as string[]
        expect({ name, line, ...(await clients.run(command, env)) }).toMatchObject({ exit: 0, err: '' })
      }
    }
  })
})

longTest(
  'a TypeScript program that names a wrong field, or a parameter of another reason, does not compile',
  async () => {
    writeFileSync(
      join(clients.folder, 'consumer.ts'),
      `import { type Client, RefusalError } from '@turnpike/client'
export async function buy(client: Client): Promise<number> {
  try {
    const { proxies } = await client.dedicated.buy({ country_code: 'DE', count: 1, period: 30, ipv: 4 })
    // @ts-expect-error: there is no such version of IP
    await client.dedicated.buy({ country_code: 'DE', count: 1, period: 30, ipv: 5 })
    return proxies[0]?.port ?? 0
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error
    if (error.refusal.reason === 'out_of_stock') return error.refusal.params.available
    // @ts-expect-error: only out_of_stock has it
    return error.refusal.params.available
  }
}
`,
    )
    const tsc = join(import.meta.dir, '../../node_modules/.bin/tsc')
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,dom']
    expect(await clients.run([tsc, ...options, 'consumer.ts'])).toEqual({ exit: 0, out: '', err: '' })
  },
)

longTest('pip installs the sdist and the wheel of the Python client without a network, and both import', async () => {
  const source = join(import.meta.dir, '../../packages/python')
  const packages = [source, clients.wheel]
  for (const [index, each] of packages.entries()) {
    const target = join(clients.folder, `site-${index}`)
    const pip = [
      'python3',
      '-m',
      'pip',
      'install',
      '--no-index',
      '--no-deps',
      '--no-cache-dir',
      '--target',
      target,
      each,
    ]
    expect(await clients.run(pip)).toMatchObject({ exit: 0 })
    const ran = await clients.run(['python3', '-c', 'import turnpike_client; print(turnpike_client.Client.__name__)'], {
      PYTHONPATH: target,
    })
    expect(ran).toEqual({ exit: 0, out: 'Client\n', err: '' })
  }
})
