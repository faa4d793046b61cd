import { expect, test } from 'bun:test'
import { openOutageShop } from '../../../test/harness/outage-shop.ts'
import { createTool } from '../../../test/harness/tool.ts'
import { findingsOf } from '../../../test/harness/wired.ts'
import { bytes } from '../../core/bytes.ts'

test('stock move moves a range with its sold proxy, and proxy interrupted lists it until the new gateway is up', async () => {
  const shop = await openOutageShop('sqlite', '203.0.113.0/30', ['gate-1', 'gate-2'])
  const { run, refused } = createTool(shop.services, () => shop.nowMs)
  try {
    shop.node('gate-2').isAlive = false
    await shop.ticks(8)
    const id = await shop.buy()
    const move = ['stock', 'move', '203.0.113.0/30', '--node', 'gate-2']
    const before = (await shop.services.stock.ranges.overview()).ranges
    expect((await run(...move, '--dry-run')).json).toMatchObject({
      dry_run: true,
      proxies: [id],
      customers: 1,
      away: ['gate-2'],
    })
    expect(await refused('stock', 'move', '203.0.113.0/30')).toContain('--node')
    expect(await refused('stock', 'move', 'x', '--node', 'gate-2')).toContain('must be a prefix')
    expect(await refused('stock', 'move', '203.0.113.0/30', '--node', 'nobody')).toContain('nobody')
    expect(await refused('stock', 'move', '198.51.100.0/24', '--node', 'gate-2')).toContain('198.51.100.0/24')
    expect((await shop.services.stock.ranges.overview()).ranges).toEqual(before)

    const { json, lines } = await run(...move)
    expect([json, lines.join(' ')]).toMatchObject([{ ranges: 1, proxies: [id] }, expect.stringContaining('30 s')])
    const movedAt = new Date(shop.nowMs).toISOString()
    await shop.ticks(8)
    // The proxy keeps the gateway of its sale until the other gateway serves the address.
    expect((await run('proxy', 'interrupted')).json).toMatchObject({
      items: [{ proxy: id, since: movedAt, reason: 'outage' }],
    })
    expect((await run('proxy', 'show', String(id))).json).toMatchObject({ interrupted_at: movedAt })
    shop.node('gate-2').isAlive = true
    await shop.ticks(1)
    expect((await run('proxy', 'interrupted')).json).toMatchObject({ items: [] })
    expect((await run('proxy', 'show', String(id))).json).toMatchObject({ node: 'gate-2', interrupted_by: null })
    expect(await shop.eventTypes()).toEqual(['proxy.interrupted', 'proxy.restored', 'proxy.extended', 'proxy.moved'])
    expect(await findingsOf(shop.services)).toEqual([])
  } finally {
    await shop.close()
  }
})

test('node show and node list show the bandwidth, and no advice about a range that another gateway serves', async () => {
  const shop = await openOutageShop('sqlite', '203.0.113.0/30', ['gate-1', 'gate-2'])
  const { run } = createTool(shop.services, () => shop.nowMs)
  try {
    await run('stock', 'assign', '203.0.113.0/30', '--any')
    await shop.ticks(1)
    const [range] = (await shop.services.stock.ranges.overview()).ranges
    const problems = [{ first: 0, count: 4, problem: 'not_on_this_machine' }]
    const lacks = (name: string) =>
      shop.services.stock.ranges.tried(
        shop.node(name).id,
        [{ range: range?.id ?? 0, served: [], problems, seenAs: null }],
        true,
      )
    await lacks('gate-2')
    const shown = (await run('node', 'show', 'gate-2')).lines.join('\n')
    expect(shown).not.toContain('range setup')
    expect(shown).toContain('Bandwidth: 10000 Mbit/s, both directions together (default 10000).')
    await lacks('gate-1')
    expect((await run('node', 'show', 'gate-2')).lines.join('\n')).toContain('range setup 203.0.113.0/30')
    await run('node', 'link', 'gate-1', '100')
    const [heading = '', ...nodes] = (await run('node', 'list')).lines
    expect(heading).toContain('LINK MBIT')
    expect(nodes.find((line) => line.startsWith('gate-1'))).toMatch(/ 100 /)
  } finally {
    await shop.close()
  }
})

