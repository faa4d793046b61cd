import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Service, startService } from '../../test/harness/service.ts'

let service: Service
beforeAll(async () => {
  service = await startService('sqlite', { TURNPIKE_RATE_READS: '20' })
})
afterAll(() => service.stop())

const version = '2026-07-28'
const meta = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
}

type Sent = {
  readonly capabilities?: object
  readonly token?: string
  readonly headers?: Record<string, string>
  readonly path?: string
}

/** Sends one message of MCP by hand, as no client would send it. */
async function send(method: string, params: object, { token, headers, path = '/mcp', capabilities = {} }: Sent = {}) {
  const _meta = { ...meta, 'io.modelcontextprotocol/clientCapabilities': capabilities }
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': version,
      'Mcp-Method': method,
      ...('name' in params && { 'Mcp-Name': String(params.name) }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, answer: text === '' ? undefined : JSON.parse(text) }
}

const newToken = async () => (await service.newCustomer(100n)).token

describe('POST /mcp', () => {
  test('a request without a token, or with a wrong one, is refused with 401 before its body is read', async () => {
    for (const token of [undefined, 'tp_test_wrong']) {
      const { status, headers, answer } = await send('tools/list', {}, { ...(token && { token }) })
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(answer.error.code).toBe('invalid_token')
    }
  })

  test('the cookie of a session is no credential', async () => {
    const headers = { Cookie: 'turnpike_customer=anything', 'X-Turnpike-Console': '1' }
    const { status, answer } = await send('tools/list', {}, { headers })
    expect([status, answer.error.reason]).toEqual([401, 'token_missing'])
  })

  test('a page of another origin is refused with 403, and one of the shop is not', async () => {
    const token = await newToken()
    const from = (Origin: string) => send('tools/list', {}, { token, headers: { Origin } })
    const other = await from('https://attacker.example')
    expect([other.status, other.answer.error.reason]).toEqual([403, 'request_from_other_origin'])
    expect((await from(service.url)).status).toBe(200)
  })

  test('GET is refused with 405, and a body above 64 KiB with 413', async () => {
    const token = await newToken()
    const headers = { Authorization: `Bearer ${token}` }
    const opened = await fetch(`${service.url}/mcp`, { headers })
    expect([opened.status, opened.headers.get('allow')]).toEqual([405, 'POST'])
    const large = await send('tools/call', { name: 'getBalance', arguments: { x: 'x'.repeat(70_000) } }, { token })
    expect([large.status, large.answer.error.reason]).toEqual([413, 'body_too_large'])
  })

  test('unknown values of write and tools are refused with 400, and tools=vpn,account lists these groups only', async () => {
    const token = await newToken()
    const list = (query: string) => send('tools/list', {}, { token, path: `/mcp?${query}` })
    const written = await list('write=yes')
    expect([written.status, written.answer.error.details]).toMatchObject([400, [{ field: 'write' }]])
    const grouped = await list('tools=vpn,ftp')
    expect([grouped.status, grouped.answer.error.details]).toMatchObject([400, [{ field: 'tools' }]])
    const names = (await list('tools=vpn,account')).answer.result.tools.map((tool: { name: string }) => tool.name)
    expect(names).toContain('getVpn')
    expect(names).toContain('getBalance')
    expect(names).not.toContain('listDedicated')
  })

  test('server/discover names the revision, the capability tools and the shop, and no stream is kept open', async () => {
    const token = await newToken()
    await service.services.brands.setLines({ name: 'Lighthouse' })
    const { status, answer } = await send('server/discover', {}, { token })
    expect([status, answer.result]).toMatchObject([200, { supportedVersions: [version], capabilities: { tools: {} } }])
    expect(answer.result['_meta']['io.modelcontextprotocol/serverInfo'].title).toBe('Lighthouse')
    const listening = await send('subscriptions/listen', { notifications: { toolsListChanged: true } }, { token })
    expect(listening.answer.error.message).toBe('Subscription limit reached')
  })

  test('a purchase answers input_required with its price and a field to confirm, and only its own state buys', async () => {
    const { token } = await service.newCustomer(1_000n)
    const params = { name: 'buyDedicated', arguments: { country_code: 'DE', period: 30, count: 1, ipv: 4 } }
    const to = { token, path: '/mcp?write=true', capabilities: { elicitation: { form: {} } } }
    const { result } = (await send('tools/call', params, to)).answer
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        confirm: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: expect.stringContaining('This charges 171 RUB.'),
            requestedSchema: { type: 'object', required: ['confirm'] },
          },
        },
      },
    })
    const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } }
    const state: string = result.requestState
    for (const requestState of [state.replace('_171_', '_1000_'), `9${state}`, 'x', '']) {
      const forged = (await send('tools/call', { ...params, inputResponses, requestState }, to)).answer.result
      const isAskedAgain = forged.resultType === 'input_required'
      expect(isAskedAgain || forged.structuredContent.error.reason === 'confirm_wrong').toBe(true)
    }
    const buy = async () => (await send('tools/call', { ...params, inputResponses, requestState: state }, to)).answer
    const [first, again] = [await buy(), await buy()]
    expect(first.result.structuredContent.data.price_rub).toBe(171)
    expect(again.result.structuredContent).toEqual({ ...first.result.structuredContent, replayed: true })
    expect((await service.get('/balance', { token })).data).toEqual({ balance_rub: 829, api_spent_rub: 171 })
  })

  test('requests count for the limit of reads of the token: the 21st of a minute is refused with 429', async () => {
    const token = await newToken()
    const balance = () => send('tools/call', { name: 'getBalance', arguments: {} }, { token })
    // Each takes one read for itself and one for its operation.
    for (let turn = 0; turn < 10; turn += 1) {
      expect((await balance()).answer.result.structuredContent.data).toEqual({ balance_rub: 100, api_spent_rub: 0 })
    }
    const { status, headers } = await balance()
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([429, true])
    expect((await service.get('/balance', { token })).status).toBe(429)
  })

  test('a tool that reaches the limit answers an error with retry_after_seconds', async () => {
    const token = await newToken()
    for (let turn = 0; turn < 19; turn += 1) await service.get('/balance', { token })
    const { answer } = await send('tools/call', { name: 'getBalance', arguments: {} }, { token })
    expect(answer.result).toMatchObject({
      isError: true,
      structuredContent: { error: { reason: 'rate_limited', retry_after_seconds: expect.any(Number) } },
    })
  })

  test('an argument in the place of an id cannot name another path', async () => {
    const token = await newToken()
    for (const order_id of ['..', '../balance', 'a/b', '', '%2e%2e', null]) {
      const { answer } = await send('tools/call', { name: 'getOrder', arguments: { order_id } }, { token })
      expect(answer.result.structuredContent.error.reason).toBe('invalid_request')
    }
  })
})
