import { expect, test } from 'bun:test'
import { openOutageShop } from '../../../test/harness/outage-shop.ts'
import { createTool } from '../../../test/harness/tool.ts'
import { findingsOf } from '../../../test/harness/wired.ts'

test('stock assign moves a range with its sold proxies, and interrupted proxies are listed with their gateway', async () => {
  const town = await openOutageShop('sqlite', '203.0.113.0/30', ['gate-1', 'gate-2'])
  const { run, refused } = createTool(town.services, () => town.nowMs)
  try {
    town.node('gate-2').isAlive = false
    await town.ticks(8)
    const id = await town.buy()
    const move = ['stock', 'move', '203.0.113.0/30', '--node', 'gate-2']
    const before = (await town.services.stock.ranges.overview()).ranges
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
    expect((await town.services.stock.ranges.overview()).ranges).toEqual(before)

    const { json, lines } = await run(...move)
    expect([json, lines.join(' ')]).toMatchObject([{ ranges: 1, proxies: [id] }, expect.stringContaining('30 s')])
    const movedAt = new Date(town.nowMs).toISOString()
    await town.ticks(8)
    // The holder's known gateway is the one of the sale until the other one carries the address.
    expect((await run('proxy', 'interrupted')).json).toMatchObject({
      items: [{ proxy: id, since: movedAt, reason: 'outage' }],
    })
    expect((await run('proxy', 'show', String(id))).json).toMatchObject({ interrupted_at: movedAt })
    town.node('gate-2').isAlive = true
    await town.ticks(1)
    expect((await run('proxy', 'interrupted')).json).toMatchObject({ items: [] })
    expect((await run('proxy', 'show', String(id))).json).toMatchObject({ node: 'gate-2', interrupted_by: null })
    expect(await town.eventTypes()).toEqual(['proxy.interrupted', 'proxy.restored', 'proxy.extended', 'proxy.moved'])
    expect(await findingsOf(town.services)).toEqual([])
  } finally {
    await town.close()
  }
})