test('node show shows a node with 25 Gbit/s of interfaces, and the 7 bytes that it was not billed', async () => {
  const shop = await openOutageShop('sqlite', '203.0.113.0/30', ['gate-1'])
  const { run } = createTool(shop.services, () => shop.nowMs)
  try {
    const { db, fleet, traffic } = shop.services
    const id = (await fleet.nodes('gateway'))[0]?.id
    if (!id) throw new Error('the shop has no gateway')
    const health = { boot: '9boot-0001', tunnels: 0, lagMs: 0, totalBytes: 0, hopBytes: 0, isStopping: false }
    const speed = { interfaceMegabits: 25_000, maxPorts: null, tls: null }
    await fleet.seen(id, { version: '1', health: { ...health, ...speed } })
    await db.transact(async (tx) => {
      const counts = [{ subject: 'x', received: bytes(1n), sent: bytes(0n) }]
      await traffic.counts.take(tx, { node: id, boot: health.boot, counts })
      traffic.counts.refuse(tx, id, 7n)
    })
    const { json, lines } = await run('node', 'show', 'gate-1')
    expect(json).toMatchObject({ node: { link_mbit: 25_000, interface_mbit: 25_000, refused_bytes: 7 } })
    expect(lines.join('\n')).toContain('Its interfaces: 25000 Mbit/s.')
    expect(lines.join('\n')).toContain('Not billed, because beyond the bandwidth: 7 bytes.')
  } finally {
    await shop.close()
  }
})

test('stock ranges shows an IPv6 block as served or not, and no number of slots', async () => {
  const shop = await openOutageShop('sqlite', '203.0.113.0/30', ['gate-1'])
  const { run } = createTool(shop.services, () => shop.nowMs)
  try {
    await run('stock', 'add', '2001:db8:7::/48', '--country', 'AT', '--ipv', '6', '--node', 'gate-1')
    const line = async () => (await run('stock', 'ranges')).lines.find((each) => each.startsWith('2001:db8:7::/48'))
    expect(await line()).toMatch(/gate-1 +yes +as sold +no /)
    await shop.ticks(1)
    expect(await line()).toMatch(/gate-1 +yes +as sold +yes +gate-1/)
  } finally {
    await shop.close()
  }
})

test('stock ranges lists a retired IPv4 range only with --all, and node show gives no advice about it', async () => {
  const shop = await openOutageShop('sqlite', '203.0.113.0/30', ['gate-1'])
  const { run } = createTool(shop.services, () => shop.nowMs)
  try {
    const [range] = (await shop.services.stock.ranges.overview()).ranges
    const problems = [{ first: 0, count: 4, problem: 'not_on_this_machine' }]
    const report = { range: range?.id ?? 0, served: [], problems, seenAs: null }
    await shop.services.stock.ranges.tried(shop.node('gate-1').id, [report])
    const shown = async () =>
      [...(await run('stock', 'ranges')).lines, ...(await run('node', 'show', 'gate-1')).lines].join('\n')
    expect(await shown()).toContain('run "turnpike range setup 203.0.113.0/30" on gate-1')
    await run('stock', 'retire', '203.0.113.0/30')
    expect(await shown()).not.toContain('range setup')
    expect((await run('stock', 'ranges')).json).toEqual({ items: [] })
    const all = await run('stock', 'ranges', '--all')
    expect(all.json).toMatchObject({ items: [{ retired: true, places: 0, problems: [] }] })
    await run('stock', 'retire', '203.0.113.0/30', '--undo')
    expect(await shown()).toContain('range setup')
  } finally {
    await shop.close()
  }
})
