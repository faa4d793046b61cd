import { expect, test } from 'bun:test'
import { until } from '../../test/harness/until.ts'
import { startChores } from './chores.ts'

test('a chore is done where the lead is, one’s own everywhere, and the lead is asked for before each run', async () => {
  const ran: string[] = []
  const failed: string[] = []
  const leading = new Set(['led'])
  const chore = (name: string) => ({ name, everyMs: 2, work: async () => void ran.push(name) })
  const chores = startChores(
    [chore('led'), chore('another’s'), { ...chore('own'), isOwn: true }],
    { info: () => {}, error: (_, fields) => void failed.push(String(fields?.['chore'])) },
    async (name) => {
      if (name === 'another’s' && leading.has('lost')) throw new Error('the server is away')
      return leading.has(name)
    },
  )
  await until(() => ran.filter((name) => name === 'led').length > 3 && ran.includes('own'))
  expect(ran).not.toContain('another’s')
  leading.clear()
  leading.add('another’s')
  await until(() => ran.includes('another’s'))
  const led = ran.filter((name) => name === 'led').length
  leading.add('lost')
  await until(() => failed.includes('another’s'))
  expect(ran.filter((name) => name === 'led')).toHaveLength(led)
  await chores.stop()
})
