import { describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readManifest } from '../../src/app/backup/backup.ts'
import { scheduleBackups } from '../../src/app/backup/schedule.ts'
import { findTime } from '../../src/jobs/backups.ts'
import { configOfTestDatabase } from '../harness/backups.ts'
import { enginesOf, openTestDatabase } from '../harness/database.ts'
import { wire } from '../harness/wired.ts'

const dayMs = 86_400_000
const quiet = { info: () => {}, error: () => {} }

describe.each([...enginesOf('sqlite')])('scheduled backups of a shop on %s', (engine) => {
  test('a shop backs itself up once a day, keeps TURNPIKE_BACKUP_KEEP backups, and removes a killed draft', async () => {
    const opened = await openTestDatabase(engine)
    const { db, testDatabase } = opened
    const services = wire(db)
    await db.transact((tx) => services.customers.decideMode(tx, 'production'))
    const folder = join(testDatabase.folder, 'backups')
    const config = configOfTestDatabase(engine, testDatabase, {
      TURNPIKE_SECRET_KEY: '00'.repeat(32),
      TURNPIKE_BACKUP_FOLDER: folder,
      TURNPIKE_BACKUP_KEEP: '1',
      TURNPIKE_BACKUP_KEY: 'off',
    })
    const clock = { at: Date.UTC(2026, 3, 1) }
    const schedule = scheduleBackups(config, () => clock.at, quiet)
    const work = async () => {
      for (const job of schedule.jobs) await job.work()
    }
    mkdirSync(join(folder, 'turnpike-20260331T000000Z.partial-abc'), { recursive: true })
    await work()
    await work()
    expect(readdirSync(folder)).toEqual(['turnpike-20260401T000000Z'])
    expect(readManifest(join(folder, 'turnpike-20260401T000000Z')).engine).toBe(engine)
    expect(readdirSync(join(folder, 'turnpike-20260401T000000Z')).toSorted()).toEqual(['manifest.json', 'shop.db'])
    clock.at += dayMs
    await work()
    expect(readdirSync(folder).map(findTime)).toEqual([clock.at])
    schedule.stop()
    await opened.close()
  })
})
