import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { someExit, someProxy, someSubuser } from '../../../test/harness/desired.ts'
import { scaled } from '../../../test/harness/scale.ts'
import type { NodeExit, NodeProxy, NodeSubuser } from '../../node-protocol/state.ts'
import { type PortMeaning, Snapshot } from './snapshot.ts'

type Part = { proxies?: NodeProxy[]; subusers?: NodeSubuser[]; exits?: NodeExit[] }
const pageOf = (part: Part) => ({ proxies: [], subusers: [], exits: [], ...part })

describe('the snapshot of a node', () => {
  test('Snapshot.apply() indexes a page and returns the changed keys', () => {
    const snapshot = new Snapshot()
    const subuser = someSubuser({ ports: [{ port: 20_001, login: 'u7k2m9x4qa-country-de' }] })
    const changed = snapshot.apply(pageOf({ proxies: [someProxy()], subusers: [subuser], exits: [someExit()] }))
    expect(changed).toEqual({ proxies: ['tp1abcd'], subusers: ['sub_1'], exits: true, ports: true, gateways: [] })
    expect(snapshot.proxies.get('tp1abcd')).toEqual(someProxy())
    expect(snapshot.findLogin('u7k2m9x4qa')).toEqual(subuser)
    expect(snapshot.ports.get(20_001)).toEqual({ subuser: 'sub_1', login: 'u7k2m9x4qa-country-de' })
    expect(snapshot.exitsOf('residential')).toEqual([someExit()])
    expect(snapshot.exitsOf('mobile')).toEqual([])
  })

  test('Snapshot.apply() removes an item from every index when it is gone, deleted or drained', () => {
    const snapshot = new Snapshot()
    const subuser = someSubuser({ ports: [{ port: 20_001, login: 'u7k2m9x4qa' }] })
    snapshot.apply(pageOf({ proxies: [someProxy()], subusers: [subuser], exits: [someExit()] }))
    const changed = snapshot.apply(
      pageOf({
        proxies: [someProxy({ state: 'gone' })],
        subusers: [{ ...subuser, state: 'deleted' }],
        exits: [someExit({ drained: true })],
      }),
    )
    expect(changed).toMatchObject({ ports: true, exits: true })
    expect(snapshot.proxies.get('tp1abcd')).toBeUndefined()
    expect(snapshot.findLogin('u7k2m9x4qa')).toBeUndefined()
    expect([...snapshot.ports.keys()]).toEqual([])
    expect(snapshot.exitsOf('residential')).toEqual([])
  })

  test('a snapshot keeps known items during a whole read, and endWhole() drops the items that it omitted', () => {
    const snapshot = new Snapshot()
    const port = { port: 20_001, login: 'boris' }
    snapshot.apply(
      pageOf({
        proxies: [someProxy(), someProxy({ id: 2, username: 'tp2' }), someProxy({ id: 3, username: 'tp3' })],
        subusers: [someSubuser(), someSubuser({ id: 'sub_2', login: 'boris', ports: [port] })],
        exits: [someExit(), someExit({ id: 'exit_2' })],
      }),
    )
    snapshot.beginWhole()
    snapshot.apply(pageOf({ proxies: [someProxy()], subusers: [someSubuser()] }))
    expect(snapshot.proxies.get('tp2')).toBeDefined()
    expect(snapshot.ports.get(20_001)).toBeDefined()
    snapshot.learn({ proxy: someProxy({ id: 3, username: 'tp3' }), subuser: null })
    snapshot.apply(pageOf({ exits: [someExit({ id: 'exit_2' })] }))
    expect(snapshot.endWhole()).toEqual({
      proxies: ['tp2'],
      subusers: ['sub_2'],
      exits: true,
      ports: true,
      gateways: [],
    })
    expect(snapshot.proxies.get('tp1abcd')).toBeDefined()
    expect(snapshot.proxies.get('tp2')).toBeUndefined()
    expect(snapshot.proxies.get('tp3')).toBeDefined()
    expect(snapshot.findLogin('boris')).toBeUndefined()
    expect(snapshot.ports.get(20_001)).toBeUndefined()
    expect(snapshot.exitsOf('residential').map((each) => each.id)).toEqual(['exit_2'])
  })

  test.each([
    ['a new password', { digest: 'f'.repeat(64) }],
    ['a removal', { state: 'gone' as const }],
  ])('Snapshot.follow() reports a lookup as overtaken when a page changes its proxy meanwhile: %s', (_, change) => {
    const snapshot = new Snapshot()
    const before = someProxy({ username: 'tp7', entry_port: 21_007 })
    snapshot.apply(pageOf({ proxies: [before] }))
    const questions = [{ username: 'tp7' }, { source: '192.0.2.1', port: 21_007 }, { username: 'tp8' }]
    const [byName, byPort, ofAnother] = questions.map((each) => snapshot.follow(each))
    const after = { ...before, ...change }
    snapshot.apply(pageOf({ proxies: [after] }))
    const sharing = snapshot.follow({ username: 'tp7' })
    expect([byName?.(), byPort?.(), sharing(), ofAnother?.()]).toEqual([true, true, true, false])
    expect(snapshot.follow({ username: 'tp7' })()).toBeFalse()
    const known = { proxy: 'state' in change ? null : after, subuser: null }
    expect(questions.slice(0, 2).map((each) => snapshot.knownOf(each))).toEqual([known, known])
  })

  test('Snapshot.apply() reports changed ports with the next page after a lookup has learnt a port', () => {
    const snapshot = new Snapshot()
    const proxy = someProxy({ username: 'tp7', entry_port: null })
    snapshot.apply(pageOf({ proxies: [proxy] }))
    const withPort = { ...proxy, entry_port: 21_007 }
    snapshot.learn({ proxy: withPort, subuser: null })
    const pages = [withPort, withPort, { ...withPort, entry_port: null }].map((each) => pageOf({ proxies: [each] }))
    expect(pages.map((page) => snapshot.apply(page).ports)).toEqual([true, false, true])
    snapshot.learn({ proxy: withPort, subuser: null })
    expect([snapshot.apply(pageOf({})).ports, [...snapshot.ports.keys()]]).toEqual([true, [21_007]])
  })

  test('Snapshot.exitsOf() returns the same array until an exit changes', () => {
    const snapshot = new Snapshot()
    snapshot.apply(pageOf({ exits: [someExit()] }))
    const exits = snapshot.exitsOf('residential')
    snapshot.apply(pageOf({ proxies: [someProxy()] }))
    expect(snapshot.exitsOf('residential')).toBe(exits)
    snapshot.apply(pageOf({ exits: [someExit({ id: 'exit_2', pool: 'mobile' })] }))
    expect(snapshot.exitsOf('residential')).not.toBe(exits)
  })
})

