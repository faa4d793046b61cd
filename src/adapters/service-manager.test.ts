import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openServiceManager } from '../../test/harness/service-manager.ts'
import { startStopwatch } from '../../test/harness/stopwatch.ts'
import { tellServiceManager } from './service-manager.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-notify-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the service sends its state to the service manager at a socket path and at an abstract name', () => {
  for (const name of [join(folder, 'notify'), `@turnpike-test-${process.pid}`]) {
    const manager = openServiceManager(name)
    expect(tellServiceManager(name, 'READY=1')).toBeTrue()
    expect(manager.receive()).toBe('READY=1')
    manager.close()
  }
})

test('the service reports false for a socket name that is missing, empty, relative, unused or too long', () => {
  expect(tellServiceManager(undefined, 'READY=1')).toBeFalse()
  expect(tellServiceManager('', 'READY=1')).toBeFalse()
  expect(tellServiceManager('relative', 'READY=1')).toBeFalse()
  expect(tellServiceManager(join(folder, 'nobody'), 'READY=1')).toBeFalse()
  expect(tellServiceManager(`/${'x'.repeat(200)}`, 'READY=1')).toBeFalse()
})

test('a service manager that does not read delays the service by less than 5 s', () => {
  const name = `@turnpike-test-deaf-${process.pid}`
  const manager = openServiceManager(name)
  const stopwatch = startStopwatch()
  let sent = 0
  while (sent < 1000 && tellServiceManager(name, 'READY=1')) sent += 1
  expect(sent).toBeLessThan(1000)
  expect(stopwatch.elapsedMs()).toBeLessThan(5000)
  manager.close()
})
