import { expect, test } from 'bun:test'
import { makeEngineDeps } from '../../../test/harness/engine.ts'
import { createLog } from '../../adapters/log.ts'
import { findOpenSslLack } from '../../dataplane/tls/openssl/library.ts'
import { readConfig } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'
import { chooseEngine } from './engine.ts'

function choose(choice: 'auto' | 'portable' | 'linux', platform: string, servesTls = false, tlsLack?: string) {
  const lines: string[] = []
  const log = createLog('info', 'gateway', (line) => lines.push(line))
  const machine = { platform, processor: process.arch, findTlsLack: () => tlsLack }
  const config = readConfig({ TURNPIKE_GATEWAY_ENGINE: choice })
  const engine = chooseEngine(config, log, makeEngineDeps({}).deps, servesTls, machine)
  return { lines, isLinux: 'threads' in engine }
}

test('chooseEngine returns the linux engine on Linux unless portable is set, and logs nothing', () => {
  expect(choose('auto', 'linux')).toEqual({ lines: [], isLinux: true })
  expect(choose('portable', 'linux')).toEqual({ lines: [], isLinux: false })
})

test('chooseEngine returns the portable engine where the linux engine cannot run, and logs the reason', () => {
  const { lines, isLinux } = choose('auto', 'darwin')
  expect({ isLinux, lines: lines.length }).toEqual({ isLinux: false, lines: 1 })
  expect(lines[0]).toContain('it needs Linux, and this is darwin')
})

test('chooseEngine refuses engine=linux where the linux engine cannot run', () => {
  expect(() => choose('linux', 'darwin')).toThrow(BadSetting)
})

test('chooseEngine returns the portable engine for a TLS port where OpenSSL 3 is missing, and logs the reason', () => {
  const lack = findOpenSslLack(['so.missing']) ?? expect.unreachable()
  expect(lack).toContain('OpenSSL 3 (libssl.so.3) cannot be opened')
  const { lines, isLinux } = choose('auto', 'linux', true, lack)
  expect({ isLinux, lines: lines.length }).toEqual({ isLinux: false, lines: 1 })
  expect(JSON.parse(lines[0] ?? '').explanation).toContain(lack)
  expect(choose('auto', 'linux', false, lack)).toEqual({ lines: [], isLinux: true })
  expect(() => choose('linux', 'linux', true, lack)).toThrow(BadSetting)
})
