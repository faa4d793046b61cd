import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/vpn.ts'

describe.each([...enginesOf('postgres')])('webhooks on %s', (engine) => {
  let service: Service
  let status = 204
  const received: { path: string; headers: Headers; body: string }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      received.push({ path: new URL(request.url).pathname, headers: request.headers, body: await request.text() })
      return new Response(null, { status })
    },
  })
  const urlOf = (path: string) => `http://127.0.0.1:${server.port}${path}`
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
    await server.stop(true)
  })
  const typesAt = (path: string) =>
    received.filter((each) => each.path === path).map(({ body }) => JSON.parse(body).type as string)

  test('a purchase reaches the endpoint, is listed as delivered, and can be sent again', async () => {
    const { token } = await service.newCustomer(1000n)
    const added = await service.post('/webhooks/add', { url: urlOf('/a'), events: ['order.created'] }, { token })
    expect(added.data).toMatchObject({ state: 'enabled', events: ['order.created'], problem: null })
    await service.post('/vpn/buy', { period: 1 }, { token })
    expect(await untilTrue(async () => typesAt('/a').length === 1)).toBeTrue()
    const [{ headers, body } = { headers: new Headers(), body: '' }] = received.filter(({ path }) => path === '/a')
    const { events } = (await service.get('/events', { token })).data
    expect(JSON.parse(body)).toEqual(events.find((each: { type: string }) => each.type === 'order.created'))
    // The hand clock is in the past: only the time differs from what the library accepts.
    const timestamp = Number(headers.get('webhook-timestamp'))
    expect(timestamp * 1000).toBe(service.clock.nowMs)
    expect(new Webhook(added.data.secret).sign(headers.get('webhook-id') ?? '', new Date(timestamp * 1000), body)).toBe(
      headers.get('webhook-signature')?.split(' ')[0] ?? '',
    )
    const list = async () => (await service.get('/webhooks/deliveries?status=delivered', { token })).data.deliveries
    expect(await untilTrue(async () => (await list()).length === 1)).toBeTrue()
    const [{ delivery_id: id }] = await list()
    expect((await service.post('/webhooks/redeliver', { delivery_id: id }, { token })).data.status).toBe('waiting')
    expect(await untilTrue(async () => typesAt('/a').length === 2)).toBeTrue()
    const other = await service.newCustomer(0n)
    expect((await service.post('/webhooks/redeliver', { delivery_id: id }, { token: other.token })).status).toBe(404)
  })

  test('410 disables an endpoint with an event; tests are refused until it is enabled, and removal is final', async () => {
    const { token } = await service.newCustomer(1000n)
    const { webhook_id } = (await service.post('/webhooks/add', { url: urlOf('/b') }, { token })).data
    status = 410
    await service.post('/vpn/buy', { period: 1 }, { token })
    const state = async () => (await service.get('/webhooks', { token })).data.webhooks[0]
    expect(await untilTrue(async () => (await state()).state === 'disabled')).toBeTrue()
    expect((await state()).problem).toBe('gone')
    const { events } = (await service.get('/events?type=webhook.disabled', { token })).data
    expect(events[0].data).toEqual({ webhook_id, url: urlOf('/b'), reason: 'gone' })
    expect((await service.post('/webhooks/test', { webhook_id }, { token })).error.reason).toBe('webhook_disabled')
    status = 200
    expect((await service.post('/webhooks/update', { webhook_id, enabled: true }, { token })).data.problem).toBeNull()
    expect(await untilTrue(async () => typesAt('/b').at(-1) === 'webhook.disabled')).toBeTrue()
    await service.post('/webhooks/test', { webhook_id }, { token })
    expect(await untilTrue(async () => typesAt('/b').at(-1) === 'webhook.test')).toBeTrue()
    const rotated = (await service.post('/webhooks/rotate', { webhook_id }, { token })).data
    expect(rotated.secret).toStartWith('whsec_')
    expect((await service.post('/webhooks/remove', { webhook_id }, { token })).data).toEqual({
      webhook_id,
      removed: true,
    })
    expect((await service.post('/webhooks/rotate', { webhook_id }, { token })).status).toBe(404)
  })

  test.each([
    ['ftp://example.com/', 'webhook_scheme_sandbox'],
    ['https://example.com:22/', 'webhook_port'],
    ['https://a:b@example.com/', 'webhook_url'],
    ['nothing', 'webhook_url'],
    ['https://10.0.0.7/', 'webhook_address'],
    ['https://0xa000007/', 'webhook_address'],
    ['https://[fd00::1]:8443/', 'webhook_address'],
    ['http://169.254.169.254/latest', 'webhook_address'],
  ])('POST /webhooks/add and update refuse the address %s with the problem %s', async (url, reason) => {
    const { token } = await service.newCustomer(0n)
    const { webhook_id } = (await service.post('/webhooks/add', { url: urlOf('/c') }, { token })).data
    const answers = [
      await service.post('/webhooks/add', { url }, { token }),
      await service.post('/webhooks/update', { webhook_id, url }, { token }),
    ]
    for (const { status: code, error } of answers) {
      expect([code, error.details?.[0]]).toMatchObject([400, { field: 'url', reason }])
    }
  })
})