// --- any history, against a model that keeps the last version of each item ---

const number = fc.integer({ min: 0, max: 4 })
/** Proxies with ports of their own, so that no two kinds share a port. */
const anyProxy = fc
  .tuple(number, fc.constantFrom('active', 'blocked', 'gone'), fc.nat(9), fc.constantFrom(null, 0, 1))
  .map(([id, state, expires, port]) =>
    someProxy({
      id: id + 1,
      username: `tp${id}`,
      state,
      expires_at: expires,
      entry_port: port === null ? null : 21_000 + id * 10 + port,
    }),
  )
const anySubuser = fc
  .tuple(number, fc.constantFrom('active', 'blocked', 'deleted'), fc.subarray([0, 1, 2]))
  .map(([id, state, ports]) =>
    someSubuser({
      id: `sub_${id}`,
      login: `login${id}`,
      state,
      ports: ports.map((port) => ({ port: 20_000 + id * 10 + port, login: `login${id}-session-s${port}` })),
    }),
  )
const anyExit = fc
  .tuple(number, fc.boolean(), fc.constantFrom('residential', 'mobile'))
  .map(([id, drained, pool]) => someExit({ id: `exit_${id}`, drained, pool }))
const pages = fc.record({
  proxies: fc.array(anyProxy, { maxLength: 4 }),
  subusers: fc.array(anySubuser, { maxLength: 4 }),
  exits: fc.array(anyExit, { maxLength: 4 }),
})
const steps = fc.oneof(
  fc.record({ do: fc.constant('apply' as const), page: pages }),
  fc.record({ do: fc.constant('learnProxy' as const), proxy: anyProxy }),
  fc.record({ do: fc.constant('learnSubuser' as const), subuser: anySubuser }),
  fc.record({ do: fc.constant('begin' as const) }),
  fc.record({ do: fc.constant('end' as const) }),
)
type Step = typeof steps extends fc.Arbitrary<infer D> ? D : never

