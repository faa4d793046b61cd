import { Database as Sqlite } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readMigrations } from '../../src/app/shop/database.ts'
import type { Services } from '../../src/app/shop/services.ts'
import { readAddress, readPrefix } from '../../src/core/address.ts'
import { auditOf, sayFinding } from '../../src/core/finding.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { tablesOf } from '../../src/db/copy/copy.ts'
import { copySqlite } from '../../src/db/sqlite-file.ts'
import type { Database } from '../../src/db/transaction.ts'
import { toolActor } from '../../src/domains/operators/rules.ts'
import { holdings, impersonal } from '../../src/domains/privacy/store-holdings.ts'
import { HandClock } from '../harness/clock.ts'
import { engines, enginesOf, openTestDatabase } from '../harness/database.ts'
import { failureOf, refusalOf } from '../harness/failure.ts'
import { openFilledShop, wireFilled } from '../harness/filled.ts'
import { isLong } from '../harness/scale.ts'
import { wideIn } from '../harness/scans.ts'

/** Texts and addresses of the test customer: every text contains the name. */
const personal = ['zinaida', '91.121.44.77', '91.121.44.78', '91.121.44.200', '91.121.44.79']
const visitor = { source: '91.121.44.200', clientPrefix: 'h', agent: 'zinaida-browser', shown: [] }
const password = 'correct horse battery'

const findingsOf = async (services: Services): Promise<string[]> => {
  const audits = await Promise.all(services.verifiers.map((each) => auditOf(each)))
  const texts = audits.flatMap(({ findings }) => findings).map((each) => sayFinding(each))
  return texts.map((each) => `${each.promise}: ${each.where}: ${each.problem}`)
}

/** Every column that contains one of these texts; bytes are read as text. */
async function tablesWith(db: Database, texts: readonly string[]): Promise<string[]> {
  const found = new Set<string>()
  for (const { name } of await tablesOf(readMigrations())) {
    for (const row of await db.all<Record<string, unknown>>(`SELECT * FROM ${name}`)) {
      for (const [column, value] of Object.entries(row)) {
        const text = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
        for (const each of texts) if (text.toLowerCase().includes(each)) found.add(`${name}.${column}: ${each}`)
      }
    }
  }
  return [...found].toSorted()
}

