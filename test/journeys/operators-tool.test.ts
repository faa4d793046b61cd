import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createBrowserSession } from '../harness/browser-session.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { runJson, testDatabaseEnv } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

describe.each([...enginesOf('sqlite')])('operator, customer and address commands on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  const run = (...args: string[]) =>
    runJson(args, { ...testDatabaseEnv(service.testDatabase), TURNPIKE_PUBLIC_URL: service.url })

  test('operator add prints a sign-in link, and the audit log names commands as the tool’s', async () => {
    const added = await run('operator', 'add', 'anna', '--role', 'support')
    expect(added.exit).toBe(0)
    const link = String(added.json.link)
    expect(link).toStartWith(`${service.url}/operator#enter=tpl_`)
    const page = await createBrowserSession(service.url)
    const opened = await page.post('/auth/v1/operator/sign-in/link', { link: link.split('=')[1] })
    expect(opened.data).toMatchObject({ kind: 'operator', name: 'anna', role: 'support' })
    const customer = await run('customer', 'create', 'Boris')
    await run('credit', customer.json.customer_id, '10', '--note', 'welcome')
    const { json } = await run('audit', 'list')
    expect(json.items.slice(0, 3)).toMatchObject([
      {
        name: 'tool',
        role: 'owner',
        source: expect.stringMatching(/^user \S/),
        action: 'creditCustomer',
        request: { customer_id: customer.json.customer_id, amount_rub: 10, note: 'welcome' },
      },
      { name: 'tool', operator_id: null, action: 'createCustomer', request: { name: 'Boris' } },
      { name: 'tool', action: 'addOperator', request: { name: 'anna', role: 'support' } },
    ])
    expect((await run('operator', 'remove', 'anna')).json).toEqual({ name: 'anna', removed: true })
    service.clock.advance(1000)
    expect((await page.get('/admin/v1/customers')).status).toBe(401)
    expect(await findingsOf(service.services)).toEqual([])
  })

  test('customer export writes a 0600 file, customer erase needs --yes, address holders needs --reason', async () => {
    const { json: made } = await run('customer', 'create', 'Galina Ivanovna')
    const file = join(service.testDatabase.folder, 'galina.json')
    expect((await run('customer', 'export', made.customer_id)).exit).not.toBe(0)
    expect((await run('customer', 'export', made.customer_id, '--to', file)).json).toMatchObject({
      customer_id: made.customer_id,
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const exported = JSON.parse(readFileSync(file, 'utf8'))
    expect(exported.records[0]).toMatchObject({
      table: 'customers',
      row: { id: made.customer_id, name: 'Galina Ivanovna' },
    })
    expect((await run('customer', 'export', made.customer_id, '--to', file)).json.error.message).toContain(
      'exists already',
    )
    const refused = await run('customer', 'erase', made.customer_id)
    expect([refused.exit, refused.json.error.message]).toEqual([1, expect.stringContaining('cannot be undone')])
    expect((await run('customer', 'erase', made.customer_id, '--yes')).json).toMatchObject({
      customer_id: made.customer_id,
      entries: 1,
    })
    const command = ['address', 'holders', '203.0.113.7', '--from', '2026-01-01T00:00:00Z']
    expect((await run(...command)).json.error.message).toContain('--reason')
    const answer = await run(...command, '--reason', 'report 17')
    expect(answer.json).toEqual({ items: [], devices: [], is_exit: false, candidates: [] })
    const { json } = await run('audit', 'list')
    expect(json.items.slice(0, 4).map((each: { action: string }) => each.action)).toEqual([
      'findHolders',
      'eraseCustomer',
      'exportCustomer',
      'createCustomer',
    ])
    expect(json.items[0].request).toMatchObject({ address: '203.0.113.7', reason: 'report 17' })
    expect(JSON.stringify(json)).not.toContain('Galina')
    expect(await findingsOf(service.services)).toEqual([])
  })
})
