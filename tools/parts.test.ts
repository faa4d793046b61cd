import { expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { chooseFiles, toGatewayParts, toLanes, toParts } from './parts.ts'

const all = [
  'src/a/b.test.ts',
  'test/attack/gateway-socks.test.ts',
  'test/browser/docs.long.test.ts',
  'test/durability/gateway-kill.test.ts',
  'test/vpn-node/life.test.ts',
]

test('npm test leaves out *.long.test.ts unless its path is given in full', () => {
  expect(chooseFiles(all, [], false)).toEqual(all.filter((file) => !file.includes('.long.')))
  expect(chooseFiles(all, [], true)).toEqual(all)
  expect(chooseFiles(all, ['browser'], false)).toEqual([])
  expect(chooseFiles(all, ['./test/browser/docs.long.test.ts'], false)).toEqual(['test/browser/docs.long.test.ts'])
  expect(chooseFiles(all, ['gateway'], false)).toHaveLength(2)
})

test('every test file of the project runs exactly once on the Linux engine, in a short and in a long run', () => {
  const files = [...new Bun.Glob('{src,test,tools}/**/*.test.ts').scanSync({ cwd: resolve(import.meta.dir, '..') })]
  for (const isLong of [false, true]) {
    const chosen = chooseFiles(files, [], isLong)
    const linux = toParts(chosen, isLong).filter(({ engine, reactors }) => engine === 'linux' && reactors === undefined)
    expect(linux.flatMap((part) => part.files).toSorted()).toEqual(chosen.toSorted())
  }
})

test('the portable engine re-runs attacks in a short run and every gateway test in a long one', () => {
  const again = (isLong: boolean) => toParts(all, isLong).find(({ engine }) => engine === 'portable')?.files
  expect(again(false)).toEqual(['test/attack/gateway-socks.test.ts'])
  expect(again(true)).toEqual(['test/attack/gateway-socks.test.ts', 'test/durability/gateway-kill.test.ts'])
})

test('a long run repeats every gateway test with 2 and with 4 reactors, a short run none', () => {
  const again = (isLong: boolean) =>
    toParts(all, isLong).flatMap(({ reactors, files }) => (reactors === undefined ? [] : [[reactors, files]]))
  const ofGateways = ['test/attack/gateway-socks.test.ts', 'test/durability/gateway-kill.test.ts']
  expect(again(false)).toEqual([])
  expect(again(true)).toEqual([
    [2, ofGateways],
    [4, ofGateways],
  ])
})

test('test:gateways runs every gateway test and no other, with 1, 2 and 4 reactors and on the portable engine', () => {
  const ofGateways = ['test/attack/gateway-socks.test.ts', 'test/durability/gateway-kill.test.ts']
  expect(toGatewayParts(all).map(({ engine, reactors, files }) => [engine, reactors, files])).toEqual([
    ['linux', 1, ofGateways],
    ['linux', 2, ofGateways],
    ['linux', 4, ofGateways],
    ['portable', undefined, ofGateways],
  ])
})

test('a short run has a lane of two processes for the portable engine, and a long run a lane for durability tests', () => {
  const lanesOf = (isLong: boolean) =>
    toLanes(toParts(all, isLong), isLong, 4).map(({ parts, atOnce }) => [parts.map(({ name }) => name), atOnce])
  expect(lanesOf(false)).toEqual([
    [['tests'], 4],
    [['portable engine'], 2],
  ])
  expect(lanesOf(true)).toEqual([
    [
      [
        'sources and tools',
        'attacks',
        'browser',
        'other tests',
        'gateways with 2 reactors',
        'gateways with 4 reactors',
        'portable engine',
      ],
      2,
    ],
    [['durability'], 2],
  ])
})
