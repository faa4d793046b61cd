import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTurnpike } from '../harness/turnpike.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-settings-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const folderWith = (name: string, make: (path: string) => void): string => {
  const dataFolder = join(folder, name)
  mkdirSync(dataFolder)
  make(join(dataFolder, 'turnpike.db'))
  return dataFolder
}

test('a command on an unusable data folder or address exits 2 with one line that names the remedy', async () => {
  const damaged = folderWith('damaged', (path) => writeFileSync(path, 'not an SQLite file '.repeat(300)))
  const taken = folderWith('taken', (path) => mkdirSync(path))
  const port = { TURNPIKE_PORT: '0', TURNPIKE_METRICS_LISTEN: '' }
  const cases = [
    { args: ['shop'], env: { TURNPIKE_DATA: damaged }, message: 'is no database, or is damaged. Name another folder' },
    { args: ['customer', 'list'], env: { TURNPIKE_DATA: damaged }, message: 'is no database' },
    { args: ['shop'], env: { TURNPIKE_DATA: taken }, message: 'is a folder and must be a file' },
    { args: ['shop'], env: { TURNPIKE_DATA: '/proc/turnpike' }, message: 'TURNPIKE_DATA' },
    {
      args: ['shop'],
      env: { TURNPIKE_DATA: join(folder, 'new'), TURNPIKE_HOST: 'nowhere.invalid' },
      message: 'TURNPIKE_HOST (--host) is nowhere.invalid, a name that DNS cannot resolve. Set an address',
    },
  ]
  for (const { args, env, message } of cases) {
    const ended = await runTurnpike(args, { ...port, ...env })
    expect([args.join(' '), ended.exit, ended.err.trim().split('\n').length]).toEqual([args.join(' '), 2, 1])
    expect(ended.err).toContain(message)
  }
})
