import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { createActions } from '../../src/app/shop/admin.ts'
import { operatorsOwner } from '../../src/core/ids.ts'
import { type Answer, createAnswerChecker } from '../harness/answers.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'
import { untilTrue } from '../harness/turnpike.ts'

describe.each([...enginesOf('postgres')])('alerts of operators on %s', (engine) => {
  let smtp: SmtpServer
  let service: Service
  let checker: Awaited<ReturnType<typeof createAnswerChecker>>
  let token = ''
  const received: { headers: Headers; body: string }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      received.push({ headers: request.headers, body: await request.text() })
      return new Response(null, { status: 204 })
    },
  })
  beforeAll(async () => {
    const started = await startSmtp()
    if (!started) throw new Error('there is no aiosmtpd: install python3-aiosmtpd')
    smtp = started
    service = await startService(engine, {
      TURNPIKE_SMTP_URL: smtp.url,
      TURNPIKE_MAIL_FROM: 'shop@example.com',
    })
    await createActions(service.services).addOperator('duty', 'owner')
    token = (await service.services.operators.issueToken('duty', { name: 't', expiresAt: null })).text
    checker = await createAnswerChecker(service.url, '/admin/v1')
  })
  afterAll(async () => {
    await service?.stop()
    await smtp?.stop()
    await server.stop(true)
  })
  async function call(method: 'GET' | 'POST', path: string, body: object = {}): Promise<Answer> {
    const response = await fetch(`${service.url}/admin/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(method === 'POST' && { body: JSON.stringify(body) }),
    })
    return checker.read(method, path, response)
  }
  const verify = async () => {
    await call('POST', '/verify')
    await untilTrue(async () => (await call('GET', '/verify')).data.state === 'done')
  }
  const raised = async () => (await call('GET', '/alerts')).data.items.map((each: { type: string }) => each.type)

  test('a finding of verify reaches an e-mail address and a signed https endpoint, and so does its end', async () => {
    const mail = (await call('POST', '/alert-endpoints', { url: 'MAILTO:duty@example.com' })).data
    expect(mail).toMatchObject({ url: 'MAILTO:duty@example.com', state: 'enabled' })
    const url = `http://127.0.0.1:${server.port}/alerts`
    const hook = (await call('POST', '/alert-endpoints', { url, events: ['verify.finding'] })).data
    // It gets no alert of this test: its address can be wrong while others are delivered.
    const otherUrl = `${url}/other`
    const other = (await call('POST', '/alert-endpoints', { url: otherUrl, events: ['node.lost'] })).data
    const { db } = service.services
    const edit = (from: string, to: string) =>
      db.transact((tx) => tx.run('UPDATE webhooks SET url = $2 WHERE url = $1', [from, to]))
    await edit(otherUrl, 'ftp://example.com/')
    await verify()
    expect(await raised()).toContain('verify.finding')
    await edit('ftp://example.com/', otherUrl)
    const first = (await smtp.until(1)).at(0) ?? ''
    expect(first).toMatch(/^Subject: Turnpike: verify\.finding$/m)
    expect(first).toMatch(/^To: duty@example\.com$/m)
    expect(textOf(first)).toContain('Сверка нашла проблемы «webhook»')
    await verify()
    expect(await raised()).not.toContain('verify.finding')
    expect((await smtp.until(2)).at(1)).toMatch(/^Subject: Turnpike: over: verify\.finding$/m)
    await untilTrue(() => received.length === 2)
    const states = received.map(({ body }) => JSON.parse(body).data.state)
    expect(states).toEqual(['raised', 'ended'])
    for (const { headers, body } of received) {
      const at = new Date(Number(headers.get('webhook-timestamp')) * 1000)
      const signature = new Webhook(hook.secret).sign(headers.get('webhook-id') ?? '', at, body)
      expect(headers.get('webhook-signature')?.split(' ')).toContain(signature)
    }
    const { deliveries } = (await call('GET', '/alert-deliveries?status=delivered')).data
    expect(new Set(deliveries.map((each: { webhook_id: string }) => each.webhook_id))).toEqual(
      new Set([mail.webhook_id, hook.webhook_id]),
    )
    expect((await call('POST', `/alert-endpoints/${other.webhook_id}/remove`)).data.removed).toBeTrue()
    expect((await call('POST', `/alert-deliveries/${deliveries[0].delivery_id}/redeliver`)).data.status).toBe('waiting')
  })

  test('a customer can neither have an e-mail address as endpoint nor choose a type of alerts', async () => {
    const customer = await service.newCustomer(0n)
    const add = (body: object) => service.post('/webhooks/add', body, { token: customer.token })
    expect((await add({ url: 'mailto:anna@example.com' })).error.details?.[0]?.field).toBe('url')
    const wrong = await add({ url: 'https://example.com/', events: ['node.lost'] })
    expect(wrong.error.details?.[0]?.field).toBe('events')
    const refused = await call('POST', '/alert-endpoints', { url: 'mailto:a@example.com\r\nBcc: b@example.com' })
    expect(refused.error.details?.[0]?.field).toBe('url')
    expect(await service.services.webhooks.list(operatorsOwner)).toHaveLength(2)
  })
})
