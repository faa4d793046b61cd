import { expect, test } from 'bun:test'
import { type Entry, toTar } from '../../tools/package/tar.ts'

const long = `usr/${'a'.repeat(90)}/${'b'.repeat(60)}`
const entries: readonly Entry[] = [
  { kind: 'folder', path: 'var/lib/turnpike', mode: 0o700, owner: 10_001 },
  { kind: 'file', path: 'usr/bin/turnpike', mode: 0o755, content: new TextEncoder().encode('#!/bin/sh\n') },
  { kind: 'link', path: 'bin', mode: 0o777, to: 'usr/bin' },
  { kind: 'file', path: long, mode: 0o644, content: new Uint8Array(513) },
]

test('GNU tar reads an archive of toTar with modes, owners and links', async () => {
  const child = Bun.spawn(['tar', '--list', '--verbose', '--numeric-owner', '--utc', '--file=-'], {
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
    stdin: toTar(entries, 86_400),
    stdout: 'pipe',
  })
  const lines = (await child.stdout.text()).trim().split('\n')
  expect(lines.map((line) => line.replace(/\s+/g, ' '))).toEqual([
    'drwx------ 10001/10001 0 1970-01-02 00:00 var/lib/turnpike/',
    '-rwxr-xr-x 0/0 10 1970-01-02 00:00 usr/bin/turnpike',
    'lrwxrwxrwx 0/0 0 1970-01-02 00:00 bin -> usr/bin',
    `-rw-r--r-- 0/0 513 1970-01-02 00:00 ${long}`,
  ])
  expect(await child.exited).toBe(0)
})

test('toTar makes the same bytes from the same entries, and refuses a name that does not fit', () => {
  expect(toTar(entries, 5)).toEqual(toTar(entries, 5))
  expect(() => toTar([{ kind: 'folder', path: 'c'.repeat(120), mode: 0o755 }], 5)).toThrow(RangeError)
})
