import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createActions } from '../../src/app/shop/admin.ts'
import type { Services } from '../../src/app/shop/services.ts'
import { formatAddress, readAddress, readPrefix } from '../../src/core/address.ts'
import { kopecks } from '../../src/core/money.ts'
import { readIsoSpan, toIso } from '../../src/core/time.ts'
import { toolActor } from '../../src/domains/operators/rules.ts'
import { HandClock } from '../harness/clock.ts'
import { enginesOf, openTestDatabase } from '../harness/database.ts'
import { fillShop, wireFilled } from '../harness/filled.ts'

describe('the time span of a report', () => {
  test.each([
    ['2026-03-01', 86_400_000],
    ['2026-03-01T10:00Z', 60_000],
    ['2026-03-01T10:00:00Z', 1000],
    ['2026-03-01T10:00:00.5Z', 1],
    ['2026-03-01T13:00:00+03:00', 1000],
  ])('readIsoSpan reads %s as a span of %d ms', (text, ms) => {
    const span = readIsoSpan(text)
    expect(span && span.to - span.from + 1).toBe(ms)
  })
  test('readIsoSpan refuses text that is no ISO 8601 time', () => {
    for (const text of ['', 'yesterday', '2026-02-30', '2026-03-01T10:00:00']) expect(readIsoSpan(text)).toBeUndefined()
  })
})

