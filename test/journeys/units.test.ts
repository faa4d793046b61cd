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

test.each(readdirSync(units))('the unit %s names an existing command and existing settings', async (name) => {
  const text = readFileSync(join(units, name), 'utf8')
  const [, command = ''] = /^ExecStart=\/usr\/local\/bin\/turnpike (.+)$/m.exec(text) ?? []
  const reloads = [...text.matchAll(/^ExecReload=\/usr\/local\/bin\/turnpike (.+)$/gm)].map(([, each = '']) => each)
  for (const each of [command, ...reloads]) expect(commands.map(({ name: known }) => known)).toContain(each)
  const known: string[] = Object.values(settings).map((each) => each.env)
  for (const [named] of text.matchAll(/\bTURNPIKE_[A-Z_]+/g)) expect(known).toContain(named)
  // MemoryDenyWriteExecute would disable the JIT compiler, which makes the program 11 times slower, and the fast
  // engine.
  expect(text).not.toMatch(/^MemoryDenyWriteExecute/m)
  if (Bun.which('systemd-analyze') === null) return
  const copy = join(folder, name)
  writeFileSync(copy, text.replace(/^(ExecStart|ExecReload)=.*$/gm, '$1=/bin/true'))
  const { code, out, err } = await run(['systemd-analyze', 'verify', copy])
  expect({ code, out, err }).toEqual({ code: 0, out: '', err: '' })
})
