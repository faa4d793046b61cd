import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { createSpeedPlan } from './speed.ts'

const sides = [{ device: 'tp0', end: 'dst' }] as const
const peer = (index: number, speed: number | null) => ({
  id: `vpn_${index}`,
  // Two blocks in the same row as those of other peers, so that the plan must distinguish entries.
  allowed: [`10.66.${index}.7/32`, `fd74::${(index * 256 + 7).toString(16)}/128`],
  speed_mbit: speed,
})

/** Applies a line to a model of tc. It fails as tc does: on adding twice and on removing a missing entry. */
function applyLine(classes: Map<string, number>, entries: Map<string, string>, line: string): void {
  const classId = / classid (\S+)/.exec(line)?.[1] ?? ''
  const handle = / handle (\S+)/.exec(line)?.[1] ?? ''
  if (line.startsWith('class replace')) classes.set(classId, Number(/ rate (\d+)mbit /.exec(line)?.[1]))
  else if (line.startsWith('class delete')) expect(classes.delete(classId)).toBe(true)
  else if (line.startsWith('filter delete')) expect(entries.delete(handle)).toBe(true)
  else {
    expect(entries.has(handle)).toBe(false)
    const [, address = '', flow = ''] = / match ip6? dst (\S+) flowid (\S+)$/.exec(line) ?? []
    entries.set(handle, `${address} ${flow}`)
  }
}

describe('createSpeedPlan', () => {
  test('the lines of createSpeedPlan lead to exactly the limits of the wanted peers after any changes', () => {
    const changes = fc.array(fc.tuple(fc.nat(40), fc.option(fc.constantFrom(10, 100))), { maxLength: 30 })
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 6 }), (rounds) => {
        const plan = createSpeedPlan(sides)
        const [classes, entries] = [new Map<string, number>(), new Map<string, string>()]
        for (const round of rounds) {
          const passing = [...new Map(round).entries()].map(([index, speed]) => peer(index, speed))
          for (const line of plan.change(passing).lines) applyLine(classes, entries, line)
          const limits = [...entries.values()].map((entry) => {
            const [address, flow = ''] = entry.split(' ')
            return `${address} ${classes.get(flow)}`
          })
          const wanted = passing.flatMap(({ allowed, speed_mbit: speed }) =>
            speed === null ? [] : allowed.map((address) => `${address} ${speed}`),
          )
          expect(limits.toSorted()).toEqual(wanted.toSorted())
          expect(classes.size * 2).toBe(entries.size)
          expect(plan.change(passing).lines).toEqual([])
        }
      }),
    )
  })

  test('one row of the filter table holds 4,095 filters, and a removed filter makes room for another', () => {
    const alike = Array.from({ length: 4096 }, (_, index) => ({
      id: `vpn_${index}`,
      allowed: [`10.${index >> 8}.${index & 255}.7/32`],
      speed_mbit: 10,
    }))
    const plan = createSpeedPlan(sides)
    const added = (lines: readonly string[]) => lines.filter((line) => line.startsWith('filter add')).length
    expect(added(plan.change(alike).lines)).toBe(4095)
    expect(added(plan.change(alike.slice(1, 4095)).lines)).toBe(0)
    expect(added(plan.change(alike.slice(1)).lines)).toBe(1)
  })
})
