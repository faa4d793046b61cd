import { describe, expect, test } from 'bun:test'
import { someExit } from '../../../../test/harness/desired.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'
import { ExitHealth, type ExitReport } from './exit-health.ts'

const byId = (exits: NodeExit[]) => new Map(exits.map((exit) => [exit.id, exit]))

const healthOf = (...ids: string[]) => healthOfExits(...ids.map((id) => someExit({ id })))

function healthOfExits(...exits: NodeExit[]) {
  let nowMs = 1_000_000
  const reports: ExitReport[] = []
  const health = new ExitHealth({ clock: () => nowMs, onChange: (report) => void reports.push(report) })
  health.keep(byId(exits))
  return {
    health,
    reports,
    exits,
    pass: (ms: number) => {
      nowMs += ms
    },
    /** Checks all due exits with the same outcome, and returns their ids. */
    tryDue: (problem?: string) => {
      const due = health.takeDue()
      for (const exit of due) health.tried(exit, problem)
      return due.map((exit) => exit.id)
    },
  }
}

describe('the health of an exit', () => {
  test('a new exit is checked at once, counts as up until then, and is reported up', () => {
    const { health, tryDue, reports } = healthOf('a', 'b')
    expect(health.isUp('a')).toBeTrue()
    expect(tryDue()).toEqual(['a', 'b'])
    expect(reports.map((report) => [report.id, report.isUp])).toEqual([
      ['a', true],
      ['b', true],
    ])
    expect(tryDue()).toEqual([])
  })

  test('an exit that fails a client is checked at once and is down if the check fails', () => {
    const { health, tryDue, reports } = healthOf('a', 'b')
    tryDue()
    health.failed('a', 'refused')
    expect(health.isUp('a')).toBeTrue()
    expect(tryDue('refused')).toEqual(['a'])
    expect(health.isUp('a')).toBeFalse()
    expect(health.isUp('b')).toBeTrue()
    expect(reports.at(-1)).toMatchObject({ id: 'a', isUp: false, reason: 'refused' })
  })

  test('an exit that fails three clients in a row is down although it passes checks', () => {
    const { health, tryDue } = healthOf('a')
    tryDue()
    for (const isUp of [true, true, false]) {
      health.failed('a', 'closed')
      expect(health.isUp('a')).toBe(isUp)
      if (isUp) expect(tryDue()).toEqual(['a'])
    }
  })

  test('an exit that fails one client and serves the next is up', () => {
    const { health, tryDue } = healthOf('a')
    tryDue()
    for (let turn = 0; turn < 20; turn += 1) {
      health.failed('a', 'closed')
      health.worked('a')
    }
    expect(health.isUp('a')).toBeTrue()
  })

  test('an exit of another node that is down is checked with backoff from 1 s to 5 s', () => {
    const { tryDue, pass, health } = healthOfExits(someExit({ id: 'a', node: 'nod_far' }))
    tryDue('refused')
    for (const seconds of [1, 2, 4, 5, 5, 5]) {
      pass(seconds * 1000 - 1)
      expect(tryDue('refused')).toEqual([])
      pass(1)
      expect(tryDue('refused')).toEqual(['a'])
    }
    pass(5_000)
    tryDue()
    expect(health.isUp('a')).toBeTrue()
  })

  test('a supplier exit that is down is checked with backoff from 1 s to 60 s, and is up after one success', () => {
    const { health, tryDue, pass, reports } = healthOfExits(someExit({ id: 'a', kind: 'http', port: 3128 }))
    tryDue('refused')
    expect(health.isUp('a')).toBeFalse()
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      pass(seconds * 1000 - 1)
      expect(tryDue('refused')).toEqual([])
      pass(1)
      expect(tryDue('refused')).toEqual(['a'])
    }
    pass(60_000)
    expect(tryDue()).toEqual(['a'])
    expect(health.isUp('a')).toBeTrue()
    expect(reports.map((report) => report.isUp)).toEqual([false, true])
  })

  test('a healthy exit is checked after 10 s without use', () => {
    const { health, tryDue, pass } = healthOf('a')
    tryDue()
    for (let turn = 0; turn < 5; turn += 1) {
      pass(9999)
      health.worked('a')
    }
    expect(tryDue()).toEqual([])
    pass(10_000)
    expect(tryDue()).toEqual(['a'])
  })

  test('a changed exit is checked again, and a removed exit is not', () => {
    const { health, tryDue } = healthOf('a')
    tryDue('refused')
    health.keep(byId([someExit({ id: 'a', port: 1 })]))
    expect(health.isUp('a')).toBeFalse()
    expect(tryDue()).toEqual(['a'])
    expect(health.isUp('a')).toBeTrue()
    health.keep(byId([]))
    expect(tryDue()).toEqual([])
  })
})

test('ExitHealth.takeDue returns at most 64 exits at once, and the next 64 after their checks', () => {
  const { health } = healthOf(...Array.from({ length: 200 }, (_, index) => `exit_${index}`))
  const first = health.takeDue()
  expect(first).toHaveLength(64)
  expect(health.takeDue()).toEqual([])
  for (const exit of first) health.tried(exit, undefined)
  const second = health.takeDue()
  expect(second).toHaveLength(64)
  expect(new Set([...first, ...second]).size).toBe(128)
})
