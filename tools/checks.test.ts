import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPassedChecks } from './checks.ts'

const lint = { name: 'lint', command: ['oxlint', '--deny-warnings'] }

test('a passed check is repeated after a change of an untracked file, its command or its name', async () => {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-checks-'))
  Bun.spawnSync(['git', 'init', '-q'], { cwd: root })
  writeFileSync(join(root, '.gitignore'), 'record.json\n')
  writeFileSync(join(root, 'a.ts'), 'export const a = 1\n')
  const recordFile = join(root, 'record.json')
  const open = () => createPassedChecks(root, recordFile)
  const first = await open()
  expect(first.has(lint)).toBeFalse()
  first.add(lint)
  expect((await open()).has(lint)).toBeTrue()
  expect((await open()).has({ ...lint, command: ['oxlint'] })).toBeFalse()
  expect((await open()).has({ ...lint, name: 'types' })).toBeFalse()
  writeFileSync(join(root, 'a.ts'), 'export const a = 2\n')
  expect((await open()).has(lint)).toBeFalse()
  writeFileSync(join(root, 'a.ts'), 'export const a = 1\n')
  expect((await open()).has(lint)).toBeTrue()
  writeFileSync(recordFile, '{"lint --deny')
  expect((await open()).has(lint)).toBeFalse()
  rmSync(root, { recursive: true })
})
