import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { someExit } from '../../../../test/harness/desired.ts'
import { scaled } from '../../../../test/harness/scale.ts'
import { type ProxyLogin, readProxyLogin } from '../../../core/login.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'
import { Snapshot } from '../../agent/snapshot.ts'
import { ExitChooser, OwnSessions } from './exit-choice.ts'

const minute = 60_000

function chooserWith(exits: readonly NodeExit[], random: () => number = Math.random) {
  const snapshot = new Snapshot()
  const apply = (...changed: NodeExit[]) => snapshot.apply({ proxies: [], subusers: [], exits: changed })
  apply(...exits)
  const down = new Set<string>()
  let generation = 0
  const health = {
    isUp: (id: string) => !down.has(id),
    get generation() {
      return generation
    },
  }
  const sessions = new OwnSessions()
  return {
    chooser: new ExitChooser({ snapshot, random, health, sessions }),
    sessions,
    /** Marks an exit as down or up. */
    setDown: (exit: NodeExit, yes: boolean) => {
      generation += 1
      if (yes) down.add(exit.id)
      else down.delete(exit.id)
    },
    apply,
    drain: (exit: NodeExit) => apply({ ...exit, drained: true }),
  }
}

const several = (count: number, change: (index: number) => Partial<NodeExit> = () => ({})): NodeExit[] =>
  Array.from({ length: count }, (_, index) => someExit({ id: `exit_${index}`, ...change(index) }))

function as(parts: string): ProxyLogin {
  const login = readProxyLogin(`anna${parts}`)
  if (!login) throw new Error(`${parts} cannot be read`)
  return login
}

type Chooser = ExitChooser
const pick = (chooser: Chooser, parts: string, nowMs = 0, owner = 'sub_1'): string => {
  const choice = chooser.choose(owner, 'residential', as(parts), nowMs)
  return 'exit' in choice ? choice.exit.id : choice.refusal
}

describe('exits of connections without a session', () => {
  test('2,000 connections without a session use each of 10 exits more than 100 times', () => {
    const { chooser, sessions } = chooserWith(several(10))
    const counts = Map.groupBy(
      Array.from({ length: 2000 }, () => pick(chooser, '')),
      (each) => each,
    )
    expect(counts.size).toBe(10)
    for (const each of counts.values()) expect(each.length).toBeGreaterThan(100)
    expect(sessions.size).toBe(0)
  })

  test('the random values 0 and 0.999999999999 choose an exit', () => {
    for (const chance of [0, 0.999_999_999_999]) {
      expect(pick(chooserWith(several(3), () => chance).chooser, '')).toStartWith('exit_')
    }
  })

  test('an exit matches every requested country, city and ASN, or the choice is refused with no_exit', () => {
    const countries = ['de', 'fr', 'us']
    const cities = ['berlin', 'paris', 'newyork']
    const asns = [1, 2, 3]
    const exits = several(40, (index) => ({
      country: countries[index % 3] ?? '',
      city: cities[Math.floor(index / 3) % 3] ?? '',
      asn: index % 4 === 3 ? null : (asns[index % 4] ?? null),
      pool: index % 5 === 0 ? 'mobile' : 'residential',
    }))
    const { chooser } = chooserWith(exits)
    const some = (values: readonly (string | number)[]) => fc.subarray([...values], { maxLength: 2 })
    fc.assert(
      fc.property(some([...countries, 'br']), some(cities), some(asns), (country, city, asn) => {
        const lists = { country, city, asn }
        const parts = Object.entries(lists).flatMap(([key, list]) =>
          list.length > 0 ? [`-${key}-${list.join('.')}`] : [],
        )
        const fitting = exits.filter(
          (exit) =>
            exit.pool === 'residential' &&
            (country.length === 0 || country.includes(exit.country)) &&
            (city.length === 0 || city.includes(exit.city)) &&
            (asn.length === 0 || (exit.asn !== null && asn.includes(exit.asn))),
        )
        const ids = fitting.map((exit) => exit.id)
        for (const session of ['', '-session-a']) {
          expect(ids.length === 0 ? ['no_exit'] : ids).toContain(pick(chooser, parts.join('') + session))
        }
      }),
      { numRuns: scaled(2000) },
    )
  })

  test('the chooser skips an exit while it is down, and an exit that has failed this connection', () => {
    const [first, second] = several(2) as [NodeExit, NodeExit]
    const { chooser, setDown } = chooserWith([first, second])
    setDown(first, true)
    for (let turn = 0; turn < 20; turn += 1) expect(pick(chooser, '')).toBe('exit_1')
    expect(chooser.choose('sub_1', 'residential', as(''), 0, [second])).toEqual({ refusal: 'no_exit' })
    setDown(second, true)
    expect(pick(chooser, '')).toBe('no_exit')
    setDown(first, false)
    expect(pick(chooser, '')).toBe('exit_0')
  })

  test('the chooser uses an added exit and skips a drained exit at once', () => {
    const [first, second] = several(2) as [NodeExit, NodeExit]
    const { chooser, apply, drain } = chooserWith([first])
    expect(pick(chooser, '')).toBe('exit_0')
    drain(first)
    expect(pick(chooser, '')).toBe('no_exit')
    apply(second)
    expect(pick(chooser, '')).toBe('exit_1')
  })
})