describe.each([...enginesOf('sqlite')])('findHolders on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  const clock = new HandClock()
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    services = wireFilled(opened.db, clock)
    await fillShop({ services, clock })
  })
  afterAll(async () => {
    await opened.close()
  })

  const addressOf = (text: string) => {
    const address = readAddress(text)
    if (!address) throw new Error(`${text} is no address`)
    return address
  }
  const findHolders = (address: string, from: number, to = from, host = '') =>
    createActions(services).findHolders(
      { actor: toolActor, operation: 'findHolders', request: JSON.stringify({ address, reason: 'report 17' }) },
      { address: addressOf(address), from, to, host },
    )
  const holdersAt = async (address: string, from: number, to = from) =>
    (await findHolders(address, from, to)).proxies.map((each) => each.customer)

  async function addBuyer(name: string) {
    const { id } = await services.customers.create(name)
    await services.db.transact((tx) => services.ledger.credit(tx, id, kopecks(9_000_000n), 'operator', name))
    return id
  }
  async function buy(customer: Awaited<ReturnType<typeof addBuyer>>, country: string, ipv: 3 | 4 = 4) {
    const request = { by: { customer, token: null }, key: undefined, toBody: () => '{}' }
    await services.dedicated.buy(request, { country: country as never, ipv, period: 7, count: 1 })
    const row = await opened.db.first<{ id: bigint; address: string }>(
      'SELECT id, address FROM proxies WHERE customer_id = $1 ORDER BY id DESC LIMIT 1',
      [customer],
    )
    return { id: Number(row?.id), address: row?.address ?? '' }
  }

  test('findHolders names the customer who held an address, to the millisecond, across two sales', async () => {
    const prefix = readPrefix('192.0.2.200/32')
    if (prefix) await services.stock.add(prefix, { country: 'NL' as never, ipv: 4 })
    const [first, second] = [await addBuyer('first'), await addBuyer('second')]
    const soldAt = clock.nowMs
    const proxy = await buy(first, 'NL')
    expect(proxy.address).toBe('192.0.2.200')
    expect(await holdersAt(proxy.address, soldAt - 1)).toEqual([])
    expect(await holdersAt(proxy.address, soldAt)).toEqual([first])
    clock.advance(10_000)
    const endedAt = clock.nowMs
    await services.proxyOperator.end(proxy.id, { give: 'nothing', note: 'over' })
    expect(await holdersAt(proxy.address, endedAt - 1)).toEqual([first])
    expect(await holdersAt(proxy.address, endedAt)).toEqual([])
    // Ends the rest period, as an operator may.
    await opened.db.transact((tx) =>
      tx.run(`UPDATE stock SET state = 'free', rest_until = NULL WHERE address = $1`, [proxy.address]),
    )
    const again = await buy(second, 'NL')
    expect(again.address).toBe(proxy.address)
    expect(await holdersAt(proxy.address, endedAt - 1)).toEqual([first])
    expect(await holdersAt(proxy.address, endedAt)).toEqual([second])
    // A report with a precision of one second cannot distinguish the two customers.
    const second0 = readIsoSpan(`${toIso(endedAt).slice(0, 19)}Z`)
    expect(await holdersAt(proxy.address, second0?.from ?? 0, second0?.to)).toContain(second)
    expect(await holdersAt(proxy.address, soldAt, clock.nowMs)).toEqual([first, second])
  })

  test('findHolders names two customers for one second, each for its own part of it', async () => {
    const prefix = readPrefix('192.0.2.201/32')
    if (prefix) await services.stock.add(prefix, { country: 'GB' as never, ipv: 4 })
    clock.advance(1000 - (clock.nowMs % 1000))
    const [first, second] = [await addBuyer('third'), await addBuyer('fourth')]
    const startedAt = clock.nowMs
    const proxy = await buy(first, 'GB')
    clock.advance(300)
    await services.proxyOperator.end(proxy.id, { give: 'nothing', note: 'over' })
    await opened.db.transact((tx) =>
      tx.run(`UPDATE stock SET state = 'free', rest_until = NULL WHERE address = $1`, [proxy.address]),
    )
    clock.advance(300)
    await buy(second, 'GB')
    expect(await holdersAt(proxy.address, startedAt, startedAt + 999)).toEqual([first, second])
    expect(await holdersAt(proxy.address, startedAt + 299)).toEqual([first])
    expect(await holdersAt(proxy.address, startedAt + 300)).toEqual([])
    expect(await holdersAt(proxy.address, startedAt + 599)).toEqual([])
    expect(await holdersAt(proxy.address, startedAt + 600)).toEqual([second])
  })

  test('findHolders follows a customer to a replaced address, and ignores which gateway serves it', async () => {
    for (const each of ['192.0.2.210/32', '192.0.2.211/32']) {
      const prefix = readPrefix(each)
      if (prefix) await services.stock.add(prefix, { country: 'US' as never, ipv: 4 })
    }
    const customer = await addBuyer('fifth')
    const proxy = await buy(customer, 'US')
    clock.advance(5000)
    const swappedAt = clock.nowMs
    const { to } = (await services.proxyOperator.replace(proxy.id, { note: 'slow' })) as { to: string }
    expect(await holdersAt(proxy.address, swappedAt - 1)).toEqual([customer])
    expect(await holdersAt(proxy.address, swappedAt)).toEqual([])
    expect(await holdersAt(to, swappedAt - 1)).toEqual([])
    expect(await holdersAt(to, swappedAt)).toEqual([customer])
    const nodes = await services.fleet.nodes('gateway')
    for (const node of nodes) {
      await opened.db.transact((tx) => tx.run('UPDATE stock SET serving_node = $2 WHERE address = $1', [to, node.id]))
      expect(await holdersAt(to, swappedAt)).toEqual([customer])
    }
  })

  test('findHolders names each of the three customers of a shared address', async () => {
    const prefix = readPrefix('192.0.2.220/32')
    if (prefix) await services.stock.add(prefix, { country: 'NL' as never, ipv: 3 })
    const buyers = [await addBuyer('a'), await addBuyer('b'), await addBuyer('c')]
    for (const customer of buyers) {
      clock.advance(1000)
      await buy(customer, 'NL', 3)
    }
    expect(await holdersAt('192.0.2.220', clock.nowMs)).toEqual(buyers)
    expect(await holdersAt('192.0.2.220', clock.nowMs - 1000)).toEqual(buyers.slice(0, 2))
  })

  test('findHolders names the VPN device by its IPv4 and IPv6 address inside the tunnel', async () => {
    const devices = await opened.db.all<{ id: string; ipv4: bigint; ipv6: string; at: bigint; gone: bigint | null }>(
      'SELECT id, ipv4, ipv6, created_at AS at, removed_at AS gone FROM vpn_peers ORDER BY id',
    )
    expect(devices.length).toBeGreaterThan(3)
    for (const { id, ipv4, ipv6, at, gone } of devices.filter((each) => each.gone !== each.at)) {
      const text = formatAddress({
        version: 4,
        bytes: Uint8Array.from([24n, 16n, 8n, 0n].map((by) => Number((ipv4 >> by) & 255n))),
      })
      for (const address of [text, ipv6]) {
        const had = async (moment: number) => (await findHolders(address, moment)).devices.map((each) => each.id)
        expect(await had(Number(at))).toContain(id)
        expect(await had(Number(at) - 1)).not.toContain(id)
        if (gone === null) continue
        expect(await had(Number(gone) - 1)).toContain(id)
        expect(await had(Number(gone))).not.toContain(id)
      }
    }
  })

  test('findHolders names the sub-users of an exit’s pool in that hour, and by host if hosts are kept', async () => {
    const row = await opened.db.first<{ hour: bigint; subuser_id: string }>(
      `SELECT hour, subuser_id FROM traffic_hours WHERE pool = 'residential' AND received > 0 ORDER BY hour LIMIT 1`,
    )
    const hour = Number(row?.hour)
    const all = await findHolders('127.100.0.1', hour + 5)
    expect(all).toMatchObject({ isExit: true, proxies: [], devices: [] })
    expect(all.candidates.map((each) => each.subuser_id)).toContain(row?.subuser_id ?? '')
    expect((await findHolders('127.100.0.1', hour - 1)).candidates).toEqual([])
    const kept = await opened.db.first<{ hour: bigint; host: string; subuser_id: string }>(
      `SELECT hour, host, subuser_id FROM traffic_hosts WHERE pool = 'residential' AND received > 0 LIMIT 1`,
    )
    const there = await findHolders('127.100.0.1', Number(kept?.hour), Number(kept?.hour), kept?.host)
    expect(there.candidates.map((each) => each.subuser_id)).toContain(kept?.subuser_id ?? '')
    expect((await findHolders('127.100.0.1', hour + 5, hour + 5, 'nobody.example')).candidates).toEqual([])
  })

  test('findHolders writes the operator and the reason to the audit log', async () => {
    const before = (
      await services.operators.log({ before: undefined, operator: undefined, action: undefined, limit: 1 })
    )[0]
    await findHolders('192.0.2.200', clock.nowMs)
    const [entry] = await services.operators.log({
      before: undefined,
      operator: undefined,
      action: undefined,
      limit: 1,
    })
    expect(entry?.seq).toBe((before?.seq ?? 0) + 1)
    expect(entry).toMatchObject({ name: 'tool', action: 'findHolders' })
    expect(JSON.parse(entry?.request ?? '')).toEqual({ address: '192.0.2.200', reason: 'report 17' })
  })
})
