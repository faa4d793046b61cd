import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { takesKey } from '../../src/api/operation.ts'
import { additive, allTools } from '../../src/mcp/tools.ts'
import { type Engine, engines, enginesOf } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { longTest } from '../harness/long-test.ts'
import { connectMcp, type McpClient, type McpTransport, type ToolAnswer } from '../harness/mcp-client.ts'
import { applyCatalogue, shipped } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'

const transports: readonly McpTransport[] = ['streamable HTTP', 'stdio']
const price = 171
const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }

const services = new Map<Engine, Service>()
beforeAll(async () => {
  for (const engine of engines) services.set(engine, await startService(engine))
})
afterAll(async () => {
  for (const service of services.values()) await service.stop()
})
const on = (engine: Engine): Service => services.get(engine) as Service

const dataOf = ({ answer }: ToolAnswer) => answer['data'] as Record<string, unknown>
const errorOf = ({ answer }: ToolAnswer) => answer['error'] as Record<string, unknown>

/** Balance and number of orders of a customer. */
async function booksOf(service: Service, token: string) {
  const { balance_rub } = (await service.get('/balance', { token })).data
  const { orders } = (await service.get('/orders', { token })).data
  return { balance: balance_rub, orders: (orders as unknown[]).length }
}

type Confirmation = { readonly confirm: string; readonly max_price_rub?: number }
const confirmWith = ({ answer }: ToolAnswer) => answer['confirm_with'] as Confirmation

/** Calls a tool, and again with its code where the first call only shows what it would do. */
async function callTwice(mcp: McpClient, name: string, args: Record<string, unknown>): Promise<ToolAnswer> {
  const first = await mcp.call(name, args)
  return 'confirm_with' in first.answer ? mcp.call(name, { ...args, ...confirmWith(first) }) : first
}

/** One of each thing that tools can name, and the arguments that name it. */
async function makeThings(service: Service, token: string): Promise<Record<string, Record<string, unknown>>> {
  const made = async (path: string, body: object) => (await service.post(path, body, { token })).data
  const { proxies, order_id } = await made('/dedicated/buy', order)
  const ids = (proxies as { id: number }[]).map((each) => each.id)
  const { uuid, device } = await made('/vpn/buy', { period: 1 })
  const added = (await made('/vpn/devices', { uuid })) as { device: { id: string } }
  await made('/premium/traffic/buy', { pool_type: 'residential', gb: 3 })
  await made('/premium/whitelist/add', { ip: '198.51.100.7' })
  const { subuser } = (await made('/premium/subusers', {})) as { subuser: { subuser_id: string } }
  const { webhook_id } = await made('/webhooks/add', { url: 'https://example.com/turnpike' })
  const { delivery_id } = await made('/webhooks/test', { webhook_id })
  const { payment_id } = await made('/payments', { amount_rub: 100, method: 'sandbox' })
  const named = { ids, id: ids[0], order_id, uuid, webhook_id, delivery_id, payment_id }
  return {
    '': named,
    quoteProlonging: { ids: String(ids[0]) },
    buyVpn: { period: 1 },
    renewVpn: { period: 1 },
    moveTraffic: { gb: 1, to_subuser_id: subuser.subuser_id },
    removeVpnDevice: { device: added.device.id },
    getVpnConfig: { device },
    deleteSubuser: { subuser_id: subuser.subuser_id },
    setMetadata: { id: ids[0] },
    setVpnAutoRenew: { enabled: true, period: 1 },
    setNotices: { kinds: [] },
  }
}

type Named = {
  readonly properties: Record<string, { readonly type?: unknown; readonly example?: unknown }>
  readonly required: string[]
}

/** The required arguments of a tool: things of the customer, or the examples of the schema. */
function toArguments(name: string, schema: Named, things: Record<string, Record<string, unknown>>) {
  const { '': named = {}, [name]: own = {} } = things
  const examples = schema.required.map((field) => {
    const { type, example } = schema.properties[field] ?? {}
    return [field, field === 'id' && type !== 'integer' ? example : (named[field] ?? example)]
  })
  const subscription = 'uuid' in schema.properties && name !== 'buyVpn' ? { uuid: named['uuid'] } : {}
  return { ...Object.fromEntries(examples), ...subscription, ...own }
}

type Listed = {
  readonly name: string
  readonly annotations?: { readonly destructiveHint?: boolean | undefined } | undefined
}

/** Tools that take away come last, and those that delete what others name after all. */
const rankOf = ({ name, annotations }: Listed): number =>
  ['deleteSubuser', 'removeWebhook', 'resetVpnDevices', 'deleteVpn'].indexOf(name) +
  (annotations?.destructiveHint ? 2 : 1)

