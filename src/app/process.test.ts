import { expect, test } from 'bun:test'
import { join } from 'node:path'

/** Prints the threads that are blocked in a system call on descriptor 0, after the pool has read a file. */
const script = `
  import { existsSync, readdirSync, readFileSync } from 'node:fs'
  import { readFile } from 'node:fs/promises'
  import { untilStopped } from ${JSON.stringify(join(import.meta.dir, 'process.ts'))}
  void untilStopped()
  for (let round = 0; round < 3; round += 1) await readFile(${JSON.stringify(import.meta.path)})
  const textOf = (thread, file) => readFileSync('/proc/self/task/' + thread + '/' + file, 'utf8').trim()
  const blocked = (existsSync('/proc/self/task') ? readdirSync('/proc/self/task') : []).filter(
    (thread) => textOf(thread, 'comm').startsWith('Bun Pool') && textOf(thread, 'syscall').split(' ')[1] === '0x0',
  )
  console.log('blocked', blocked.length)
`

test('a process that waits for the end of its parent blocks 0 threads of the pool, and exits with 137 then', async () => {
  const child = Bun.spawn([process.execPath, '--no-env-file', '-e', script], {
    env: { PATH: process.env['PATH'] ?? '', TURNPIKE_LEASH: '0' },
    stdin: 'pipe',
    stdout: 'pipe',
  })
  const { value } = await child.stdout.getReader().read()
  expect(new TextDecoder().decode(value)).toBe('blocked 0\n')
  await child.stdin.end()
  expect(await child.exited).toBe(137)
})
