import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareFolder } from '../../../test/harness/database.ts'
import { longTest } from '../../../test/harness/long-test.ts'
import { type DomainShop, openDomainShop } from '../../../test/harness/proxies.ts'
import { createTool } from '../../../test/harness/tool.ts'
import { runCommand, runTurnpike } from '../../../test/harness/turnpike.ts'
import type { Outcome } from '../command.ts'

type Listed = { address: string; country: string; ipv: number; state: string; retiring: boolean }
type Counted = { country: string; ipv: number; state: string; count: number }

describe('turnpike stock', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-stock-'))
  let shop: DomainShop
  beforeAll(async () => {
    shop = await openDomainShop('sqlite')
  })
  afterAll(async () => {
    await shop.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const run = (...typed: string[]): Promise<Outcome> => createTool(shop.services).run('stock', ...typed)
  // oxlint-disable-next-line typescript/no-explicit-any
  const type = async (...typed: string[]): Promise<any> => (await run(...typed)).json
  const counts = async (): Promise<Counted[]> => (await type('count')).items
  const problemOf = (...typed: string[]): Promise<string> => createTool(shop.services).refused('stock', ...typed)

  test('turnpike stock adds and counts addresses after turnpike migrate, and refuses stock add without --ipv', async () => {
    const turnpike = (...args: string[]) => runCommand(args, { TURNPIKE_DATA: folder })
    const early = await turnpike('stock', 'count')
    expect([early.exit, early.err.includes('turnpike migrate')]).toEqual([1, true])
    await turnpike('migrate')
    const args = ['stock', 'add', '203.0.113.0/28', '--country', 'de', '--ipv', '4']
    const added = await runTurnpike(args, { TURNPIKE_DATA: folder })
    expect([added.exit, added.out]).toEqual([0, 'Added 16.\n'])
    const bad = await turnpike('stock', 'add', '203.0.113.0/28', '--country', 'DE')
    expect([bad.exit, bad.out, bad.err.includes('--ipv')]).toEqual([2, '', true])
    const counted = JSON.parse((await turnpike('stock', 'count', '--json')).out).items as Counted[]
    expect(counted).toEqual([{ country: 'DE', ipv: 4, state: 'free', count: 16 }])
  })

  longTest(
    'stock list writes 4096 addresses into a slow pipe, and exits with 0 if the reader closes the pipe early',
    async () => {
      const data = prepareFolder(join(folder, 'pipe'), 'migrated')
      await runCommand(['migrate'], { TURNPIKE_DATA: data })
      await runCommand(['stock', 'add', '10.0.0.0/20', '--country', 'DE', '--ipv', '4'], { TURNPIKE_DATA: data })
      const program = join(import.meta.dir, '../../../bin/turnpike.mjs')
      const piped = async (reader: string, ...options: string[]) => {
        const list = `node '${program}' stock list --limit 4096 ${options.join(' ')}`
        const child = Bun.spawn(['bash', '-c', `set -o pipefail; ${list} | ${reader}`], {
          env: { PATH: process.env['PATH'] ?? '', TURNPIKE_DATA: data },
          stdout: 'pipe',
          stderr: 'pipe',
        })
        const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
        return { out, err, exit: await child.exited }
      }
      const slowly = '(head -c 1; sleep 0.5; cat)'
      const json = await piped(slowly, '--json')
      expect([JSON.parse(json.out).items.length, json.out.length > 300_000, json.exit]).toEqual([4096, true, 0])
      expect((await piped(slowly)).out.trimEnd().split('\n')).toHaveLength(4097)
      expect(await piped('head -n 1')).toEqual({ out: expect.stringContaining('PLACE'), err: '', exit: 0 })
    },
  )

  test('stock add prints the reason why it added nothing', async () => {
    const lines = async (...typed: string[]) => (await run(...typed)).lines.join()
    await type('add', '192.0.2.128/30', '--country', 'SE', '--ipv', '4')
    for (const ipv of ['4', '3']) {
      const again = await lines('add', '192.0.2.128/30', '--country', 'SE', '--ipv', ipv)
      expect(again).toContain('Added nothing: all of it is in stock already')
    }
    const empty = join(folder, 'empty.csv')
    await Bun.write(empty, 'address,country,ipv\n\n')
    expect(await problemOf('add', empty)).toContain('names no address')
  })

  test('stock retire, retire --undo and quarantine change the state of one address in stock count', async () => {
    await type('add', '192.0.2.0/28', '--country', 'IT', '--ipv', '4')
    const states = async () =>
      Object.fromEntries(
        (await counts()).filter((each) => each.country === 'IT').map((each) => [each.state, each.count]),
      )
    expect(await type('retire', '192.0.2.1')).toEqual({ address: '192.0.2.1', places: 1 })
    expect(await type('quarantine', '192.0.2.2', '--days', '3')).toEqual({ address: '192.0.2.2', places: 1, days: 3 })
    expect(await states()).toEqual({ free: 14, resting: 1, retired: 1 })
    await type('retire', '192.0.2.1', '--undo')
    expect(await states()).toEqual({ free: 15, resting: 1 })
    expect(await problemOf('retire', '198.51.100.250')).toContain('no such address')
  })

  test('stock add reads a file of mixed kinds with a heading, comments, empty lines and CRLF', async () => {
    const path = join(folder, 'stock.csv')
    const lines = [
      '\uFEFFaddress,country,ipv',
      '# ours',
      '198.51.100.1,FR,4',
      '',
      '198.51.100.2 , fr , 4',
      '198.51.100.9,GB,3',
      '2001:DB8::1,GB,6',
    ]
    await Bun.write(path, lines.join('\r\n'))
    expect(await type('add', path)).toEqual({ added: 6 })
    expect(await type('add', path)).toEqual({ added: 0 })
    const listed = (await type('list', '--country', 'gb')).items as Listed[]
    expect(listed.map((each) => `${each.address} ${each.ipv}`).toSorted()).toEqual([
      '198.51.100.9 3',
      '198.51.100.9 3',
      '198.51.100.9 3',
      '2001:db8::1 6',
    ])
  })

  test.each([
    ['not an address', '198.51.100.300,FR,4', '"198.51.100.300"'],
    ['a prefix', '198.51.100.0/24,FR,4', '"198.51.100.0/24"'],
    ['no such country', '198.51.100.7,UK,4', '"UK"'],
    ['no such kind', '198.51.100.7,FR,5', '"5"'],
    ['the wrong version', '198.51.100.7,FR,6', 'kind 6'],
    ['too few columns', '198.51.100.7,FR', '""'],
  ])(
    'stock add refuses a file with a bad line (%s), names line 3 and changes nothing',
    async (_name, line, message) => {
      const before = await counts()
      const path = join(folder, 'bad.csv')
      await Bun.write(path, `198.51.100.50,FR,4\n198.51.100.51,FR,4\n${line}\n198.51.100.52,FR,4\n`)
      const problem = await problemOf('add', path)
      expect(problem).toContain('Line 3')
      expect(problem).toContain(message)
      expect(await counts()).toEqual(before)
    },
  )

  test('stock commands refuse impossible arguments with the reason and change nothing', async () => {
    const before = await counts()
    for (const [typed, message] of [
      [['add', '203.0.113.0/24', '--country', 'DE', '--ipv', '6'], 'IPv6'],
      [['add', '2001:db8::/64', '--country', 'DE', '--ipv', '4'], 'IPv4'],
      [['add', '2001:d00::/31', '--country', 'DE', '--ipv', '6'], '/32'],
      [['add', '10.0.0.0/11', '--country', 'DE', '--ipv', '4'], '/12'],
      [['add', '203.0.113.1/24', '--country', 'DE', '--ipv', '4'], 'Did you mean 203.0.113.0/24?'],
      [['add', '203.0.113/24', '--country', 'DE', '--ipv', '4'], 'It is no prefix either.'],
      [['add', '203.0.113.0/24', '--country', 'XX', '--ipv', '4'], '--country must be a country code of two letters'],
      [['list', '--state', 'lost'], 'free, leased'],
      [['list', '--limit', '1e3'], 'whole number'],
      [['retire', 'x/y'], 'must be a prefix'],
      [['retire', 'example.org'], 'must be'],
      [['quarantine', '203.0.113.1', '--days', '-1'], 'days'],
    ] as const) {
      expect(await problemOf(...typed)).toContain(message)
    }
    expect(await counts()).toEqual(before)
  })

  test('stock list filters by country, kind and state, and pages in the order of sale', async () => {
    await type('add', '10.0.0.0/27', '--country', 'NL', '--ipv', '4')
    const all = (await type('list', '--country', 'NL', '--ipv', '4')).items as (Listed & { place: number })[]
    expect(all).toHaveLength(32)
    const seen: number[] = []
    for (let cursor: string[] = []; ; ) {
      const { items, next_cursor: next } = await type('list', '--country', 'NL', '--limit', '5', ...cursor)
      seen.push(...items.map((each: { place: number }) => each.place))
      if (next === null) break
      cursor = ['--cursor', next]
    }
    expect(seen).toEqual(all.map((each) => each.place))
    expect((await type('list', '--country', 'NL', '--state', 'retired')).items).toEqual([])
  })

  test('stock retire takes an IPv6 /48 off sale, and retire --undo puts it back', async () => {
    expect(await type('add', '2001:db8:9::/48', '--country', 'US', '--ipv', '6')).toEqual({ added: 1 })
    const onSale = async (): Promise<boolean> => {
      shop.clock.advance(1000)
      return (await shop.services.stock.available({ country: 'US' as never, ipv: 6 })) > 0
    }
    expect(await problemOf('retire', '2001:db8:a::/48')).toContain('No address of')
    expect(await onSale()).toBeTrue()
    const preview = await type('retire', '2001:db8:9::/48', '--dry-run')
    expect(preview).toMatchObject({ blocks: ['2001:db8:9::/48'], customers: 0, unused_rub: 0 })
    expect(await problemOf('retire', '2001:db8:9::/48', '--refund')).toContain('replace')
    expect(await onSale()).toBeTrue()
    await type('retire', '2001:db8:9::/48')
    expect(await onSale()).toBeFalse()
    await type('retire', '2001:db8:9::/48', '--undo')
    expect(await onSale()).toBeTrue()
  })
})