/** Adds a customer with rows in every table that can have some, before and between three checkpoints. */
async function addCustomerEverywhere(services: Services, clock: HandClock): Promise<CustomerId> {
  const { acting, customers, db, dedicated, identities, ledger, ledgerAudit, payments, premium, signIn, vpn } = services
  const act = <Result>(operation: string, request: object, work: () => Promise<Result>) =>
    acting.act({ actor: toolActor, operation, request: JSON.stringify(request) }, work)
  const { id } = await act('createCustomer', { names: ['Zinaida Petrova'] }, () => customers.create('Zinaida Petrova'))
  await act('noteCustomer', { customer_id: id, note: 'zinaida note' }, () => customers.setNote(id, 'zinaida note'))
  await db.transact((tx) => ledger.credit(tx, id, kopecks(5_000_000n), 'operator', 'top-up'))
  const from = readPrefix('91.121.44.77/32')
  const { token, text } = await customers.issueToken(id, { name: 'zinaida token', allowedFrom: from ? [from] : [] })
  await customers.authenticate(text, readAddress('91.121.44.77'), 'read')
  await customers.noteUses()
  const owner = { kind: 'customer', id } as const
  const login = 'zinaida@example.com'
  const hash = await identities.hash(password, login, 'h')
  await db.transact((tx) => identities.create(tx, owner, { login, email: login, password: hash, isConfirmed: true }))
  await signIn.byPassword('customer', { login, password }, visitor)
  const payload = JSON.stringify({ email: login, password: 'none' })
  await db.transact(async (tx) => signIn.issueLink(tx, { kind: 'customer', owner: null, purpose: 'confirm', payload }))
  await db.transact(async (tx) => signIn.issueLink(tx, { kind: 'customer', owner: id, purpose: 'reset' }))
  clock.advance(5 * 60_000)
  await ledgerAudit.makeCheckpoint()
  const by = { customer: id, token: { id: token.id, cap: null } }
  const request = (key: string) => ({ by, key, toBody: () => '{}' })
  await dedicated.buy(request('zinaida-key'), { country: 'DE' as never, ipv: 4, period: 30, count: 2 })
  const [proxy] = await db.all<{ id: bigint }>('SELECT id FROM proxies WHERE customer_id = $1 ORDER BY id', [id])
  const proxyId = Number(proxy?.id)
  await dedicated.setComment(id, [proxyId], 'zinaida-comment')
  await dedicated.allowSource(id, [proxyId], '91.121.44.79')
  await dedicated.setRenewal(id, [proxyId], 7, token.id)
  const vpnNode = await services.fleet.findByName('vpn-1')
  if (vpnNode) await services.fleet.seen(vpnNode.id, { version: '0.1.1' })
  await vpn.buy(request('zinaida-vpn'), { months: 1, name: 'zinaida-phone' })
  const subuser = await premium.subusers.create(id, { name: 'zinaida-sub', login: 'zinaidalogin' })
  await premium.whitelist.add(id, subuser.id, '91.121.44.78', 'zinaida-home')
  clock.advance(5 * 60_000)
  await ledgerAudit.makeCheckpoint()
  await premium.whitelist.add(id, subuser.id, '91.121.44.77', 'zinaida-work')
  await premium.whitelist.remove(id, subuser.id, '91.121.44.77')
  const locations = { countries: ['de'], states: [], cities: [], zips: [], asns: [] }
  const ports = { pool: 'residential', locations, protocol: 'http', quantity: 2, template: '{host}:{port}' } as const
  for (const node of await services.fleet.nodes('gateway')) {
    const report = { isUp: true, sinceAt: 1, reason: '' }
    const exits = await db.all<{ id: string }>('SELECT id FROM exits WHERE drained_at IS NULL')
    await premium.exits.takeReports(
      node.id,
      exits.map((exit) => ({ exit: exit.id as never, ...report })),
    )
  }
  await premium.generate(id, { ...ports, subuser: subuser.id, type: 'sticky', ttlMinutes: 30 })
  await premium.subusers.update(id, subuser.id, { name: 'zinaida-second', limits: {}, keepHosts: true })
  await premium.metering.takeReport({
    node: 'gate-1',
    boot: '2027-01',
    counts: [],
    leaseRequests: [],
    hosts: [{ subuser: subuser.id, pool: 'residential', host: 'zinaida.example.net', received: 1000n, sent: 100n }],
  })
  const topUp = { amount: kopecks(70_000n), method: 'transfer', returnUrl: 'https://zinaida.example/', email: login }
  const { payment } = await payments.begin(by, 'zinaida-pay', topUp, 'https://shop.example')
  const marked = { payment_id: payment.id, note: 'zinaida paid' }
  await act('markPaid', marked, () => services.paymentOperator.markPaid(payment.id, 'came', 'mark 1'))
  await act('replaceProxy', { words: [String(proxyId)], note: 'zinaida asked' }, () =>
    services.proxyOperator.replace(proxyId, { note: 'zinaida asked', key: 'replace 1' }),
  )
  clock.advance(5 * 60_000)
  await ledgerAudit.makeCheckpoint()
  await dedicated.setComment(id, [proxyId], 'zinaida-later')
  return id
}

