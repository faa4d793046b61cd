import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { close, unfinished } from '../../src/db/closed.ts'
import { openDatabase } from '../../src/db/open.ts'
import { type CommandServer, openCommandServer } from '../harness/command-server.ts'
import { makeTestDatabase, openTestDatabase } from '../harness/database.ts'
import { longTest } from '../harness/long-test.ts'
import { fencesOf } from '../harness/markdown.ts'
import { endStarted, runCommand, runTurnpike, testDatabaseEnv } from '../harness/turnpike.ts'
import { addCustomer, wire } from '../harness/wired.ts'

/** Commands whose settings come from their environment, as an operator's do. */
let commands: CommandServer
beforeAll(async () => {
  commands = await openCommandServer()
})
afterAll(async () => {
  await commands.close()
  await endStarted()
})

const key = { TURNPIKE_SECRET_KEY: '00'.repeat(32) }

describe('backup, restore, move and reopen commands', () => {
  test('backup, restore, move and reopen name the missing part, exit 1 or 2 and change nothing', async () => {
    const testDatabase = await makeTestDatabase('sqlite')
    const env = { TURNPIKE_DATA: testDatabase.folder, ...key }
    expect(await runCommand(['backup', join(testDatabase.folder, 'b')], env)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('no shop'),
    })
    expect(await runCommand(['restore', join(testDatabase.folder, 'b')], env)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('no backup'),
    })
    expect(await runCommand(['move'], env)).toMatchObject({ exit: 2, err: expect.stringContaining('--to') })
    expect(await runCommand(['move', '--to', 'elsewhere'], env)).toMatchObject({ exit: 1 })
    expect(await runCommand(['reopen'], env)).toMatchObject({ exit: 1 })
    for (const mistyped of ['postgre://a:secret@h/d', 'postgres//a:secret@h/d', 'X=postgres://a:secret@h/d', 'a b']) {
      const { exit, err } = await runCommand(['move', '--to', mistyped], env)
      expect([exit, err.includes('neither postgres://'), err.includes('secret')]).toEqual([1, true, false])
    }
    const full = join(testDatabase.folder, 'full')
    mkdirSync(full)
    writeFileSync(join(full, 'a letter'), 'dear')
    expect(await runCommand(['backup', full], env)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('not empty'),
    })
    expect(existsSync(join(testDatabase.folder, 'b'))).toBeFalse()
    await testDatabase.remove()
  })

  longTest('restore prints the time when the backup began', async () => {
    const { db, testDatabase } = await openTestDatabase('sqlite')
    await addCustomer(wire(db), 100_000n)
    await db.close()
    const [backup, empty] = [join(testDatabase.folder, 'backup'), await makeTestDatabase('sqlite')]
    expect((await runCommand(['backup', backup], { TURNPIKE_DATA: testDatabase.folder, ...key })).exit).toBe(0)
    const file = join(backup, 'manifest.json')
    const manifest = { ...(await Bun.file(file).json()), began_at: '2026-01-15T12:00:00.000Z' }
    writeFileSync(file, JSON.stringify(manifest))
    const { exit, out } = await runCommand(['restore', backup], { TURNPIKE_DATA: empty.folder, ...key })
    expect({ exit, isPrinted: out.includes('at 2026-01-15T12:00:00.000Z, when the backup began') }).toEqual({
      exit: 0,
      isPrinted: true,
    })
    await empty.remove()
    await testDatabase.remove()
  })

  for (const engine of ['sqlite', 'postgres'] as const)
    test(`the documented trial of a backup of a shop on ${engine} uses the folder of --data, not the live database`, async () => {
      const { db, testDatabase } = await openTestDatabase(engine)
      await addCustomer(wire(db), 100_000n)
      await db.close()
      const env = { ...testDatabaseEnv(testDatabase), ...key }
      const [backup, tried] = [join(testDatabase.folder, 'backup'), join(testDatabase.folder, 'tried')]
      expect((await commands.run(['backup', backup], env)).exit).toBe(0)
      const page = readFileSync(join(import.meta.dir, '../../docs/operate/backup-and-upgrade.md'), 'utf8')
      const fence = fencesOf(page).find(({ lines }) => lines.some((line) => line.includes('backups/BACKUP --data')))
      const trial = (fence?.lines ?? []).flatMap((line) => /^server# turnpike (.*)$/.exec(line)?.[1] ?? [])
      expect(trial.map((line) => line.split(' ')[0])).toEqual(['restore', 'verify'])
      for (const line of trial) {
        const args = line.replace('/var/lib/turnpike/backups/BACKUP', backup).replace('/var/lib/turnpike/tried', tried)
        const ended = await commands.run(args.split(' '), env)
        expect({ line, ...ended }).toMatchObject({ exit: 0, out: expect.stringContaining(join(tried, 'turnpike.db')) })
      }
      // Without --data, verify names the live database, and no password.
      const live = await commands.run(['verify'], env)
      const { password } = engine === 'postgres' ? new URL(testDatabase.address) : { password: '' }
      expect(live.out).toMatch(engine === 'postgres' ? /The checked database is postgres:\/\// : testDatabase.folder)
      expect(password !== '' && live.out.includes(password)).toBeFalse()
      expect(await commands.run(['restore', backup], env)).toMatchObject({ exit: 1 })
      await testDatabase.remove()
    })

  test('reopen and other commands refuse a half-filled database and name the command to repeat', async () => {
    const { db, testDatabase } = await openTestDatabase('sqlite')
    await db.transact((tx) => close(tx, unfinished, 0))
    await db.close()
    const env = { TURNPIKE_DATA: testDatabase.folder, ...key }
    const expected = { exit: 1, err: expect.stringContaining('not complete: repeat the "turnpike restore"') }
    expect(await runCommand(['reopen'], env)).toMatchObject(expected)
    const { exit, err } = await runCommand(['customer', 'list'], env)
    expect({ exit, hint: err.includes('Repeat the "turnpike restore" or "turnpike move" that fills it.') }).toEqual({
      exit: 2,
      hint: true,
    })
    await testDatabase.remove()
  })

  test('move closes the old database for writing and keeps it readable, and reopen reverts the move', async () => {
    const { db, testDatabase } = await openTestDatabase('sqlite')
    const services = wire(db)
    const customer = await addCustomer(services, 100_000n)
    await db.transact((tx) => services.customers.decideMode(tx, 'production'))
    await db.close()
    const target = await makeTestDatabase('postgres')
    const env = { TURNPIKE_DATA: testDatabase.folder, ...key }
    // From a file: every user of the machine can read a password on the command line.
    const address = join(testDatabase.folder, 'new-address')
    writeFileSync(address, `${target.address}\n`, { mode: 0o600 })
    expect(await runCommand(['move', '--to-file', address, '--to', testDatabase.folder], env)).toMatchObject({
      exit: 2,
    })
    expect(await runCommand(['move', '--to-file', join(testDatabase.folder, 'none')], env)).toMatchObject({
      exit: 2,
      err: expect.stringContaining('There is no file'),
    })
    const moved = await runCommand(['move', '--to-file', address, '--json'], env)
    expect(JSON.parse(moved.out)).toMatchObject({ moved: true, verify: { ok: true } })
    const backup = ['backup', join(testDatabase.folder, 'old')]
    for (const command of [['shop'], ['credit', customer, '10'], ['customer', 'list'], backup]) {
      const run = command[0] === 'shop' ? runTurnpike : runCommand
      const refused = await run(command, env)
      expect({ command, ...refused }).toMatchObject({
        exit: 2,
        err: expect.stringContaining('It was moved to postgres://'),
      })
      expect(refused.err).not.toContain(new URL(target.address).password || 'no password')
    }
    // The old database is readable, with a warning that it is closed.
    expect(await runTurnpike(['verify'], env)).toMatchObject({
      exit: 0,
      err: expect.stringContaining('This shop is closed; you are reading old data. It was moved to postgres://'),
    })
    const there = openDatabase(target.address)
    expect(await there.first('SELECT balance FROM accounts')).toEqual({ balance: 100_000n })
    await there.close()
    expect(await runCommand(['reopen'], env)).toMatchObject({ exit: 0 })
    expect(await runCommand(['credit', customer, '10'], env)).toMatchObject({ exit: 0 })
    await Promise.all([testDatabase.remove(), target.remove()])
  })
})
