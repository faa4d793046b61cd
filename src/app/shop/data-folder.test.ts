import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isListening } from './data-folder.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A process that listens at the path and answers nothing. */
async function startListener(path: string) {
  const script = `Bun.listen({ unix: ${JSON.stringify(path)}, socket: { data() {} } }); console.log('open')`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
  await child.stdout.getReader().read()
  return child
}

test('isListening returns true for a process that accepts connections and never answers', async () => {
  const path = join(folder, 'busy.sock')
  const busy = Bun.listen({ unix: path, socket: { data() {} } })
  expect(await isListening(path)).toBe(true)
  busy.stop(true)
})

test('isListening returns true for a stopped process whose socket backlog is full', async () => {
  const path = join(folder, 'full.sock')
  const stopped = await startListener(path)
  stopped.kill('SIGSTOP')
  const connect = () => Bun.connect({ unix: path, socket: { data() {} } })
  const outcomes = await Promise.allSettled(Array.from({ length: 2000 }, connect))
  expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true)
  expect(await isListening(path)).toBe(true)
  stopped.kill('SIGKILL')
  await stopped.exited
  expect(await isListening(path)).toBe(false)
})

test('isListening returns false for the socket of a killed process, another file and a missing file', async () => {
  const left = join(folder, 'left.sock')
  const killed = await startListener(left)
  killed.kill('SIGKILL')
  await killed.exited
  writeFileSync(join(folder, 'file'), '')
  const checks = [left, join(folder, 'file'), join(folder, 'missing.sock')].map(isListening)
  expect(await Promise.all(checks)).toEqual([false, false, false])
})