describe('exits of sessions', () => {
  test('a session keeps its exit for its ttl from the first use, 10 minutes by default', () => {
    const { chooser } = chooserWith(several(50))
    for (const [parts, minutes] of [
      ['-session-a', 10],
      ['-session-b-ttl-1', 1],
      ['-session-c-ttl-120', 120],
    ] as const) {
      const first = pick(chooser, parts)
      for (const share of [0.3, 0.9, 0.999]) expect(pick(chooser, parts, minutes * minute * share)).toBe(first)
      const picks = [1, 2, 3, 4, 5, 6].map((turn) => pick(chooser, parts, turn * minutes * minute))
      expect(new Set([first, ...picks]).size).toBeGreaterThan(1)
    }
  })

  test('a session is refused once with session_lost when its exit is down, then uses another exit', () => {
    const exits = several(5)
    const { chooser, setDown } = chooserWith(exits)
    const first = pick(chooser, '-session-a')
    const removed = exits.find((exit) => exit.id === first) as NodeExit
    setDown(removed, true)
    expect(pick(chooser, '-session-a')).toBe('session_lost')
    const next = pick(chooser, '-session-a')
    expect(next).toStartWith('exit_')
    expect(next).not.toBe(first)
    setDown(removed, false)
    expect(pick(chooser, '-session-a')).toBe(next)
  })

  test('a session belongs to its owner, its requested country and its name, and not to its ttl', () => {
    const { chooser } = chooserWith(several(500))
    const picks = [
      pick(chooser, '-session-a'),
      pick(chooser, '-session-a', 0, 'sub_2'),
      pick(chooser, '-session-a-country-de'),
      pick(chooser, '-session-b'),
    ]
    expect(new Set(picks).size).toBe(4)
    expect(pick(chooser, '-session-a-ttl-5')).toBe(picks[0] ?? '')
  })

  test('two choosers with the same exits choose the same exit for each of 200 sessions', () => {
    const exits = several(40)
    const [one, other] = [chooserWith(exits).chooser, chooserWith(exits.toReversed()).chooser]
    for (let index = 0; index < 200; index += 1) {
      expect(pick(one, `-session-s${index}`)).toBe(pick(other, `-session-s${index}`))
    }
  })

  test('removing an exit moves only its own sessions, each after one session_lost', () => {
    const exits = several(20)
    const { chooser, drain } = chooserWith(exits)
    const names = Array.from({ length: 1000 }, (_, index) => `-session-s${index}`)
    const before = new Map(names.map((name) => [name, pick(chooser, name)]))
    const [removed] = exits as [NodeExit]
    drain(removed)
    for (const name of names) {
      const held = before.get(name) ?? ''
      if (held !== removed.id) expect(pick(chooser, name)).toBe(held)
      else {
        expect(pick(chooser, name)).toBe('session_lost')
        const next = pick(chooser, name)
        expect(next).toStartWith('exit_')
        expect(next).not.toBe(removed.id)
        expect(pick(chooser, name)).toBe(next)
      }
    }
    const fresh = chooserWith(exits.slice(1)).chooser
    for (const name of names)
      if (before.get(name) !== removed.id) expect(pick(fresh, name)).toBe(before.get(name) ?? '')
  })

  test('5,000 sessions use each of 10 exits more than 300 times', () => {
    const { chooser } = chooserWith(several(10))
    const counts = Map.groupBy(
      Array.from({ length: 5000 }, (_, index) => pick(chooser, `-session-s${index}`)),
      (id) => id,
    )
    expect(counts.size).toBe(10)
    for (const each of counts.values()) expect(each.length).toBeGreaterThan(300)
  })

  test('the chooser keeps at most 100,000 sessions, and drops expired sessions when it needs room', () => {
    const { chooser, sessions } = chooserWith(several(2))
    const login = as('-session-x')
    const open = (index: number, nowMs: number) =>
      chooser.choose('sub_1', 'residential', { ...login, session: { name: `n${index}`, ttlMinutes: 1 } }, nowMs)
    for (let index = 0; index < 120_000; index += 1) open(index, 0)
    expect(sessions.size).toBeLessThanOrEqual(100_000)
    expect(sessions.size).toBeGreaterThan(80_000)
    const held = sessions.size
    for (let index = 0; index <= 100_000 - held; index += 1) open(200_000 + index, 2 * minute)
    expect(sessions.size).toBeLessThan(held)
  })
})
