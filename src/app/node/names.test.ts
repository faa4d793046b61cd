import { expect, test } from 'bun:test'
import { runWithOwnNames } from '../../../test/harness/own-names.ts'

type Seen = { answers: string[]; counts: { answered: number; failed: number }; logged: string[] }

test('a gateway follows a change of /etc/resolv.conf, counts failed lookups and logs them once a minute without the name', async () => {
  const { answers, counts, logged } = (await runWithOwnNames('names-worker.ts')) as Seen
  expect(answers).toEqual([
    '192.0.2.1',
    // The file has changed less than a second ago.
    '192.0.2.1',
    '192.0.2.2',
    'ENOTFOUND',
    'ESERVFAIL',
    'ESERVFAIL',
    '192.0.2.1',
    'ESERVFAIL',
  ])
  expect(counts).toEqual({ answered: 5, failed: 3 })
  expect(logged).toHaveLength(2)
  expect(logged[0]).toContain('"event":"resolver failed"')
  expect(logged[1]).toContain('"times_unsaid":1')
  expect(logged.join('')).not.toContain('customer.example')
})
