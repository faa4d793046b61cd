import { expect, test } from 'bun:test'
import { someProxy } from '../../../test/harness/desired.ts'
import { Snapshot } from '../../dataplane/agent/snapshot.ts'
import { askShop } from './gateway.ts'

test('askShop repeats a lookup when a page arrives during it, because the page may be older than the answer', async () => {
  const snapshot = new Snapshot()
  const bought = someProxy({ username: 'tp7', port_type: 'http' })
  const changed = { ...bought, port_type: 'socks' as const }
  let lookups = 0
  const find = async () => {
    lookups += 1
    // The shop has read this page before the protocol was changed.
    if (lookups === 1) snapshot.apply({ proxies: [bought], subusers: [], exits: [] })
    return { outcome: 'found' as const, found: { proxy: changed, subuser: null } }
  }
  expect(await askShop(snapshot, { find })({ username: 'tp7' }, '192.0.2.1')).toBe('answered')
  expect([snapshot.proxies.get('tp7')?.port_type, lookups]).toEqual(['socks', 2])
})

test('askShop stops after 3 lookups while pages keep arriving, and keeps the last page', async () => {
  const snapshot = new Snapshot()
  const proxy = someProxy({ username: 'tp7' })
  let lookups = 0
  const find = async () => {
    lookups += 1
    snapshot.apply({ proxies: [{ ...proxy, expires_at: lookups }], subusers: [], exits: [] })
    return { outcome: 'found' as const, found: { proxy, subuser: null } }
  }
  expect(await askShop(snapshot, { find })({ username: 'tp7' }, '192.0.2.1')).toBe('answered')
  expect([snapshot.proxies.get('tp7')?.expires_at, lookups]).toEqual([3, 3])
})
