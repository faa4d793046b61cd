import { expect, test } from 'bun:test'
import { openOutageShop } from '../../../test/harness/outage-shop.ts'
import { createTool } from '../../../test/harness/tool.ts'
import { findingsOf } from '../../../test/harness/wired.ts'

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
