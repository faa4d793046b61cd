import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { refusalOf } from '../../../test/harness/failure.ts'
import { addStock, buyProxies, type DomainShop, openDomainShop, shipped } from '../../../test/harness/proxies.ts'
import { createTool } from '../../../test/harness/tool.ts'
import { runCommand, runTurnpike, turnpikeProgram } from '../../../test/harness/turnpike.ts'
import { addCustomer } from '../../../test/harness/wired.ts'
import type { Outcome } from '../command.ts'

function dearer() {
  const list = shipped()
  list.dedicated.prolong_periods = [7, 30]
  const four = list.dedicated.kinds['4']
  if (four) four.countries = { DE: { per_day: '7.50' }, NO: { per_day: 4 } }
  return list
}

describe('turnpike catalog', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-catalog-'))
  let shop: DomainShop
  beforeAll(async () => {
    shop = await openDomainShop('sqlite')
  })
  afterAll(async () => {
    await shop.close()
    rmSync(folder, { recursive: true, force: true })
  })
  async function write(name: string, content: unknown): Promise<string> {
    const path = join(folder, name)
    await Bun.write(path, typeof content === 'string' ? content : Bun.YAML.stringify(content, null, 2))
    return path
  }
  const type = (...typed: string[]): Promise<Outcome> => createTool(shop.services).run('catalog', ...typed)

  test('turnpike catalog applies, compares and shows a catalogue, and refuses a faulty one without a change', async () => {
    const turnpike = (...args: string[]) => runCommand(args, { TURNPIKE_DATA: folder })
    await turnpike('migrate')
    const args = ['catalog', 'apply', await write('first.yaml', shipped()), '--json']
    const applied = await runTurnpike(args, { TURNPIKE_DATA: folder })
    expect([applied.exit, JSON.parse(applied.out).version]).toEqual([0, 1])
    const diff = await turnpike('catalog', 'diff', await write('second.yaml', dearer()))
    expect(diff.exit).toBe(0)
    expect(diff.out).toContain('+ dedicated.kinds.4.countries.NO.per_day: 4')
    const bad = dearer()
    bad.dedicated.prolong_periods = [7, 3]
    bad['extra'] = 1
    const refused = await turnpike('catalog', 'apply', await write('bad.yaml', bad))
    expect([refused.exit, refused.out]).toEqual([1, ''])
    expect(refused.err).toContain('dedicated.prolong_periods: must rise')
    expect(refused.err).toContain('catalogue.extra: is not known')
    const shown = await turnpike('catalog', 'show')
    expect(Bun.YAML.parse(shown.out)).toEqual(shipped())
  })

  test('catalog show --shipped prints the shipped price list with its comments when there is no shop', async () => {
    const nowhere = { TURNPIKE_DATA: join(folder, 'nowhere') }
    const { exit, out } = await runCommand(['catalog', 'show', '--shipped'], nowhere)
    expect([exit, Bun.YAML.parse(out)]).toEqual([0, shipped()])
    expect(out).toContain('# IPv4 of one')
  })

  test('catalog diff reads a catalogue from standard input, and names the full path of a missing file', async () => {
    const env = { TURNPIKE_DATA: folder, PATH: process.env['PATH'] ?? '' }
    const path = await write('handed-in.yaml', dearer())
    const child = Bun.spawn(['node', turnpikeProgram, 'catalog', 'diff', '-'], { env, stdin: Bun.file(path) })
    const [out, exit] = await Promise.all([new Response(child.stdout).text(), child.exited])
    expect([exit, out.includes('countries.NO.per_day: 4')]).toEqual([0, true])
    const missing = await runCommand(['catalog', 'diff', 'none.yaml'], { TURNPIKE_DATA: folder })
    expect([missing.exit, missing.err.includes(`There is no file ${resolve('none.yaml')}.`)]).toEqual([2, true])
  })

  test('catalog diff shows the changes, apply makes the next version, and applying what show prints changes nothing', async () => {
    const path = await write('dearer.yaml', dearer())
    await addStock(shop.services, '203.0.113.0/28', 'DE', 4)
    await buyProxies(shop.services, await addCustomer(shop.services, 1_000_000n), { code: 'DE', ipv: 4, count: 2 })
    const diff = await type('diff', path)
    const [heading, effect] = diff.lines.slice(-2).map((line) => line.split(/\s{2,}/))
    expect(heading).toEqual(expect.arrayContaining(['PRODUCT', 'COUNTRY', 'CUSTOMERS', 'SERVICES', 'BEFORE', 'AFTER']))
    expect(effect?.slice(0, 2)).toEqual(['dedicated', 'DE'])
    expect(diff.lines).toContain('~ dedicated.kinds.4.countries.DE.per_day: 6 -> "7.50"')
    expect(diff.lines).toContain('- dedicated.kinds.4.countries.FR.per_day: 6')
    expect((await type('show')).json).toMatchObject({ version: 1, catalogue: shipped() })
    const applied = await type('apply', path)
    expect(applied.lines).toEqual([...diff.lines.slice(0, -2), 'Version 2 is in force.'])
    const shown = await type('show')
    expect(shown.json).toMatchObject({ version: 2, catalogue: dearer() })
    const again = await type('apply', await write('again.yaml', shown.lines.join('\n')))
    expect(again.json).toEqual({ version: null, changes: [] })
    expect((await type('diff', path)).lines).toEqual(['Nothing would change.'])
    expect((await type('show', '--version', '1')).json).toMatchObject({ catalogue: shipped() })
    expect((await type('show', '--versions')).json).toMatchObject({ items: [{ version: 2 }, { version: 1 }] })
  })

  test('catalog apply and diff refuse a faulty, truncated or missing file with the reason and change nothing', async () => {
    const before = (await type('show')).json
    const bad = dearer()
    bad.dedicated.prolong_periods = [7, 3]
    for (const command of ['apply', 'diff']) {
      const wrong = await refusalOf(type(command, await write('wrong.yaml', bad)))
      expect([wrong.code, wrong.message.includes('dedicated.prolong_periods: must rise')]).toEqual([
        'invalid_request',
        true,
      ])
      const torn = await refusalOf(type(command, await write('torn.yaml', 'dedicated: [1, 2\n  kinds: {')))
      expect([torn.code, torn.message.includes('is not YAML')]).toEqual(['usage', true])
      const twice = await refusalOf(type(command, await write('twice.yaml', 'vpn: {}\ndedicated: {}\nvpn: {}\n')))
      expect([twice.code, twice.message.includes('has the key vpn twice')]).toEqual(['usage', true])
      const endless = await refusalOf(type(command, await write('endless.yaml', 'vpn: &vpn\n  again: *vpn\n')))
      expect([endless.code, endless.message.includes('it contains itself')]).toEqual(['usage', true])
      const deep = await refusalOf(type(command, await write('deep.yaml', '['.repeat(30_000) + ']'.repeat(30_000))))
      expect([deep.code, deep.message.includes('more than 16 levels')]).toEqual(['usage', true])
      const missing = await refusalOf(type(command, join(folder, 'none.yaml')))
      expect([missing.code, missing.message.includes('There is no file')]).toEqual(['usage', true])
      const empty = await refusalOf(type(command, await write('empty.yaml', '')))
      expect(empty.message).toContain('must be an object')
    }
    expect((await refusalOf(type('show', '--version', '99'))).code).toBe('not_found')
    expect((await refusalOf(type('show', '--version', 'x'))).code).toBe('invalid_request')
    expect((await type('show')).json).toEqual(before)
  })
})