class Model {
  readonly proxies = new Map<string, NodeProxy>()
  readonly subusers = new Map<string, NodeSubuser>()
  readonly exits = new Map<string, NodeExit>()
  private named: Set<string> | undefined

  put({ proxies = [], subusers = [], exits = [] }: Part): void {
    for (const each of proxies) this.putItem(this.proxies, each.username, each, each.state === 'gone')
    for (const each of subusers) this.putItem(this.subusers, each.id, each, each.state === 'deleted')
    for (const each of exits) this.putItem(this.exits, each.id, each, each.drained)
  }

  take(step: Step): void {
    if (step.do === 'apply') this.put(step.page)
    else if (step.do === 'learnProxy') {
      this.put({ proxies: [step.proxy] })
      const { username, state } = step.proxy
      if (state === 'gone') this.proxies.set(username, { ...step.proxy, sources: [], entry_port: null })
    } else if (step.do === 'learnSubuser') this.put({ subusers: [step.subuser] })
    else if (step.do === 'begin') this.named = new Set()
    else {
      for (const table of [this.proxies, this.subusers, this.exits] as Map<string, unknown>[]) {
        for (const key of table.keys()) if (this.named && !this.named.has(key)) table.delete(key)
      }
      this.named = undefined
    }
  }

  private putItem<Item>(table: Map<string, Item>, key: string, item: Item, isGone: boolean): void {
    this.named?.add(key)
    if (isGone) table.delete(key)
    else table.set(key, item)
  }
}

function take(snapshot: Snapshot, step: Step): void {
  if (step.do === 'apply') snapshot.apply(step.page)
  else if (step.do === 'learnProxy') snapshot.learn({ proxy: step.proxy, subuser: null })
  else if (step.do === 'learnSubuser') snapshot.learn({ proxy: null, subuser: step.subuser })
  else if (step.do === 'begin') snapshot.beginWhole()
  else snapshot.endWhole()
}

const byId = (all: Iterable<NodeExit>) => [...all].toSorted((a, b) => (a.id < b.id ? -1 : 1))

function expectSame(snapshot: Snapshot, model: Model): void {
  const ports = new Map<number, string>()
  for (let id = 0; id <= 4; id += 1) {
    const subuser = model.subusers.get(`sub_${id}`)
    for (const { port, login } of subuser?.ports ?? []) ports.set(port, login)
    const entry = model.proxies.get(`tp${id}`)?.entry_port ?? null
    if (entry !== null) ports.set(entry, `tp${id}`)
    expect(snapshot.proxies.get(`tp${id}`)).toEqual(model.proxies.get(`tp${id}`) as never)
    expect(snapshot.subusers.get(`sub_${id}`)).toEqual(subuser as never)
    expect(snapshot.findLogin(`login${id}`)).toEqual(subuser as never)
    expect(snapshot.exits.get(`exit_${id}`)).toEqual(model.exits.get(`exit_${id}`) as never)
  }
  const nameOf = (meaning: PortMeaning | undefined) =>
    meaning && ('login' in meaning ? meaning.login : meaning.username)
  expect(new Map([...snapshot.ports.keys()].map((port) => [port, nameOf(snapshot.ports.get(port))]))).toEqual(
    ports as Map<number, string | undefined>,
  )
  for (const pool of ['residential', 'mobile']) {
    const there = [...model.exits.values()].filter((exit) => exit.pool === pool)
    expect(byId(snapshot.exitsOf(pool))).toEqual(byId(there))
  }
}

test('a snapshot equals the last version of each item after any sequence of up to 30 pages and lookups', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 30 }), (history) => {
      const [snapshot, model] = [new Snapshot(), new Model()]
      for (const step of history) {
        take(snapshot, step)
        model.take(step)
        expectSame(snapshot, model)
      }
    }),
    { numRuns: scaled(1000) },
  )
})
