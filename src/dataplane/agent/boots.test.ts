import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRunning, listRunning, openRunning, runningSocket } from './boots.ts'

const socket = { data() {}, error() {} }
const bootOf = (number: number): string => `boot_${String(number).padStart(4, '0')}`

let folder: string
const children: Bun.Subprocess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-running-'))
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    await child.exited
  }
  rmSync(folder, { recursive: true, force: true })
})

test('listRunning lists a boot while its socket is open, and close() removes the socket file', async () => {
  const [first, second] = [bootOf(1), bootOf(2)].map((boot) => openRunning(folder, boot, socket))
  expect(await listRunning(folder)).toEqual([bootOf(1), bootOf(2)])
  first?.close()
  expect(await listRunning(folder)).toEqual([bootOf(2)])
  second?.close()
  expect(readdirSync(folder)).toEqual([])
})

/** A process that listens, as another boot of the same node. */
async function spawnListening(path: string) {
  const script = `Bun.listen({ unix: ${JSON.stringify(path)}, socket: { data() {} } }); console.log('open')`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
  children.push(child)
  await child.stdout.getReader().read()
  return child
}

test('isRunning removes the socket file of a killed process and returns false', async () => {
  const path = runningSocket(folder, bootOf(1))
  const killed = await spawnListening(path)
  expect(await isRunning(folder, bootOf(1))).toBeTrue()
  killed.kill('SIGKILL')
  await killed.exited
  expect(existsSync(path)).toBeTrue()
  expect([await isRunning(folder, bootOf(1)), existsSync(path)]).toEqual([false, false])
})

test('isRunning returns true for a stopped process whose socket backlog is full', async () => {
  const path = runningSocket(folder, bootOf(1))
  const held = await spawnListening(path)
  held.kill('SIGSTOP')
  const connect = () => Bun.connect({ unix: path, socket: { data() {} } })
  const refused = await Promise.allSettled(Array.from({ length: 2000 }, connect)).then((all) =>
    all.filter((each) => each.status === 'rejected'),
  )
  expect(refused.length).toBeGreaterThan(0)
  expect([await isRunning(folder, bootOf(1)), existsSync(path)]).toEqual([true, true])
})

test('listRunning in another process never removes a socket that is being opened', async () => {
  const script = `import { listRunning } from ${JSON.stringify(join(import.meta.dir, 'boots.ts'))}
    console.log('lists'); for (;;) await listRunning(${JSON.stringify(folder)})`
  const lister = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
  children.push(lister)
  const { value } = await lister.stdout.getReader().read()
  expect(new TextDecoder().decode(value)).toBe('lists\n')
  const lost: string[] = []
  for (let number = 0; number < 1000; number += 1) {
    const boot = bootOf(number)
    const open = openRunning(folder, boot, socket)
    await isRunning(folder, boot)
    if (!existsSync(runningSocket(folder, boot))) lost.push(boot)
    open.close()
  }
  expect(lost).toEqual([])
  expect(lister.exitCode).toBeNull()
})
