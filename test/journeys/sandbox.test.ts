import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { createLog } from '../../src/adapters/log.ts'
import { readConfig } from '../../src/app/settings/config.ts'
import { openShop } from '../../src/app/shop/shop.ts'
import { createBrowserSession } from '../harness/browser-session.ts'
import { createCaller } from '../harness/caller.ts'
import { makeTestDatabase, prepareFolder, type TestDatabase } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { longTest } from '../harness/long-test.ts'
import { isLong } from '../harness/scale.ts'
import { endStarted, startTurnpike } from '../harness/turnpike.ts'

/** A shop that has printed its whole banner. */
type Opened = { readonly url: string; out(): string; err(): string; close(): Promise<void> }

/** Starts `shop` or `up` on a folder as a process. */
async function startProcess(
  folder: string,
  env: Record<string, string> = {},
  role: 'shop' | 'up' = 'shop',
): Promise<Opened> {
  const shop = startTurnpike([role], {
    TURNPIKE_DATA: folder,
    // A gateway needs to know the shop’s port.
    TURNPIKE_PORT: role === 'up' ? String(freePort()) : '0',
    TURNPIKE_LOG: 'debug',
    ...env,
  })
  const [, url = ''] = await shop.until(/open at (http:\/\/\S+)\n(?:.*\n)+?.*API .*\n/)
  if (role === 'up') await shop.until(/Try:\n\n(?: {2}.*\n)+/)
  const close = async (): Promise<void> => {
    shop.kill('SIGTERM')
    expect(await shop.exited).toBe(0)
  }
  return { url, out: () => shop.out(), err: () => shop.err(), close }
}

/** Opens a shop in this process; as a process in a long run. */
async function open(folder: string, env: Record<string, string> = {}): Promise<Opened> {
  if (isLong) return startProcess(folder, env)
  let logged = ''
  const log = createLog('debug', 'shop', (line) => void (logged += line))
  const shop = await openShop(readConfig({ TURNPIKE_DATA: folder, TURNPIKE_PORT: '0', ...env }), log)
  return { url: shop.url, out: shop.banner, err: () => logged, close: () => shop.stop() }
}

/** Signs in with both printed links; each works once and is not in the log. */
async function useLinks(shop: Opened): Promise<void> {
  const operator = /as its operator {2}\S+\/operator#enter=(tpl_\w+)/.exec(shop.out())?.[1] ?? ''
  const customer = /as its customer {2}\S+\/#enter=(tpl_\w+)/.exec(shop.out())?.[1] ?? ''
  const page = await createBrowserSession(shop.url)
  const opened = [
    await page.post('/auth/v1/customer/sign-in/link', { link: customer }),
    await page.post('/auth/v1/operator/sign-in/link', { link: operator }),
  ]
  expect(opened.map((each) => [each.status, each.data.name])).toEqual([
    [200, 'sandbox'],
    [200, 'sandbox'],
  ])
  expect((await page.get('/api/v1/balance')).data.balance_rub).toBe(100_000)
  expect((await page.get('/admin/v1/operators')).data.items).toHaveLength(1)
  expect((await page.post('/auth/v1/customer/sign-in/link', { link: customer })).status).toBe(404)
  await shop.close()
  expect([shop.err().includes(customer), shop.err().includes(operator)]).toEqual([false, false])
}

const fixed = [`it's-"fixed"-$HOME`, 'another-one-12345'] as const

/** A token set by TURNPIKE_SANDBOX_TOKEN works, and the printed export line gives a shell exactly that token. */
async function useFixed(folder: string, token: string): Promise<void> {
  const shop = await open(folder, { TURNPIKE_SANDBOX_TOKEN: token })
  const caller = await createCaller(shop.url, token)
  expect((await caller.get('/balance')).data.balance_rub).toBe(100_000)
  const exported = /^ {2}(export TOKEN=.*)$/m.exec(shop.out())?.[1]
  if (exported) {
    const pasted = Bun.spawn(['sh', '-c', `${exported}\nprintf %s "$TOKEN"`], { stdout: 'pipe' })
    expect(await pasted.stdout.text()).toBe(token)
  }
  await shop.close()
  expect(shop.err()).not.toContain(token)
}

