import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { adviseListening } from './node.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-doctor-node-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const range = (id: number, prefix: string, more: object = {}) => ({ id, prefix, node_ids: [], gone: false, ...more })

/** The reasons and prefixes of a gateway that listens on this address and has saved these ranges. */
function advised(gatewayListen: string, ...ranges: object[]): string[] {
  const others = { gateways: [], proxies: [], subusers: [], exits: [], peers: [] }
  const page = { cursor: 'c', more: false, now: 1, mode: 'production', ranges, ...others }
  writeFileSync(join(folder, 'state.log'), `${JSON.stringify(page)}\n`)
  return adviseListening({ gatewayListen }, folder).map((each) => `${each.reason} ${each.says}`)
}

test('the doctor names a range of a gateway that listens on one address only, and none of one that listens on all', () => {
  const wide = range(1, '203.0.113.0/24')
  for (const all of ['::', '0.0.0.0']) expect(advised(all, wide)).toEqual([])
  const [advice] = advised('203.0.113.7', wide)
  expect(advice).toStartWith('listens_on_one it listens on 203.0.113.7 only')
  expect(advice).toContain('203.0.113.0/24')
  expect(advised('203.0.113.7', range(1, '203.0.113.7/32'), range(2, '2001:db8::/64'))).toEqual([])
  expect(advised('203.0.113.7', { ...wide, gone: true })).toEqual([])
  expect(advised('203.0.113.7', { ...wide, node_ids: ['nod_another'] })).toEqual([])
})
