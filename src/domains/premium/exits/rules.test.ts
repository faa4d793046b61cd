import { expect, test } from 'bun:test'
import type { ExitId } from '../../../kernel/ids.ts'
import { narrow, type Placed, place } from './rules.ts'

const exitIn = (city: string): Placed =>
  place({
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
])('of %d cities that could be had, a refusal lists %p', (count, listed) => {
  const outcome = narrow(
    Array.from({ length: count }, (_, number) => exitIn(`city-${number}`)),
    nowhere,
  )
  expect('problem' in outcome ? outcome.problem.field : '').toBe('cities')
  expect('problem' in outcome ? outcome.problem.allowed?.length : 0).toBe(listed as number)
})
