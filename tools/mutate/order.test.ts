import { expect, test } from 'bun:test'
import { byEngine, inBatches, orderTests, readLinks } from './order.ts'

const files = new Map([
  ['src/domains/ledger/rules.ts', ''],
  ['src/domains/ledger/service.ts', "import { post } from './rules.ts'"],
  ['src/domains/ledger/rules.test.ts', "import { post } from './rules.ts'"],
  ['src/domains/ledger/ledger.test.ts', "import { createLedger } from './service.ts'"],
  ['src/domains/vpn/rules.test.ts', "import { price } from './rules.ts'"],
  ['src/app/turnpike.ts', "import { createLedger } from '../domains/ledger/service.ts'"],
  ['test/harness/turnpike.ts', "const program = join(import.meta.dir, '../../src/app/turnpike.ts')"],
  ['test/journeys/vpn.test.ts', "import { run } from '../harness/turnpike.ts'"],
  ['test/journeys/account.test.ts', "import { run } from '../harness/turnpike.ts'"],
])

test('orderTests sorts the tests that reach a file by distance, also through programs that they start', () => {
  expect(orderTests(readLinks(files), 'src/domains/ledger/rules.ts', () => 0)).toEqual([
    'src/domains/ledger/rules.test.ts',
    'src/domains/ledger/ledger.test.ts',
    'test/journeys/account.test.ts',
    'test/journeys/vpn.test.ts',
  ])
})

test('orderTests puts journeys that are named after the deepest folder of a path first', () => {
  const own = new Map([
    ['src/api/node/http.ts', ''],
    ['test/journeys/refusals.test.ts', "import '../../src/api/node/http.ts'"],
    ['test/journeys/nodes.test.ts', "import '../../src/api/node/http.ts'"],
    ['test/journeys/vpn.test.ts', "import '../../src/api/node/http.ts'"],
  ])
  expect(orderTests(readLinks(own), 'src/api/node/http.ts', () => 0)).toEqual([
    'test/journeys/nodes.test.ts',
    'test/journeys/refusals.test.ts',
    'test/journeys/vpn.test.ts',
  ])
})

test('byEngine runs gateway tests on each engine that uses the file', () => {
  const tests = ['src/dataplane/gateway/relay/relay.test.ts', 'test/attack/gateway-socks.test.ts']
  const [unit = '', ofBoth = ''] = tests
  const linux = { engine: 'linux' as const, tests: [unit, ofBoth] }
  const portable = { engine: 'portable' as const, tests: [ofBoth] }
  expect(byEngine('src/dataplane/gateway/relay/relay.ts', tests)).toEqual([portable, linux])
  expect(byEngine('src/dataplane/gateway/access/admission.ts', tests)).toEqual([linux, portable])
  expect(byEngine('src/dataplane/gateway/engines/linux/channel.ts', tests)).toEqual([linux])
  expect(byEngine('src/domains/ledger/rules.ts', tests)).toEqual([linux])
})

test('inBatches groups quick tests in one process and gives a slow test its own', () => {
  const costs: { [name: string]: number } = { a: 1, b: 2, c: 9, d: 1 }
  expect(inBatches(['a', 'b', 'c', 'd'], (name) => costs[name] ?? 0, 4)).toEqual([['a', 'b'], ['c'], ['d']])
})
