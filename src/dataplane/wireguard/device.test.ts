import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isListening, toReason } from './device.ts'

const banner = `┌──────────────────────────────────────────────────────┐
│                                                      │
│   Running wireguard-go is not required because this  │
│   kernel has first class support for WireGuard. For  │
│   information on installing the kernel module,       │
│   please visit:                                      │
│         https://www.wireguard.com/install/           │
│                                                      │
└──────────────────────────────────────────────────────┘
`

test('the reason why wireguard-go did not start has no banner, and names the exit when nothing else was printed', () => {
  const error = 'ERROR: (tpvpn0) 2026/11/17 10:00:00 Failed to create TUN device: operation not permitted'
  expect(toReason(`${banner}${error}\n`, 1)).toBe(error)
  // Only the end of a long output is kept.
  expect(toReason(`${banner.slice(80)}${error}\n`, 1)).toBe(error)
  expect(toReason(banner, 1)).toBe('it exited with 1')
  expect(toReason('', 'SIGSYS')).toBe('it was ended by SIGSYS')
  expect(toReason('', null)).toBe('it did not open its socket within 5 s')
})

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