describe.each([...engines])('export and erasure of a customer on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openFilledShop>>
  let services: Services
  let id: CustomerId
  let clock: HandClock
  const kept: { number: number; hash: string }[] = []
  beforeAll(async () => {
    opened = await openFilledShop(engine)
    ;({ services, clock } = opened)
    id = await addCustomerEverywhere(services, clock)
    for (const row of await opened.db.all<{ number: bigint; hash: Uint8Array }>(
      'SELECT number, hash FROM checkpoints',
    )) {
      kept.push({ number: Number(row.number), hash: row.hash.toHex() })
    }
  })
  afterAll(async () => {
    await opened.close()
  })

  test('an export has a row of every table with the customer’s data, and no secret', async () => {
    expect(await findingsOf(services)).toEqual([])
    const tables = new Set<string>()
    const texts: string[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await services.exporting.page(id, 'operator', cursor, 7)
      for (const item of page.items) tables.add(item.table)
      texts.push(JSON.stringify(page.items))
      if (page.next === undefined) break
      cursor = page.next
    }
    const whole = texts.join('')
    for (const each of [
      'Zinaida Petrova',
      'zinaida note',
      'zinaida@example.com',
      'zinaida-later',
      'zinaida-phone',
      'zinaida-home',
    ]) {
      expect(whole).toContain(each)
    }
    expect(whole).not.toMatch(/digest|password"|private_key|"hash"|Anna/)
    const named = (await tablesWith(opened.db, [id, ...personal])).map((each) => each.split('.')[0] ?? '')
    for (const table of ['traffic_hosts', 'usage_counts', 'gateway_ports', 'orders', 'payments', 'operator_answers']) {
      expect(named).toContain(table)
    }
    const known = new Set([...holdings.map((each) => each.table), ...Object.keys(impersonal)])
    expect(named.filter((table) => !known.has(table))).toEqual([])
    for (const table of new Set(named)) if (!(table in impersonal)) expect(tables).toContain(table)
  })

  test('an export for the customer leaves out operators’ notes and audit entries', async () => {
    const page = await services.exporting.page(id, 'customer', undefined, 500)
    const text = JSON.stringify(page)
    expect(text).toContain('zinaida@example.com')
    expect(text).not.toContain('zinaida note')
    expect(page.items.filter((item) => ['audit_log', 'operator_answers'].includes(item.table))).toEqual([])
  })

  test('an export names no other person: referrer, referred customers and operators are left out', async () => {
    const { customers, exporting, operators, paymentOperator, payments, referrals, signIn, db } = services
    const referrer = await customers.create('Referrer')
    clock.advance(1000)
    const brought = await customers.create('Brought')
    const earlier = await referrals.terms()
    await referrals.set({ hundredths: 1000, topUps: 3 })
    await referrals.add(brought.id, referrer.id)
    const topUp = { amount: kopecks(70_000n), method: 'transfer', returnUrl: undefined, email: undefined }
    const by = { customer: brought.id, token: null }
    const { payment } = await payments.begin(by, undefined, topUp, 'https://shop.example')
    await paymentOperator.markPaid(payment.id, 'bank statement 17', 'mark of brought')
    const looker = await db.transact((tx) => operators.add(tx, 'looker', 'support'))
    const view = await signIn.openView(looker.id, brought.id, {
      source: '203.0.113.77',
      clientPrefix: 'o',
      agent: 'Console',
      shown: [],
    })
    const exportOf = async (of: CustomerId, to: 'operator' | 'customer') =>
      JSON.stringify(await exporting.page(of, to, undefined, 500))
    for (const to of ['operator', 'customer'] as const) {
      const exported = await exportOf(brought.id, to)
      expect(exported).toContain(payment.id)
      for (const foreign of [referrer.id, view.session.id, looker.id, '203.0.113.77']) {
        expect(exported).not.toContain(foreign)
      }
      const ofReferrer = await exportOf(referrer.id, to)
      expect(ofReferrer).toContain('share of a top-up')
      for (const foreign of [brought.id, payment.id]) expect(ofReferrer).not.toContain(foreign)
    }
    expect(await exportOf(brought.id, 'operator')).toContain('bank statement 17')
    expect(await exportOf(brought.id, 'customer')).not.toContain('bank statement 17')
    if (earlier) await referrals.set(earlier)
  })

  test('an export refuses or answers every forged cursor, and never fails', async () => {
    const { exporting } = services
    const nonsense: unknown[] = [{}, null, 1, 'x', [], ['x'], [0.5], [1e300], [null]]
    for (const [index, { key }] of holdings.entries()) {
      const fillings = ['', 'x', '\0', '\ud800', '1', "'", 1, -1, 0, 9e15, 0.5, null, [], {}, true]
      for (const filling of fillings) nonsense.push([index, ...key.map(() => filling)])
      nonsense.push([index, ...key, 1], [index, 'x', 'x', 'x', 'x', 'x'])
    }
    for (const each of nonsense) {
      for (const to of ['operator', 'customer'] as const) {
        const answer = exporting.page(id, to, JSON.stringify(each), 3).then(() => 'answered')
        const outcome = await answer.catch((error: unknown) => (error instanceof Refusal ? error.kind : error))
        expect([each, outcome]).toEqual([each, expect.stringMatching(/^(answered|malformed)$/)])
      }
    }
  })

  test('an erasure without confirmation is refused with the number of services and open payments', async () => {
    const refused = services.erasing.erase(id, { by: 'operator', isConfirmed: () => false })
    expect(await refusalOf(refused)).toMatchObject({
      kind: 'conflict',
      details: { proxies: 2, vpn_subscriptions: 1, open_payments: 0 },
    })
    expect((await services.customers.load(id)).name).toBe('Zinaida Petrova')
  })

  test('an erasure is refused while a payment is open', async () => {
    const by = { customer: id, token: null }
    const topUp = { amount: kopecks(70_000n), method: 'transfer', returnUrl: undefined, email: undefined }
    const { payment } = await services.payments.begin(by, undefined, topUp, 'https://shop.example')
    const refused = services.erasing.erase(id, { by: 'operator', isConfirmed: () => true })
    expect(await refusalOf(refused)).toMatchObject({ kind: 'conflict', details: { open_payments: 1 } })
    await services.paymentOperator.markPaid(payment.id, 'came', 'mark 2')
  })

  test('an erased customer is in no table; balance, holders and checkpoints stay; verify finds nothing', async () => {
    const before = await services.ledger.balance(id)
    const held = await services.proxyOperator.holdersOf(
      readAddress(await addressOf(opened.db, id)) ?? never(),
      clock.nowMs,
      clock.nowMs,
    )
    expect(held.map((each) => each.customer)).toEqual([id])
    const erased = await services.erasing.erase(id, { by: 'operator', isConfirmed: () => true })
    expect(erased.versions).toBeGreaterThan(10)
    expect(erased.entries).toBeGreaterThanOrEqual(4)
    expect(await tablesWith(opened.db, personal)).toEqual([])
    expect(await findingsOf(services)).toEqual([])
    expect((await services.ledgerAudit.compareWith(kept)).findings).toEqual([])
    expect((await services.ledger.balance(id)).balance).toBe(before.balance)
    const after = await services.proxyOperator.holdersOf(
      readAddress(await addressOf(opened.db, id)) ?? never(),
      clock.nowMs,
      clock.nowMs,
    )
    expect(after.map((each) => [each.customer, each.order])).toEqual(held.map((each) => [each.customer, each.order]))
    clock.advance(5 * 60_000)
    await services.ledgerAudit.makeCheckpoint()
    expect(await findingsOf(services)).toEqual([])
  })

  test('a second erasure changes nothing, and the customer cannot be unblocked', async () => {
    const again = await services.erasing.erase(id, { by: 'operator', isConfirmed: () => true })
    expect(again).toMatchObject({ versions: 0, entries: 0, lost: { openPayments: 0 } })
    expect((await refusalOf(services.setBlocked(id, false))).kind).toBe('missing')
    expect(await findingsOf(services)).toEqual([])
    expect(await services.erasing.resume()).toEqual({ finished: 0, refused: [] })
  })

  test('the erasure job completes an interrupted erasure', async () => {
    const { id: other } = await services.customers.create('zinaida again')
    clock.advance(5 * 60_000)
    await services.ledgerAudit.makeCheckpoint()
    await opened.db.transact(async (tx) => {
      await tx.run(`INSERT INTO erasures (customer_id, requested_by, at) VALUES ($1, 'operator', $2)`, [
        other,
        clock.nowMs,
      ])
      await tx.run(`UPDATE customers SET name = 'deleted' WHERE id = $1`, [other])
    })
    expect(await tablesWith(opened.db, ['zinaida'])).toEqual(['row_history.content: zinaida'])
    expect(await services.erasing.resume()).toEqual({ finished: 1, refused: [] })
    expect(await tablesWith(opened.db, ['zinaida'])).toEqual([])
    expect(await findingsOf(services)).toEqual([])
  })

  test('the erasure job checks an erased customer once more and then leaves the row unchanged', async () => {
    const { id: other } = await services.customers.create('zinaida in between')
    const versions = () =>
      opened.db.first<{ n: bigint }>(`SELECT COUNT(*) AS n FROM row_history WHERE of_table = 'erasures'`)
    await services.erasing.erase(other, { by: 'operator', isConfirmed: () => true })
    clock.advance(9 * 60_000)
    const before = await versions()
    await services.erasing.resume()
    const after = await versions()
    expect(after?.n).toBeGreaterThan(before?.n ?? 0n)
    clock.advance(9 * 60_000)
    await services.erasing.resume()
    expect((await versions())?.n).toBe(after?.n)
    expect(await findingsOf(services)).toEqual([])
  })

  test('an erasure is refused when the history was changed after a checkpoint', async () => {
    const { id: other } = await services.customers.create('zinaida third')
    clock.advance(5 * 60_000)
    const made = await services.ledgerAudit.makeCheckpoint()
    const reword = (from: string, to: string) =>
      tamper(opened, `UPDATE row_history SET content = REPLACE(content, '${from}', '${to}') WHERE row_key = '${other}'`)
    await reword('zinaida third', 'changed')
    const refused = await refusalOf(services.erasing.erase(other, { by: 'operator', isConfirmed: () => true }))
    expect(refused).toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining(`checkpoint ${made?.number}`),
    })
    expect((await findingsOf(services)).some((each) => each.includes(`checkpoint ${made?.number}`))).toBe(true)
    await reword('changed', 'zinaida third')
    expect(await services.erasing.resume()).toEqual({ finished: 1, refused: [] })
    expect(await findingsOf(services)).toEqual([])
  })

  test('the database refuses changes to history, audit log, amendments and redactions', async () => {
    for (const sql of [
      `UPDATE row_history SET content = 'erased' WHERE version > 0`,
      `UPDATE audit_log SET request = '{}'`,
      'DELETE FROM checkpoint_amendments',
      'DELETE FROM audit_redactions',
    ]) {
      expect((await failureOf(opened.db.transact((tx) => tx.run(sql)))).name).toBe('ConstraintViolation')
    }
  })

  if (engine === 'sqlite') {
    test('an erased customer is in no byte of a backup or of the compacted SQLite file', () => {
      const copy = join(opened.testDatabase.folder, 'copy.db')
      copySqlite(opened.testDatabase.address, copy)
      expect(bytesWith(copy)).toEqual([])
      const file = new Sqlite(opened.testDatabase.address, { readwrite: true })
      file.run('VACUUM')
      file.run('PRAGMA wal_checkpoint(TRUNCATE)')
      file.close()
      expect(bytesWith(opened.testDatabase.address)).toEqual([])
    })
  }
})