let testDatabase: TestDatabase
beforeAll(async () => {
  testDatabase = await makeTestDatabase('sqlite')
})
afterAll(async () => {
  await endStarted()
  await testDatabase.remove()
})

describe('the first start of a sandbox', () => {
  test('up in an empty folder prints a token and commands that work when pasted, and logs no token', async () => {
    const folder = `${testDatabase.folder}/empty`
    const shop = await startProcess(folder, { TURNPIKE_GATEWAY_PORT: String(freePort()) }, 'up')
    const banner = shop.out()
    const [shown = ''] = /tp_test_\w+/.exec(banner) ?? []
    const commands = banner
      .slice(banner.indexOf('  export '))
      .split('\n')
      .filter((line) => line.startsWith('  '))
    const pasted = Bun.spawn(['sh', '-c', commands.join('\n')], { stdout: 'pipe', stderr: 'ignore' })
    const answers = (await pasted.stdout.text()).split(/(?<=\})(?=\{"ok":)/)
    expect(answers).toHaveLength(3)
    for (const answer of answers) expect(JSON.parse(answer)).toMatchObject({ ok: true })
    const url = /http:\/\/[\d.:]+/.exec(banner)?.[0] ?? ''
    const caller = await createCaller(url, shown)
    const { transactions } = (await caller.get('/transactions')).data
    expect(transactions.at(-1)).toMatchObject({ id: 1, kind: 'credit', amount_rub: 100_000 })
    for (const odd of [`/nothing/${shown}`, `/orders/${shown}`, `/balance?token=${shown}`]) await caller.get(odd)
    await shop.close()
    expect(shop.err()).toContain('"path":"/api/v1/balance"')
    expect(shop.err()).not.toContain(shown.slice(8))
    expect(shop.err()).not.toContain('Bearer tp_')
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  longTest('TURNPIKE_SANDBOX_TOKEN may contain quotes and $ at the first start', async () => {
    await useFixed(prepareFolder(`${testDatabase.folder}/fixed`, 'stocked'), fixed[0])
  })

  test('a shop with TURNPIKE_SANDBOX=off opens an empty folder as an empty production shop', async () => {
    const shop = await open(`${testDatabase.folder}/off`, { TURNPIKE_SANDBOX: 'off' })
    expect((await fetch(`${shop.url}/readyz`)).status).toBe(200)
    await shop.close()
    expect(shop.out()).not.toContain('sandbox')
    expect(shop.err()).not.toContain('still a sandbox')
  })
})

describe('three starts of a sandbox', () => {
  let folder: string
  let token: string
  beforeAll(() => {
    folder = prepareFolder(`${testDatabase.folder}/fresh`, 'stocked')
  })

  test('the first start of a sandbox prints a token and sign-in links for its customer and operator', async () => {
    const first = await startProcess(folder)
    token = /tp_test_\w+/.exec(first.out())?.[0] ?? ''
    await useLinks(first)
  })

  test('the second start of a sandbox prints new links and no token, and ignores TURNPIKE_SANDBOX=off', async () => {
    const second = await open(folder, { TURNPIKE_SANDBOX: 'off' })
    const caller = await createCaller(second.url, token)
    expect((await caller.get('/transactions')).data.transactions).toHaveLength(1)
    await useLinks(second)
    expect(second.out()).not.toContain('tp_test_')
    expect(second.err()).toMatch(/"event":"still a sandbox".*TURNPIKE_SANDBOX/)
  })

  test('a later start of a sandbox accepts a new TURNPIKE_SANDBOX_TOKEN', async () => {
    await useFixed(folder, fixed[1])
  })
})
