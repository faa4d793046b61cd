import { describe, expect, test } from 'bun:test'
import { type Agreement, callTool, type ToolDeps } from './call-tool.ts'
import { createConfirmations } from './confirmation.ts'
import type { ToolArguments } from './shop-call.ts'
import { allTools, type Tool } from './tools.ts'

const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
const json = (data: object): Response => Response.json({ ok: true, data })

/** Tools before a shop that answers `answer`; the requests that reached it. */
function connect(answer: (path: string) => Response = () => json({ price_rub: 171 })) {
  const sent: { path: string; key: string | null }[] = []
  let nonce = 0
  const random = (bytes: number) => new Uint8Array(bytes).fill((nonce += 1))
  const deps: ToolDeps = {
    send: async (path, { headers }) => {
      sent.push({ path, key: new Headers(headers).get('idempotency-key') })
      return answer(path)
    },
    confirmations: createConfirmations('token', () => 0, random),
    random,
    docUrl: '/docs/mcp',
  }
  const call = async (name: string, args: ToolArguments, agreement: Agreement = { kind: 'cannot ask' }) =>
    (await callTool(deps, allTools().get(name) as Tool, args, agreement)) as {
      readonly question: string
      readonly code: string
      readonly data: { readonly [name: string]: unknown; readonly error: Record<string, unknown> }
    }
  return { call, sent }
}

describe('arguments', () => {
  test('a tool refuses an argument that it does not take, with the nearest name, and sends no request', async () => {
    const { call, sent } = connect()
    const cases: [string, ToolArguments, string][] = [
      ['resetPassword', { id: 1 }, 'resetPassword does not take id'],
      ['buyVpn', { period: 1, slots: 3 }, 'buyVpn does not take slots'],
      ['buyDedicated', { ...order, quantity: 5 }, 'quantity (did you mean count?)'],
      ['deleteVpn', { uid: 'x' }, 'uid (did you mean uuid?)'],
      ['getBalance', { x: 1 }, 'getBalance does not take x. It takes no arguments.'],
      ['createPayment', { amount_rub: 1, purchase: { product: 'vpn', periodd: 1 } }, 'did you mean purchase.period?'],
    ]
    for (const [name, args, text] of cases) {
      const { error } = (await call(name, args)).data
      expect(error).toMatchObject({
        reason: 'unknown_argument',
        charged: false,
        message: expect.stringContaining(text),
      })
      const asked = await call(name, args, { kind: 'not asked yet' })
      expect(asked.data.error['reason']).toBe('unknown_argument')
    }
    expect(sent).toEqual([])
  })

  test('a question names every argument: a long one is shortened, and metadata comes last', async () => {
    const { call } = connect()
    const args = {
      metadata: { note: 'x'.repeat(480), '\u202Eevil': '' },
      ...order,
      country_code: 'D'.repeat(500),
      count: 3,
    }
    const { question } = await call('buyDedicated', args, { kind: 'not asked yet' })
    for (const each of ['count 3', 'period 30', 'country_code "DD']) expect(question).toContain(each)
    expect(question.indexOf('count 3')).toBeLessThan(question.indexOf('metadata'))
    expect(question).toEndWith('This charges 171 RUB.')
    expect(question.length).toBeLessThan(400)
    expect(question).not.toContain('\u202E')
    const reset = await call('resetPasswords', { ids: Array.from({ length: 200 }, (_, id) => id) })
    expect(reset.data['would']).toContain('(200 in all)')
  })
})

describe('repeats', () => {
  test('a dry run says that its code acts once if the operation takes a key, and each time if it does not', async () => {
    const { call } = connect()
    const next = async (name: string, args: ToolArguments) => (await call(name, args)).data['next']
    expect(await next('buyDedicated', order)).toContain('A repeat with it has no second effect.')
    expect(await next('resetVpnLink', {})).toContain('Each call with it acts again: call once.')
    expect(await next('resetPassword', {})).toContain('Each call with it acts again: call once.')
  })

  test('a purchase without an answer is repeated under the same key, without a second question', async () => {
    let status = 502
    const { call, sent } = connect((path) =>
      path.includes('quote') ? json({ price_rub: 171 }) : status === 502 ? new Response('', { status }) : json({}),
    )
    for (const kind of ['not asked yet', 'cannot ask'] as const) {
      status = 502
      sent.length = 0
      const first = await call('buyDedicated', order, { kind })
      const { confirm } = (first.data?.['confirm_with'] ?? { confirm: first.code }) as { confirm: string }
      const agreed: Agreement = kind === 'cannot ask' ? { kind } : { kind: 'accepted', code: confirm }
      const { error } = (await call('buyDedicated', { ...order, confirm }, agreed)).data
      expect(error).toMatchObject({ reason: 'no_shop_answer', charged: null })
      const repeat = error['repeat_with'] as object
      // Another order, or the code that the user did not agree to, is asked about or refused.
      const other = await call('buyDedicated', { ...order, count: 2, ...repeat }, { kind })
      expect(other.question ?? other.data.error['reason']).toMatch(/count 2|confirm_wrong/)
      if (kind === 'not asked yet')
        expect((await call('buyDedicated', { ...order, confirm }, { kind })).code).toBeString()
      status = 200
      expect((await call('buyDedicated', { ...order, ...repeat }, { kind })).data).toEqual({ data: {} } as never)
      const keys = sent.flatMap(({ path, key }) => (path.endsWith('/buy') ? [key] : []))
      expect(keys).toEqual([String(error['idempotency_key']), String(error['idempotency_key'])])
    }
  })

  test('a tool that creates and gets no answer names its key, and a repeat with it sends the same key', async () => {
    const { call, sent } = connect(() => new Response('', { status: 502 }))
    const { error } = (await call('createSubuser', {})).data
    await call('createSubuser', { ...(error['repeat_with'] as object) })
    expect([sent[0]?.key, sent[1]?.key]).toEqual([expect.stringContaining('mcp-'), sent[0]?.key ?? ''])
  })
})
