import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
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
  program('restic', 'exit "${RESTIC_EXIT:-0}"')
  const offsite = (folder: string, exit = 0) =>
    run(['env', `PATH=${programs}:/usr/bin:/bin`, `OFFSITE_FOLDER=${folder}`, `RESTIC_EXIT=${exit}`, 'sh', script])
  try {
    const letters = join(root, 'letters')
    mkdirSync(letters)
    for (const name of ['a letter', 'secret.key', 'shop.db']) writeFileSync(join(letters, name), 'dear')
    expect(await offsite(letters)).toMatchObject({ code: 1, err: expect.stringContaining('did not make') })
    expect(readdirSync(letters)).toHaveLength(3)

    const folder = join(root, 'offsite')
    for (const exit of [0, 3, 0]) expect((await offsite(folder, exit)).code).toBe(exit)
    // A killed run leaves its folder and its mark; the next run replaces them.
    mkdirSync(folder)
    writeFileSync(join(folder, 'shop.db'), 'half')
    writeFileSync(`${folder}.turnpike-offsite`, '')
    mkdirSync(`${folder}.partial-1`)
    expect((await offsite(folder)).code).toBe(0)
    expect(readdirSync(root).toSorted()).toEqual(['bin', 'letters'])
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})
