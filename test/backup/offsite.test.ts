import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../harness/apt.ts'

const script = join(import.meta.dir, '../../docs/operate/restic/turnpike-offsite.sh')

test('turnpike-offsite deletes only the backup that it made, and refuses a folder with other files', async () => {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-offsite-'))
  const programs = join(root, 'bin')
  mkdirSync(programs)
  const program = (name: string, text: string): void => {
    writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(programs, name), 0o755)
  }
  program('turnpike', 'mkdir "$2" && touch "$2/shop.db" "$2/secret.key" "$2/manifest.json"')
  program('restic', 'if [ "${RESTIC_EXIT:-0}" = kill ]; then kill -9 $PPID; fi; exit "${RESTIC_EXIT:-0}"')
  const offsite = (folder: string, exit: number | 'kill' = 0) =>
    run(['env', `PATH=${programs}:/usr/bin:/bin`, `OFFSITE_FOLDER=${folder}`, `RESTIC_EXIT=${exit}`, 'sh', script])
  const fill = (folder: string): void => {
    mkdirSync(folder)
    for (const name of ['a letter', 'secret.key', 'shop.db']) writeFileSync(join(folder, name), 'dear')
  }
  const refusal = { code: 1, err: expect.stringContaining('did not make') }
  try {
    const letters = join(root, 'letters')
    fill(letters)
    expect(await offsite(`${letters}/`)).toMatchObject(refusal)
    expect(readdirSync(letters)).toHaveLength(3)

    const folder = join(root, 'offsite')
    fill(`${folder}.partial-1`)
    for (const exit of [0, 3, 0]) expect((await offsite(folder, exit)).code).toBe(exit)
    // A killed run leaves its folder, which the next run deletes, but no folder that has been put in its place.
    await offsite(folder, 'kill')
    expect(readdirSync(folder)).toHaveLength(3)
    expect((await offsite(folder)).code).toBe(0)
    await offsite(folder, 'kill')
    renameSync(folder, join(root, 'moved'))
    fill(folder)
    expect(await offsite(folder)).toMatchObject(refusal)
    expect(readdirSync(folder)).toHaveLength(3)
    expect(readdirSync(root).toSorted()).toEqual(['bin', 'letters', 'moved', 'offsite', 'offsite.partial-1'])
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})
