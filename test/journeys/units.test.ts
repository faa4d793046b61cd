import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commands } from '../../src/app/commands.ts'
import { settings } from '../../src/app/settings/config.ts'
import { run } from '../harness/apt.ts'

const units = join(import.meta.dir, '../../docs/operate/systemd')
const folder = mkdtempSync(join(tmpdir(), 'turnpike-units-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const names = readdirSync(units)
const textOf = (name: string): string => readFileSync(join(units, name), 'utf8')
const services = names.filter((name) => name.endsWith('.service'))

test.each(services)('the unit %s names an existing command and existing settings', (name) => {
  const text = textOf(name)
  const [, command = ''] = /^ExecStart=\/usr\/local\/bin\/turnpike (.+)$/m.exec(text) ?? []
  const reloads = [...text.matchAll(/^ExecReload=\/usr\/local\/bin\/turnpike (.+)$/gm)].map(([, each = '']) => each)
  for (const each of [command, ...reloads]) expect(commands.map(({ name: known }) => known)).toContain(each)
  const known: string[] = Object.values(settings).map((each) => each.env)
  for (const [named] of text.matchAll(/\bTURNPIKE_[A-Z_]+/g)) expect(known).toContain(named)
  // MemoryDenyWriteExecute would disable the JIT compiler, which makes the program 11 times slower, and the fast
  // engine.
  expect(text).not.toMatch(/^MemoryDenyWriteExecute/m)
})

test('turnpike.target starts a shop and a gateway, and its end is the end of the units of all roles', () => {
  const wanted = /^Wants=(.+)$/m.exec(textOf('turnpike.target'))?.[1]
  expect(wanted).toBe('turnpike-shop.service turnpike-gateway.service')
  const parts = names.filter((name) => /^PartOf=turnpike\.target$/m.test(textOf(name)))
  expect(parts).toEqual(services.filter((name) => name !== 'turnpike.service'))
})

test.each(names)('systemd-analyze verify accepts the unit %s', async (name) => {
  if (Bun.which('systemd-analyze') === null) return
  // The units name each other.
  for (const each of names) {
    writeFileSync(join(folder, each), textOf(each).replace(/^(ExecStart|ExecReload)=.*$/gm, '$1=/bin/true'))
  }
  const { code, out, err } = await run(['systemd-analyze', 'verify', join(folder, name)])
  expect({ code, out, err }).toEqual({ code: 0, out: '', err: '' })
})