const never = (): never => {
  throw new Error('no address')
}

const bytesWith = (path: string): string[] => {
  const bytes = readFileSync(path).toString('latin1').toLowerCase()
  return personal.filter((each) => bytes.includes(each))
}

async function addressOf(db: Database, id: CustomerId): Promise<string> {
  const row = await db.first<{ address: string }>('SELECT address FROM proxies WHERE customer_id = $1 ORDER BY id', [
    id,
  ])
  return row?.address ?? ''
}

/** Changes rows with the protecting trigger disabled. */
async function tamper(opened: { readonly db: Database }, sql: string): Promise<void> {
  await opened.db.transact(async (tx) => {
    if (opened.db.engine === 'postgres') {
      await tx.run('ALTER TABLE row_history DISABLE TRIGGER row_history_append_only')
      await tx.run(sql)
      await tx.run('ALTER TABLE row_history ENABLE TRIGGER row_history_append_only')
      return
    }
    const made = await tx.first<{ sql: string }>(`SELECT sql FROM sqlite_master WHERE name = 'row_history_append_only'`)
    await tx.run('DROP TRIGGER row_history_append_only')
    await tx.run(sql)
    await tx.run(made?.sql ?? '')
  })
}

test('every table is listed as personal or impersonal, and privacy.md names it', async () => {
  const tables = (await tablesOf(readMigrations())).map((table) => table.name)
  const known = [...holdings.map((each) => each.table), ...Object.keys(impersonal)]
  expect(tables.filter((table) => !known.includes(table))).toEqual([])
  expect(known.filter((table) => !tables.includes(table) && table !== 'closed_shop')).toEqual([])
  const page = readFileSync(new URL('../../docs/operate/privacy.md', import.meta.url), 'utf8')
  expect(tables.filter((table) => !page.includes(`\`${table}\``))).toEqual([])
})

