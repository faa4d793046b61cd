import { dlopen, ptr } from 'bun:ffi'
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tellServiceManager } from './service-manager.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-notify-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const libc = dlopen('libc.so.6', {
  socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
  bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
  recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
  close: { args: ['i32'], returns: 'i32' },
}).symbols

/** What systemd would be: a datagram socket of this name. */
function openManager(name: string) {
  const path = new TextEncoder().encode(name.startsWith('@') ? `\0${name.slice(1)}` : `${name}\0`)
  const address = Uint8Array.of(1, 0, ...path)
  const fd = libc.socket(1, 2, 0)
  expect(libc.bind(fd, ptr(address), address.length)).toBe(0)
  return {
    hear(): string {
      const heard = new Uint8Array(100)
      const dontWait = 0x40
      const length = Number(libc.recv(fd, ptr(heard), heard.length, dontWait))
      return new TextDecoder().decode(heard.subarray(0, Math.max(0, length)))
    },
    close: () => libc.close(fd),
  }
}

test('a service manager hears what a service says of itself, by a path and by an abstract name', () => {
  for (const name of [join(folder, 'notify'), `@turnpike-test-${process.pid}`]) {
    const manager = openManager(name)
    expect(tellServiceManager(name, 'READY=1')).toBeTrue()
    expect(manager.hear()).toBe('READY=1')
    manager.close()
  }
})

test('where there is none, or nobody hears, nothing happens', () => {
  expect(tellServiceManager(undefined, 'READY=1')).toBeFalse()
  expect(tellServiceManager('', 'READY=1')).toBeFalse()
  expect(tellServiceManager('relative', 'READY=1')).toBeFalse()
  expect(tellServiceManager(join(folder, 'nobody'), 'READY=1')).toBeFalse()
  expect(tellServiceManager(`/${'x'.repeat(200)}`, 'READY=1')).toBeFalse()
})
