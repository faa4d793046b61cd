import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { failureOf } from '../../../test/harness/failure.ts'
import { addCustomer, findingsOf, wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import { kopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { createOnce } from '../orders/index.ts'
import { toolActor } from './rules.ts'

test('an unhurried transaction has a statement timeout of 30 min with and without an acting operator', async () => {
  const opened = await openTestDatabase('postgres')
  const { acting, db } = wire(opened.db)
  const limit = () => db.transact((tx) => tx.first(`SELECT current_setting('statement_timeout') AS run`), 'unhurried')
  expect(await limit()).toEqual({ run: '30min' })
  expect(await acting.act({ actor: toolActor, operation: 'slow', request: '{}' }, limit)).toEqual({ run: '30min' })
  await opened.close()
})

describe.each([...engines])('the audit log on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  const clock = new HandClock()
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    services = wire(opened.db, clock)
  })
  afterAll(() => opened.close())

  const act = <Result>(operation: string, work: () => Promise<Result>) =>
    services.acting.act({ actor: toolActor, operation, request: '{}' }, work)
  const actions = async () =>
    (await services.operators.log({ before: undefined, operator: undefined, action: undefined, limit: 1000 }))
      .toReversed()
      .map((each) => each.action)

  test('the audit log records an action that changed a row, and no refused, read-only or customer’s action', async () => {
    await act('make', () => services.customers.create('Anna'))
    await act('look', () => services.customers.list('', 10))
    const refused = await failureOf(
      act('fail', () => services.db.transact((tx) => services.operators.setRole(tx, 'nobody', 'owner'))),
    )
    expect(refused).toBeInstanceOf(Refusal)
    await services.customers.create('Boris')
    expect(await actions()).toEqual(['make'])
  })

  test('the audit log records an action of several transactions once, also when the first one failed', async () => {
    const before = (await actions()).length
    await act('twice', async () => {
      await failureOf(services.db.transact((tx) => services.operators.setRole(tx, 'nobody', 'owner')))
      await services.customers.create('Clara')
      await services.customers.create('Dora')
    })
    expect((await actions()).slice(before)).toEqual(['twice'])
  })

  test('the audit log records a credit and an answer with a key once, although each is sent 3 times', async () => {
    const { db, ledger } = services
    const customer = await addCustomer(services, 0n)
    const once = createOnce({ db, clock: clock.read })
    const before = (await actions()).length
    const adjustment = { kind: 'credit', amount: kopecks(500_000n), note: 'paid', key: 'k-1', reference: null } as const
    const repeats: unknown[] = []
    for (let time = 0; time < 3; time += 1) {
      const { isRepeat } = await act('credit', () => db.transact((tx) => ledger.adjust(tx, customer, adjustment)))
      const answer = await act('answer', () => once('k-2', { requested: 1 }, async () => ({ done: true })))
      repeats.push([isRepeat, answer['replayed'] ?? false])
    }
    expect(repeats).toEqual([
      [false, false],
      [true, true],
      [true, true],
    ])
    expect((await actions()).slice(before)).toEqual(['credit', 'answer'])
    expect((await ledger.balance(customer)).balance).toBe(kopecks(500_000n))
  })

  test('the audit log records an action whose first transaction changes no row once, also in parallel', async () => {
    const before = (await actions()).length
    const read = () => services.db.transact((tx) => tx.all('SELECT id FROM customers'))
    await act('late', async () => {
      await read()
      await services.customers.create('Elsa')
    })
    await act('parallel', () => Promise.all([read(), services.customers.create('Fred'), read()]))
    expect((await actions()).slice(before)).toEqual(['late', 'parallel'])
  })

  test('the audit log records 20 parallel actions, each with its name, in one valid chain', async () => {
    const before = (await actions()).length
    const names = Array.from({ length: 20 }, (_, index) => `action ${index}`)
    await Promise.all([
      ...names.map((name) => act(name, () => services.customers.create(name))),
      ...names.map(() => addCustomer(services, 5n)),
    ])
    expect((await actions()).slice(before).toSorted()).toEqual(names.toSorted())
    expect(await findingsOf(services)).toEqual([])
  })

  test('the audit log refuses UPDATE and DELETE, and verify reports a changed end of its chain', async () => {
    for (const sql of [`UPDATE audit_log SET name = 'x' WHERE seq = 1`, 'DELETE FROM audit_log WHERE seq = 1']) {
      expect(await failureOf(opened.db.transact((tx) => tx.run(sql)))).toBeInstanceOf(Error)
    }
    await opened.db.transact((tx) => tx.run('UPDATE audit_log_end SET seq = seq - 1'))
    const [finding] = await findingsOf(services)
    expect(finding).toMatchObject({ promise: 'audit', where: 'the audit log' })
    await opened.db.transact((tx) => tx.run('UPDATE audit_log_end SET seq = seq + 1'))
  })
})
