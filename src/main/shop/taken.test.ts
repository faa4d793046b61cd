import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isListening } from './taken.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a socket whose process accepts connections but never answers a request counts as listening', async () => {
  const path = join(folder, 'busy.sock')
  const busy = Bun.listen({ unix: path, socket: { data() {} } })
  expect(await isListening(path)).toBe(true)
  busy.stop(true)
})

test('a socket file that a killed process left behind, another file and a missing file do not count as listening', async () => {
  const left = join(folder, 'left.sock')
  const killed = Bun.spawn(
    [
      process.execPath,
      '-e',
      `Bun.listen({ unix: ${JSON.stringify(left)}, socket: { data() {} } }); console.log('open')`,
    ],
    { stdout: 'pipe' },
  )
  await killed.stdout.getReader().read()
  killed.kill('SIGKILL')
  await killed.exited
  writeFileSync(join(folder, 'file'), '')
  const asked = [left, join(folder, 'file'), join(folder, 'missing.sock')].map(isListening)
  expect(await Promise.all(asked)).toEqual([false, false, false])
})
