import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBuildRecord } from './builds.ts'

test('a build is repeated after a change of its inputs or its output, and not after a change of a test', async () => {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-builds-'))
  Bun.spawnSync(['git', 'init', '-q'], { cwd: root })
  const write = (path: string, text: string) => writeFileSync(join(root, path), text)
  mkdirSync(join(root, 'src'))
  write('src/a.ts', 'export const a = 1\n')
  const build = { output: join(root, 'output'), command: ['build'] }
  const open = () => createBuildRecord(root, join(root, 'record.json'))
  const first = await open()
  expect(first.has(build)).toBeFalse()
  write('output', 'built')
  first.add(build)
  write('src/a.test.ts', 'test')
  expect((await open()).has(build)).toBeTrue()
  write('src/a.ts', 'export const a = 2\n')
  expect((await open()).has(build)).toBeFalse()
  write('src/a.ts', 'export const a = 1\n')
  expect((await open()).has(build)).toBeTrue()
  utimesSync(build.output, 0, 0)
  expect((await open()).has(build)).toBeFalse()
  rmSync(root, { recursive: true })
})
