import { expect, test } from 'bun:test'
import { makeEngineDeps } from '../../../test/harness/engine.ts'
import { createLog } from '../../adapters/log.ts'
import { readConfig } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'
import { chooseEngine } from './engine.ts'

function choose(choice: 'auto' | 'portable' | 'linux', platform: string) {
  const lines: string[] = []
  const log = createLog('info', 'gateway', (line) => lines.push(line))
  const engine = chooseEngine(readConfig({ TURNPIKE_GATEWAY_ENGINE: choice }), log, makeEngineDeps({}).deps, {
    platform,
    processor: process.arch,
  })
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
