import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isListening } from './device.ts'

test('isListening returns false for a socket file without a listener and leaves the file in place', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-socket-'))
  const path = join(folder, 'device.sock')
  try {
    expect(await isListening(path)).toBe(false)
    const bind = 'const net = require("node:net").createServer().listen(process.argv[1], () => process.exit())'
    const child = Bun.spawn([process.execPath, '-e', bind, path], { stdio: ['ignore', 'ignore', 'inherit'] })
    await child.exited
    expect([await isListening(path), existsSync(path)]).toEqual([false, true])
    rmSync(path)
    using server = Bun.listen({ unix: path, socket: { data: () => {} } })
    expect([await isListening(server.unix), existsSync(path)]).toEqual([true, true])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
