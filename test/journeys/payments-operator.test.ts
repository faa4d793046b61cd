import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { kopecks } from '../../src/core/money.ts'
import { runtimeWith } from '../harness/clock.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { runCommand, runJson, testDatabaseEnv } from '../harness/turnpike.ts'
import { introduce } from '../providers/shop.ts'

/** The date `days` from today. */
const dayIn = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

const daysAround = (): string[] => ['--from', dayIn(-1), '--to', dayIn(1)]

describe.each([...enginesOf('sqlite')])('payment commands on %s', (engine) => {
  let shop: Service
  let aheadMs = 0
  let env: Record<string, string>
  beforeAll(async () => {
    // Commands run on the real clock.
    shop = await startService(engine, {}, runtimeWith({ read: () => Date.now() + aheadMs }))
    env = testDatabaseEnv(shop.testDatabase)
  })
  afterAll(() => shop.stop())
  const run = (...args: string[]) => runJson(args, env)

  test('payments provider set reads the secret from a file, stores it encrypted and never shows it', async () => {
    const file = join(shop.testDatabase.folder, 'secret.txt')
    await Bun.write(file, 'live_very-secret-1\n')
    const missing = await run('payments', 'provider', 'set', 'yookassa', '--secret-file', file)
    expect(missing.json.error.message).toContain('shop_id')
    const args = ['--settings', 'shop_id=100500', '--secret-file', file, '--methods', 'card', '--fee', 'card=2.5']
    const set = await run('payments', 'provider', 'set', 'yookassa', ...args, '--min', 'card=50')
    expect(set).toMatchObject({ exit: 0, json: { name: 'yookassa', methods: [{ method: 'card' }] } })
    const listed = await run('payments', 'provider', 'list')
    expect(listed.json.items).toContainEqual(expect.objectContaining({ name: 'yookassa', state: 'enabled' }))
    expect(set.out + listed.out).not.toContain('very-secret')
    const { json: methods } = await run('payments', 'methods')
    expect(methods.items).toContainEqual(expect.objectContaining({ method: 'card', min_rub: 50, fee_percent: 2.5 }))
    const row = await shop.services.db.first<{ secret: Uint8Array }>('SELECT secret FROM payment_providers')
    expect(new TextDecoder().decode(row?.secret)).not.toContain('very-secret')
    expect((await run('payments', 'provider', 'disable', 'yookassa')).exit).toBe(0)
    const { data } = await shop.get('/payments/methods')
    expect(data.items.map((each: { method: string }) => each.method)).toEqual(['sandbox'])
    const wrong = [
      ['payments', 'provider', 'set', 'gold'],
      ['payments', 'provider', 'set', 'invoice'],
      ['payments', 'reconcile', '--from', '2026-02-01', '--to', '2026-01-01'],
    ]
    const ended = await Promise.all(wrong.map((each) => run(...each)))
    expect(ended.map((each) => each.exit)).not.toContain(0)
  })

  test('payments mark-paid credits once, refund debits, with --into-debt below 0, and reports count both', async () => {
    const set = ['payments', 'provider', 'set', 'invoice', '--settings', 'details=Account 42', '--fee', 'transfer=1']
    expect((await run(...set)).exit).toBe(0)
    const { token, customer } = await shop.newCustomer()
    const { data: begun } = await shop.post('/payments', { amount_rub: 1000, method: 'transfer' }, { token })
    expect(begun).toMatchObject({ fee_rub: 10, to_pay_rub: 1010 })
    expect(await (await fetch(begun.pay_url)).text()).toContain('Account 42')
    expect((await fetch(begun.pay_url, { method: 'POST' })).status).toBe(409)
    const mark = ['payments', 'mark-paid', begun.payment_id, '--key', 'statement-1']
    expect((await run(...mark)).json).toMatchObject({ status: 'paid', amount_rub: 1000 })
    expect((await run(...mark)).json).toMatchObject({ replayed: true })
    expect((await run('payments', 'mark-paid', begun.payment_id)).json).toMatchObject({
      status: 'paid',
      replayed: true,
    })
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(1000)
    expect((await run('payments', 'refund', begun.payment_id, '--amount', '400')).json).toMatchObject({
      refunded_rub: 400,
    })
    await shop.services.db.transact((tx) =>
      shop.services.ledger.adjust(tx, customer, {
        kind: 'debit',
        amount: kopecks(50_000n),
        note: '',
        key: null,
        reference: null,
      }),
    )
    const spent = await run('payments', 'refund', begun.payment_id)
    expect([spent.exit, spent.json.error.message]).toEqual([1, expect.stringContaining('--into-debt')])
    expect((await run('payments', 'refund', begun.payment_id, '--into-debt')).json).toMatchObject({
      status: 'refunded',
    })
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(-500)
    const { json: shown } = await run('payments', 'show', begun.payment_id)
    expect(shown.steps.map((each: { kind: string }) => each.kind)).toEqual([
      'opened',
      'sent',
      'credited',
      'debited',
      'debited',
    ])
    const days = daysAround()
    const { json: methods } = await run('report', 'methods', ...days)
    expect(methods.items).toEqual([
      expect.objectContaining({
        method: 'transfer',
        payments: 1,
        topped_up_rub: 1000,
        fees_rub: 10,
        taken_back_rub: 1000,
      }),
      // Money that an operator moved by hand, and the balance of the sandbox's customer.
      expect.objectContaining({ method: 'operator', payments: 1, topped_up_rub: 100_000, taken_back_rub: 500 }),
    ])
    const { json: held } = await run('report', 'days', ...days)
    expect([held.items.length, held.items.at(-1).held_rub]).toEqual([2, 100_000 - 500])
    const csv = await runCommand(['report', 'days', ...days, '--csv'], env)
    const head = 'day,turnover_rub,refunded_rub,topped_up_rub,taken_back_rub,held_rub,revenue_rub'
    expect(csv.out.split('\n')[0]).toBe(head)
    expect(csv.out.trim().split('\n')).toHaveLength(3)
  })

  test('payments reconcile lists each payment that the provider and the shop have in different states', async () => {
    const { side, method } = await introduce(shop.services, 'crypto_pay')
    const { token } = await shop.newCustomer()
    const begin = async () => {
      const { data } = await shop.post('/payments', { amount_rub: 100, method }, { token })
      return [...side.bills.values()].find((each) => each.mark === data.payment_id)?.id ?? ''
    }
    const [credited, unnotified] = [await begin(), await begin()]
    side.pay(credited)
    const { headers, body } = side.notificationOf(credited)
    await fetch(`${shop.url}/api/v1/payments/notify/crypto_pay`, { method: 'POST', headers, body })
    const days = [...daysAround(), '--provider', 'crypto_pay']
    const same = await run('payments', 'reconcile', ...days)
    expect(same).toMatchObject({ exit: 0, json: { state: 'done', compared: 2, differences: [] } })
    side.pay(unnotified)
    const differ = await run('payments', 'reconcile', ...days)
    expect([differ.exit, differ.json.differences]).toEqual([
      1,
      [expect.objectContaining({ provider_id: unnotified, problem: 'paid at the provider, pending here' })],
    ])
    await side.stop()
    const silent = await run('payments', 'reconcile', ...days)
    expect([silent.exit, silent.json.state]).toEqual([1, 'failed'])
    expect(silent.json.problem).toContain('crypto_pay does not answer')
    // Without a name, the providers that answer are compared.
    const other = await introduce(shop.services, 'yookassa')
    await shop.post('/payments', { amount_rub: 100, method: other.method }, { token })
    for (const { id } of other.side.bills.values()) other.side.pay(id)
    const all = await run('payments', 'reconcile', ...daysAround())
    expect(all).toMatchObject({ exit: 1, json: { state: 'failed', compared: 1 } })
    expect(all.json.differences).toMatchObject([{ provider: 'yookassa' }])
    expect(all.json.problem).toContain('crypto_pay does not answer')
    await other.side.stop()
  })

  test('code add, list and end, and referral set, add and list store and show their terms', async () => {
    const made = await run('code', 'add', 'spring', '--percent', '10', '--uses', '5', '--until', dayIn(60))
    expect(made.json).toEqual({ name: 'SPRING' })
    expect((await run('code', 'add', 'Spring', '--amount', '5')).json.error.code).toBe('conflict')
    expect((await run('code', 'list')).json.items).toMatchObject([{ name: 'SPRING', percent: 10, uses: 5, used: 0 }])
    expect((await run('code', 'end', 'SPRING')).json.ended).toBeTrue()
    expect((await run('code', 'end', 'SPRING')).exit).toBe(1)
    const anna = await shop.newCustomer()
    // A referrer must be older than the customer who was referred.
    aheadMs += 1
    const boris = await shop.newCustomer()
    expect((await run('referral', 'set', '5', '--top-ups', '3')).exit).toBe(0)
    expect((await run('referral', 'add', boris.customer, '--by', anna.customer)).exit).toBe(0)
    const { json } = await run('referral', 'list')
    expect(json).toMatchObject({ terms: { percent: 5, top_ups: 3 }, items: [{ referrer_id: anna.customer }] })
  })
})
