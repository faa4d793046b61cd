import { expect, test } from 'bun:test'
import { HandClock } from '../../test/harness/clock.ts'
import { until } from '../../test/harness/until.ts'
import { startJobs } from './jobs.ts'

test('startJobs runs a job only while its process leads it, an own job always, and checks the lead before each run', async () => {
  const ran: string[] = []
  const failed: string[] = []
  const noted = new Set<string>()
  const leading = new Set(['led'])
  const job = (name: string) => ({ name, everyMs: 2, work: async () => void ran.push(name) })
  const jobs = startJobs(
    [job('led'), job('another’s'), { ...job('own'), isOwn: true }],
    { info: () => {}, error: (_, fields) => void failed.push(String(fields?.['job'])) },
    async (name) => {
      if (name === 'another’s' && leading.has('lost')) throw new Error('the server is away')
      return leading.has(name)
    },
    ({ name, outcome }) => noted.add(`${name} ${outcome}`),
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
  await jobs.stop()
  expect([...noted].toSorted()).toEqual([
    'another’s done',
    'another’s elsewhere',
    'another’s failed',
    'led done',
    'led elsewhere',
    'own done',
  ])
})

test('a job that keeps failing is logged at once, then once a minute with the number of failures, and again after a success', async () => {
  const clock = new HandClock()
  const lines: (number | undefined)[] = []
  let [runs, isFailing] = [0, true]
  const work = async (): Promise<void> => {
    runs += 1
    if (isFailing) throw new Error('the file was moved')
  }
  const log = {
    info: () => {},
    error: (_: string, fields?: object) => void lines.push(Reflect.get(fields ?? {}, 'failures')),
  }
  const jobs = startJobs([{ name: 'job', everyMs: 1, work }], log, async () => true, undefined, clock.read)
  const runMore = (count: number) => {
    const enough = runs + count
    return until(() => runs >= enough)
  }
  await runMore(5)
  expect(lines).toEqual([undefined])
  clock.advance(60_000)
  await runMore(2)
  expect([lines.length, Number(lines[1]) >= 5]).toEqual([2, true])
  isFailing = false
  await runMore(2)
  isFailing = true
  await until(() => lines.length === 3)
  expect(lines[2]).toBeUndefined()
  await jobs.stop()
})
