import { describe, expect, test } from 'bun:test'
import { backupJobs, findTime, isDue, nameAt, surplusOf } from './backups.ts'

const hourMs = 3_600_000
const startAt = Date.UTC(2026, 4, 1, 3, 30, 15)

function backupFolder(keep: number) {
  const there: string[] = ['notes of the operator', 'turnpike-20260430T033015Z.partial-x']
  const events: string[] = []
  const now = { at: startAt, fails: false }
  const [job] = backupJobs(
    {
      backups: {
        list: () => there,
        async write(name) {
          if (now.fails) throw new Error('the disk is full')
          there.push(name)
        },
        remove: (name) => void there.splice(there.indexOf(name), 1),
      },
      clock: () => now.at,
      everyMs: 24 * hourMs,
      keep,
    },
    { info: (event) => void events.push(event), error: () => {} },
  )
  if (!job) throw new Error('there is no job')
  return { there, now, events, work: job.work, ours: () => there.filter((name) => findTime(name) !== undefined) }
}

describe('scheduled backups', () => {
  test('the backup job writes a backup when the newest is 24 hours old, and keeps the newest 2 and other files', async () => {
    const { now, work, ours, there } = backupFolder(2)
    await work()
    expect(ours()).toEqual([nameAt(startAt)])
    now.at += 23 * hourMs
    await work()
    expect(ours()).toHaveLength(1)
    for (let day = 0; day < 3; day += 1) {
      now.at += 24 * hourMs
      await work()
    }
    expect(ours()).toEqual([nameAt(now.at - 24 * hourMs), nameAt(now.at)])
    expect(there).toContain('notes of the operator')
  })

  test('the backup job repeats a failed backup after 10 minutes, and deletes nothing until it succeeds', async () => {
    const { now, work, ours } = backupFolder(1)
    await work()
    now.at += 24 * hourMs
    now.fails = true
    expect(await work().catch(String)).toBe('Error: the disk is full')
    now.fails = false
    await work()
    expect(ours()).toEqual([nameAt(startAt)])
    now.at += 10 * 60_000
    await work()
    expect(ours()).toEqual([nameAt(now.at)])
  })

  test('a backup is recognised by the time in its name, and other files or a time in the future do not count', () => {
    expect(findTime(nameAt(startAt))).toBe(startAt)
    expect(surplusOf(['turnpike-x', nameAt(1000), nameAt(0)], 1)).toEqual([nameAt(0)])
    expect(isDue([nameAt(startAt + hourMs)], startAt, hourMs)).toBeTrue()
  })
})