describe.each([...enginesOf('sqlite')])('erasure of a customer with many whitelisted addresses on %s', (engine) => {
  test('an erasure adds at most 4 amendments per checkpoint, however many addresses there are', async () => {
    const opened = await openTestDatabase(engine)
    try {
      const clock = new HandClock()
      const services = wireFilled(opened.db, clock)
      const { customers, ledgerAudit, premium } = services
      const { id } = await customers.create('Many')
      const subusers = isLong ? 20 : 2
      for (let of = 0; of < subusers; of += 1) {
        const subuser = await premium.subusers.create(id, { name: `sub ${of}` })
        for (let n = 0; n < (isLong ? 100 : 60); n += 1) {
          await premium.whitelist.add(id, subuser.id, `91.121.${of}.${n}`, `zinaida ${n}`)
        }
        clock.advance(5 * 60_000)
        await ledgerAudit.makeCheckpoint()
        for (let n = 0; n < 10; n += 1) await premium.whitelist.remove(id, subuser.id, `91.121.${of}.${n}`)
      }
      await services.erasing.erase(id, { by: 'operator', isConfirmed: () => true })
      expect(await tablesWith(opened.db, ['91.121.', 'zinaida'])).toEqual([])
      expect(await findingsOf(services)).toEqual([])
      const [row] = await opened.db.all<{ n: bigint }>('SELECT COUNT(*) AS n FROM checkpoint_amendments')
      // One for the names of other rows, one for the addresses, and some for rows changed later.
      expect(Number(row?.n)).toBeLessThanOrEqual(subusers * 4)
    } finally {
      await opened.close()
    }
  })
})

