import { expect, test } from 'bun:test'
import type { ExitId } from '../../../core/ids.ts'
import { type ExitStatusReport, type LocatedExit, locate, narrow, statusOf } from './rules.ts'

const exitIn = (city: string): LocatedExit =>
  locate({
    id: `exit_${city}` as ExitId,
    pool: 'residential',
    kind: 'local',
    host: '203.0.113.1',
    port: null,
    country: 'DE',
    state: '',
    city,
    zip: '',
    asn: null,
    offers: null,
    node: null,
    drainedAt: null,
    createdAt: 0,
    changedAt: 0,
  })

const nowhere = { countries: [], states: [], cities: ['atlantis'], zips: [], asns: [] }

test.each([
  [50, 50],
  [51, undefined],
])('narrow() refuses an unknown city among %d cities and lists %p of them', (count, listed) => {
  const outcome = narrow(
    Array.from({ length: count }, (_, number) => exitIn(`city-${number}`)),
    nowhere,
  )
  expect('problem' in outcome ? outcome.problem.field : '').toBe('cities')
  expect('problem' in outcome ? outcome.problem.allowed?.length : 0).toBe(listed as number)
})

test('statusOf reports an exit as serving for 30 s of running time after a gateway reported it up', () => {
  const report: ExitStatusReport = { exit: 'exit_1', node: 'nod_1', isUp: true, sinceAt: 0, reason: '', reportedAt: 0 }
  const after = (runningMs: number) => statusOf({ node: null, drainedAt: null }, [report], () => runningMs)
  expect([0, 30_000, 30_001].map(after)).toEqual(['serving', 'serving', 'down'])
})
