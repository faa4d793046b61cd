import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StatePage } from '../../node-protocol/state.ts'
import { realTiming } from './runtime.ts'
import { readSavedState, SavedState } from './sync.ts'

const quiet = { error() {}, warn() {}, info() {} }

const page = (now: number, ...ids: number[]): StatePage => ({
  cursor: `cursor-${now}`,
  more: false,
  now,
  mode: 'sandbox',
  gateways: [],
  ranges: [],
  proxies: ids.map((id) => ({
    id,
    username: `tp${id}`,
    digest: 'a'.repeat(64),
    port_type: 'http',
    leave_from: '127.0.0.1',
    sources: [],
    entry_port: null,
    expires_at: 1,
    state: 'active',
    withdrawn: false,
    owner: 'b'.repeat(16),
  })),
  subusers: [],
  exits: [],
  peers: [],
})
const whole = { isWhole: true, isFirst: true, isLast: true }
const change = { isWhole: false, isFirst: false, isLast: true }

describe('the saved state of a node', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-state-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  const open = () => new SavedState({ folder, timing: realTiming, log: quiet })
  const path = () => join(folder, 'state.log')

  test('readSavedState returns the saved pages with content in order, from a file with mode 0600', () => {
    const saved = open()
    saved.note(page(1, 10, 11), whole)
    saved.note(page(2, 12), change)
    saved.note(page(3), change)
    saved.close()
    const warned: string[] = []
    const log = { ...quiet, warn: (event: string) => void warned.push(event) }
    expect(readSavedState(folder, log)).toEqual([page(1, 10, 11), page(2, 12)])
    expect(warned).toEqual([])
    expect(statSync(path()).mode & 0o777).toBe(0o600)
  })

  test('SavedState keeps the last complete read when a new whole read is not finished', () => {
    const saved = open()
    saved.note(page(1, 10), whole)
    saved.close()
    const again = open()
    again.note(page(5, 20), { isWhole: true, isFirst: true, isLast: false })
    again.close()
    expect(readSavedState(folder, quiet)).toEqual([page(1, 10)])
  })

  test('SavedState replaces every saved page with a new whole read', () => {
    const saved = open()
    saved.note(page(1, 10), whole)
    saved.note(page(2, 11), change)
    saved.note(page(3, 12), whole)
    saved.close()
    expect(readSavedState(folder, quiet)).toEqual([page(3, 12)])
  })

  test('readSavedState returns the complete pages before the point where the file is cut off', () => {
    const saved = open()
    saved.note(page(1, 10), whole)
    saved.note(page(2, 11), change)
    saved.close()
    const text = readFileSync(path(), 'utf8')
    const first = text.indexOf('\n') + 1
    for (let length = 0; length <= text.length; length += 7) {
      writeFileSync(path(), text.slice(0, length))
      const pages = readSavedState(folder, quiet)
      expect(pages).toEqual(
        [page(1, 10), page(2, 11)].slice(0, length < first - 1 ? 0 : length < text.length - 1 ? 1 : 2),
      )
    }
  })

  test('SavedState compacts its file to the latest version of each item', () => {
    const saved = new SavedState({ folder, timing: realTiming, log: quiet, maxAdded: 2000 })
    const ids = Array.from({ length: 20 }, (_, index) => index + 1)
    saved.note(page(1, ...ids), whole)
    const wholeBytes = statSync(path()).size
    for (let now = 2; now < 2000; now += 1) {
      const changed = page(now, (now % 20) + 1, 100 + now)
      const [known, passing] = changed.proxies
      if (!known || !passing) throw new Error('a page has what was put in')
      saved.note({ ...changed, proxies: [{ ...known, expires_at: now }, passing] }, change)
      saved.note({ ...changed, proxies: [{ ...passing, state: 'gone' }] }, change)
      expect(statSync(path()).size).toBeLessThan(3 * wholeBytes + 4000)
    }
    saved.close()
    const held = new Map(readSavedState(folder, quiet).flatMap((each) => each.proxies.map((of) => [of.id, of])))
    const there = [...held.values()].filter((each) => each.state !== 'gone')
    expect(there.map((each) => each.id).toSorted((a, b) => a - b)).toEqual(ids)
    expect(Math.min(...there.map((each) => each.expires_at))).toBe(1980)
    expect(statSync(path()).mode & 0o777).toBe(0o600)
  })

  test('SavedState keeps ranges and gateways when it compacts its file', () => {
    const saved = new SavedState({ folder, timing: realTiming, log: quiet, maxAdded: 1000 })
    const range = { id: 7, prefix: '45.12.7.0/24', node_ids: [], gone: false }
    const gateway = { id: 'nod_1', name: 'one', host: '45.12.0.1', port: 10_800, key: 'k', state: 'open' as const }
    saved.note({ ...page(1, 1), ranges: [range], gateways: [gateway] }, whole)
    for (let now = 2; now < 50; now += 1) saved.note(page(now, 1), change)
    saved.close()
    const pages = readSavedState(folder, quiet)
    expect(pages.length).toBeLessThan(20)
    expect(pages.flatMap((each) => each.ranges)).toEqual([range])
    expect(pages.flatMap((each) => each.gateways)).toEqual([gateway])
  })

  test('readSavedState returns no pages when the file is missing', () => {
    expect(readSavedState(folder, quiet)).toEqual([])
  })
})