/** Every password, key and secret link of a customer, as the API shows them. */
async function secretsOf(service: Service, token: string, device: unknown): Promise<string[]> {
  const get = async (path: string) => (await service.get(path, { token })).data
  const { proxies } = (await get('/dedicated/list')) as { proxies: { password: string }[] }
  const { password } = await get('/premium/password')
  const { subscription_url } = await get('/vpn/info')
  const { config } = await get(`/vpn/config?device=${String(device)}`)
  const key = /PrivateKey = (\S+)/.exec(String(config))?.[1]
  const secrets = [...proxies.map((each) => each.password), password, subscription_url, key]
  expect(secrets.every((each) => typeof each === 'string' && each.length > 10)).toBe(true)
  return secrets as string[]
}

describe.each(transports)('MCP over %s', (kind) => {
  test('a client of another package lists all tools, and every one does what it says', async () => {
    const service = on('sqlite')
    const { token } = await service.newCustomer(100_000n)
    const things = await makeThings(service, token)
    const mcp = await connectMcp(kind, { url: service.url, token, mayWrite: true })
    expect(mcp.client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    const { tools } = await mcp.client.listTools()
    expect(tools.map((each) => each.name)).toEqual([...allTools().keys()])
    const refused: Record<string, unknown> = {}
    const texts: string[] = []
    for (const tool of tools.toSorted((one, other) => rankOf(one) - rankOf(other))) {
      const answer = await callTwice(mcp, tool.name, toArguments(tool.name, tool.inputSchema as Named, things))
      if (answer.isError) refused[tool.name] = errorOf(answer)
      texts.push(answer.text)
    }
    await mcp.close()
    expect(refused).toEqual({})
    // Tools replaced both passwords, and masked the new ones in their answers.
    const { proxies } = (await service.get('/dedicated/list', { token })).data as { proxies: { password: string }[] }
    const { password } = (await service.get('/premium/password', { token })).data as { password: string }
    for (const each of [password, ...proxies.map((proxy) => proxy.password)]) {
      expect(texts.filter((text) => text.includes(each))).toEqual([])
    }
  })

  test('a purchase asks the user with its price, charges once, and not at all when the user declines', async () => {
    const service = on('sqlite')
    const { token } = await service.newCustomer(1_000n)
    const questions: string[] = []
    let action: 'accept' | 'decline' = 'decline'
    const onQuestion = (message: string) => {
      questions.push(message)
      return action === 'accept' ? { action, content: { confirm: true } } : { action }
    }
    const mcp = await connectMcp(kind, { url: service.url, token, mayWrite: true, onQuestion })
    const declined = await mcp.call('buyDedicated', order)
    expect(errorOf(declined)).toMatchObject({ reason: 'declined', charged: false })
    expect(await booksOf(service, token)).toEqual({ balance: 1_000, orders: 0 })
    action = 'accept'
    const bought = await mcp.call('buyDedicated', { ...order, confirm: 'made up' })
    expect(dataOf(bought)).toMatchObject({ price_rub: price, proxies: [{ password: '(masked)' }] })
    expect(questions).toHaveLength(2)
    expect(questions[1]).toContain(`This charges ${price} RUB.`)
    expect(await booksOf(service, token)).toEqual({ balance: 1_000 - price, orders: 1 })
    await mcp.close()
  })

  const over = kind === 'stdio' ? longTest : test
  over('a client that speaks 2025 and cannot ask buys with the code of a dry run, once for 3 calls', async () => {
    const service = on('sqlite')
    const { token } = await service.newCustomer(1_000n)
    const mcp = await connectMcp(kind, { url: service.url, token, mayWrite: true, speaks: '2025' })
    expect(mcp.client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
    const dry = await mcp.call('buyDedicated', order)
    expect(dry.answer).toMatchObject({ dry_run: true, quote: { price_rub: price } })
    expect(await booksOf(service, token)).toEqual({ balance: 1_000, orders: 0 })
    const confirmed = { ...order, ...confirmWith(dry), show_passwords: true }
    const buy = () => mcp.call('buyDedicated', confirmed)
    const atOnce = await Promise.all([buy(), buy()])
    // The shop asks the later one of two at once to repeat.
    const problems = atOnce.flatMap((each) => (each.isError ? [errorOf(each)['reason']] : []))
    expect(problems.filter((reason) => reason !== 'request_in_progress')).toEqual([])
    const again = await buy()
    expect(again.answer).toMatchObject({ replayed: true, data: { price_rub: price } })
    expect(await booksOf(service, token)).toEqual({ balance: 1_000 - price, orders: 1 })
    await mcp.close()
  })
})

describe.each([...engines])('purchases by MCP on %s', (engine) => {
  const connect = (token: string) => connectMcp('streamable HTTP', { url: on(engine).url, token, mayWrite: true })

  test('a code buys only what its dry run priced, at no higher price, for its own token and hour', async () => {
    const service = on(engine)
    const { token } = await service.newCustomer(1_000n)
    const mcp = await connect(token)
    const other = await connect((await service.newCustomer(1_000n)).token)
    const dry = confirmWith(await mcp.call('buyDedicated', order))
    const refusalOf = async (of: McpClient, name: string, args: object) => errorOf(await of.call(name, { ...args }))
    expect(await refusalOf(mcp, 'buyDedicated', { ...order, count: 2, ...dry })).toMatchObject({
      reason: 'confirm_wrong',
    })
    expect(await refusalOf(mcp, 'buyVpn', { period: 1, ...dry })).toMatchObject({ reason: 'confirm_wrong' })
    expect(await refusalOf(other, 'buyDedicated', { ...order, ...dry })).toMatchObject({ reason: 'confirm_wrong' })
    const cheaper = await refusalOf(mcp, 'buyDedicated', { ...order, ...dry, max_price_rub: price - 1 })
    expect(cheaper).toMatchObject({ reason: 'price_changed', charged: false, params: { price_rub: price } })
    const refused = await refusalOf(mcp, 'buyDedicated', { ...order, ...dry, max_price_rub: '171' })
    expect(refused).toMatchObject({ reason: 'invalid_request', charged: false })
    const limitless = dataOf(await mcp.call('buyDedicated', { ...order, confirm: dry.confirm }))
    expect(limitless).toMatchObject({ price_rub: price })
    const late = confirmWith(await mcp.call('buyDedicated', order))
    service.clock.advance(3_600_001)
    const expired = await refusalOf(mcp, 'buyDedicated', { ...order, ...late })
    expect(expired).toMatchObject({ reason: 'confirm_expired', charged: false })
    expect(await booksOf(service, token)).toEqual({ balance: 1_000 - price, orders: 1 })
    await Promise.all([mcp.close(), other.close()])
  })
})

describe.each([...enginesOf('sqlite')])('limits of purchases by MCP on %s', (engine) => {
  const connect = (token: string) => connectMcp('streamable HTTP', { url: on(engine).url, token, mayWrite: true })

  test('each product that is for sale charges the price of its dry run', async () => {
    const service = on(engine)
    const { token } = await service.newCustomer(10_000n)
    const mcp = await connect(token)
    const { ids } = (await makeThings(service, token))[''] as { ids: number[] }
    const purchases: [string, object][] = [
      ['prolongDedicated', { ids, period: 30 }],
      ['buyTraffic', { pool_type: 'residential', gb: 2 }],
      ['increaseVpnDevices', { count: 1 }],
      // Without `uuid` the price has the slots that were bought before.
      ['renewVpn', { period: 1 }],
      ['buyVpn', { period_months: 3 }],
    ]
    const charging = [...allTools().values()].filter(({ operation }) => operation.charges === true)
    expect(purchases.map(([name]) => name).toSorted()).toEqual(
      charging.map(({ operation }) => operation.id).filter((id) => id !== 'buyDedicated'),
    )
    for (const [name, args] of purchases) {
      const { balance } = await booksOf(service, token)
      const dry = confirmWith(await mcp.call(name, { ...args }))
      const bought = await mcp.call(name, { ...args, ...dry })
      expect([name, bought.isError]).toEqual([name, false])
      const paid = Number(balance) - Number((await booksOf(service, token)).balance)
      expect([name, paid]).toEqual([name, dry.max_price_rub ?? 0])
    }
    await mcp.close()
  })

  test('a price that rises after the dry run is refused, even if the model raises max_price_rub', async () => {
    const service = on(engine)
    const { token } = await service.newCustomer(1_000n)
    const mcp = await connect(token)
    const { confirm } = confirmWith(await mcp.call('buyDedicated', order))
    const dearer = shipped()
    const kind = dearer.dedicated.kinds['4']
    if (kind) kind.countries['DE'] = { per_day: 100 }
    await applyCatalogue(service.services, dearer)
    service.clock.advance(1000)
    const refused = errorOf(await mcp.call('buyDedicated', { ...order, confirm, max_price_rub: 100_000 }))
    expect(refused).toMatchObject({ reason: 'price_changed', charged: false, params: { max_price_rub: price } })
    expect(await booksOf(service, token)).toEqual({ balance: 1_000, orders: 0 })
    await applyCatalogue(service.services, shipped())
    service.clock.advance(1000)
    await mcp.close()
  })

  test('a purchase beyond the spending cap of the token is refused, and nothing is charged', async () => {
    const service = on(engine)
    const { customer } = await service.newCustomer(1_000n)
    const { kopecks } = await import('../../src/core/money.ts')
    const capped = { name: 'capped', cap: kopecks(10_000n) }
    const { text: token } = await service.services.customers.issueToken(customer, capped)
    const mcp = await connect(token)
    const refused = errorOf(await callTwice(mcp, 'buyDedicated', order))
    expect(refused).toMatchObject({ reason: 'spending_cap_reached', charged: false, params: { cap_rub: 100 } })
    expect(await booksOf(service, token)).toEqual({ balance: 1_000, orders: 0 })
    await mcp.close()
  })
})

describe('what an MCP server shows and allows', () => {
  const kind = 'streamable HTTP'

  test('no tool shows a password, a key or a secret link unless show_passwords is true', async () => {
    const service = on('sqlite')
    const { token } = await service.newCustomer(100_000n)
    const things = await makeThings(service, token)
    const secrets = await secretsOf(service, token, things['getVpnConfig']?.['device'])
    const mcp = await connectMcp(kind, { url: service.url, token, mayWrite: true })
    const shown = new Set<string>()
    const names = [...allTools().values()].flatMap(({ operation, definition }) =>
      operation.method === 'GET' || operation.id === 'generateProxies' ? [definition] : [],
    )
    for (const { name, inputSchema } of names) {
      const args = toArguments(name, inputSchema, things)
      const { text } = await mcp.call(name, args)
      expect([name, secrets.filter((each) => text.includes(each))]).toEqual([name, []])
      if (!inputSchema.properties['show_passwords']) continue
      const whole = await mcp.call(name, { ...args, show_passwords: true })
      for (const each of secrets) if (whole.text.includes(each)) shown.add(each)
    }
    const made = await mcp.call('addWebhook', { url: 'https://example.com/other' })
    expect(made.answer).toMatchObject({ data: { secret: '(masked)' }, masked: ['secret'] })
    await mcp.close()
    expect(shown).toEqual(new Set(secrets))
  })

  test('a server that is not told to write offers and runs tools that read only', async () => {
    const service = on('sqlite')
    const { token } = await service.newCustomer(1_000n)
    const mcp = await connectMcp(kind, { url: service.url, token })
    const { tools } = await mcp.client.listTools()
    expect(tools.length).toBeGreaterThan(30)
    expect(tools.filter((each) => !each.annotations?.readOnlyHint)).toEqual([])
    for (const name of ['buyDedicated', 'setBalanceAlert']) {
      const refused = errorOf(await mcp.call(name, { ...order, alert_below_rub: 5 }))
      expect(refused).toMatchObject({ reason: 'mcp_read_only', charged: false, doc_url: `${service.url}/docs/mcp` })
    }
    const unknown = await failureOf(mcp.client.callTool({ name: 'dropDatabase', arguments: {} }))
    expect(unknown).toMatchObject({ message: expect.stringContaining('There is no tool dropDatabase.') })
    await mcp.close()
  })

  test('a token with the scope read cannot buy through a server that may write', async () => {
    const service = on('sqlite')
    const { customer } = await service.newCustomer(1_000n)
    const { text: token } = await service.services.customers.issueToken(customer, { name: 'reader', scopes: ['read'] })
    const mcp = await connectMcp(kind, { url: service.url, token, mayWrite: true })
    const { tools } = await mcp.client.listTools()
    expect(tools.filter((each) => !each.annotations?.readOnlyHint)).toEqual([])
    const dry = await mcp.call('buyDedicated', order)
    const refused = errorOf(await mcp.call('buyDedicated', { ...order, ...confirmWith(dry) }))
    expect(refused).toMatchObject({ code: 'forbidden', reason: 'scope_missing', charged: false })
    expect(refused['doc_url']).toBe(`${service.url}/docs/reasons#scope_missing`)
    expect(await booksOf(service, token)).toEqual({ balance: 1_000, orders: 0 })
    await mcp.close()
  })
})

describe('hints of tools', () => {
  test('a tool that is not read-only is called destructive unless it only adds', () => {
    const hints = [...allTools().values()].map(({ definition }) => [definition.name, definition.annotations] as const)
    expect([...additive].filter((name) => !allTools().has(name))).toEqual([])
    const gentle = hints.filter(([, each]) => !each.readOnlyHint && !each.destructiveHint).map(([name]) => name)
    expect(gentle).toEqual([...additive].toSorted())
  })

  test('a tool that is called idempotent neither spends, nor creates, nor makes a new secret', () => {
    const repeatable = [...allTools().values()].filter(
      ({ definition: { annotations } }) => annotations.idempotentHint && !annotations.readOnlyHint,
    )
    const names = repeatable.map(({ definition }) => definition.name)
    expect(names).toContain('setComment')
    expect(names.filter((name) => /^(?:buy|create|reset|rotate|renew|prolong|move|replace)/.test(name))).toEqual([])
    expect(repeatable.filter(({ operation }) => takesKey(operation))).toEqual([])
  })
})