/** Adds `count` sessions, links and whitelisted addresses, each in two versions. */
async function addMany({ db, premium, signIn }: Services, owner: CustomerId, count: number): Promise<void> {
  const subusers: string[] = []
  for (let n = 0; n < count; n += 20) subusers.push((await premium.subusers.create(owner, { name: `many ${n}` })).id)
  await db.transact(async (tx) => {
    for (let n = 0; n < count; n += 1) {
      signIn.issueLink(tx, { kind: 'customer', purpose: 'reset', owner })
      tx.send(
        `INSERT INTO console_sessions (id, kind, owner_id, digest, scopes, created_at, used_at, expires_at)
         VALUES ($1, 'customer', $2, $3, '', 1, 1, 1)`,
        [`ses_${owner}${n}`, owner, new TextEncoder().encode(`${owner}${n}`)],
      )
      tx.send(`INSERT INTO whitelist_entries (subuser_id, prefix, comment, created_at) VALUES ($1, $2, '', 1)`, [
        subusers[Math.floor(n / 20)] ?? '',
        `198.18.${n >> 8}.${n & 255}/32`,
      ])
    }
    await tx.run('UPDATE console_sessions SET ended_at = 2 WHERE owner_id = $1', [owner])
    await tx.run('UPDATE console_links SET used_at = 2 WHERE owner_id = $1', [owner])
    await tx.run(
      `UPDATE whitelist_entries SET comment = 'second'
       WHERE subuser_id IN (SELECT id FROM subusers WHERE customer_id = $1)`,
      [owner],
    )
  })
}

describe.each([...enginesOf('sqlite')])(
  'the cost of an erasure beside customers with thousands of sessions on %s',
  (engine) => {
    test('an erasure reads at most 600 rows of history beside two customers with 800 sessions each', async () => {
      const opened = await openTestDatabase(engine)
      try {
        const clock = new HandClock()
        const services = wireFilled(opened.db, clock)
        const { id } = await services.customers.create('Few')
        const [many, later] = [await services.customers.create('Many'), await services.customers.create('Later')]
        await addMany(services, id, 3)
        await addMany(services, many.id, 800)
        clock.advance(5 * 60_000)
        await services.ledgerAudit.makeCheckpoint()
        // Rows that no checkpoint covers, and rows that are already deleted.
        await addMany(services, later.id, 800)
        await opened.db.transact((tx) => tx.run(`DELETE FROM console_sessions WHERE id LIKE 'ses_%1'`))
        if (engine === 'postgres') await opened.db.all('ANALYZE')
        const columns = ['row_key', '<expr>']
        const wide = await wideIn(opened.db, { table: 'row_history', columns, max: 600 }, () =>
          services.erasing.erase(id, { by: 'operator', isConfirmed: () => true }),
        )
        expect(wide).toEqual([])
        const named = await opened.db.all(
          `SELECT of_table, row_key, version FROM row_history
         WHERE of_table IN ('console_sessions', 'console_links') AND content LIKE '%' || CAST($1 AS TEXT) || '%'`,
          [id],
        )
        expect(named).toEqual([])
        expect(await findingsOf(services)).toEqual([])
      } finally {
        await opened.close()
      }
    })
  },
)
