import { posix } from 'node:path'
import { isOfGateways } from '../gateway-tests.ts'

/** Source files and tests by path, with their text. */
type Files = ReadonlyMap<string, string>

const mentioned = /['"`]([^'"`\n]*\.(?:ts|mjs))['"`]/g

/** The files that each file names: its imports, and the programs that it starts. */
export function readLinks(files: Files): Map<string, readonly string[]> {
  return new Map(
    [...files].map(([path, text]) => {
      const named = [...text.matchAll(mentioned)].map((found) => found[1] ?? '')
      const candidates = named.flatMap((name) => [posix.join(posix.dirname(path), name), name])
      return [path, [...new Set(candidates)].filter((candidate) => candidate !== path && files.has(candidate))] as const
    }),
  )
}

/** The number of links from each file to `target`, found by a breadth-first search. */
function distances(links: ReadonlyMap<string, readonly string[]>, target: string): Map<string, number> {
  const users = new Map<string, string[]>()
  for (const [path, used] of links) for (const each of used) users.set(each, [...(users.get(each) ?? []), path])
  const known = new Map([[target, 0]])
  const queue = [target]
  for (const path of queue) {
    for (const user of users.get(path) ?? []) {
      if (known.has(user)) continue
      known.set(user, (known.get(path) ?? 0) + 1)
      queue.push(user)
    }
  }
  return known
}

/** Words in the names of a part's tests, besides the name of the part. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  ledger: ['account', 'money', 'idempotency', 'operator', 'history'],
  orders: ['idempotency', 'retry', 'account'],
  customer: ['limits'],
  customers: ['account', 'operator', 'refusals', 'tokens'],
  pricing: ['catalog'],
  stock: ['dedicated', 'operator'],
  fleet: ['nodes', 'claims'],
  traffic: ['premium', 'gateway-lease', 'nodes-report', 'metering', 'claims'],
  usage: ['claims', 'nodes-report', 'metering'],
  premium: ['gateway-premium', 'nodes', 'gateway-revoked'],
  agent: ['nodes', 'metering', 'gateway-partition', 'gateway-alone'],
  node: ['nodes'],
  wireguard: ['vpn-node'],
  db: ['kill', 'durability', 'history'],
  api: ['limits', 'refusals', 'bad-input', 'slow-body', 'warnings', 'account'],
}

/**
 * The tests that can find a change in `target`, the most probable first: the test of the same name, tests in its
 * folder, tests of its domain or layer, tests named after its area, then the tests with the fewest links to it. Among
 * equals the quickest test is first.
 */
export function orderTests(
  links: ReadonlyMap<string, readonly string[]>,
  target: string,
  costMs: (test: string) => number,
): string[] {
  const steps = distances(links, target)
  const parts = target.replace(/\.ts$/, '').split('/').slice(1)
  /** The index of the deepest folder of the target's path that the test is named after; -1 without one. */
  const named = (test: string): number =>
    parts.findLastIndex((part) =>
      [part, ...(otherNames[part] ?? [])].some((name) => new RegExp(`\\b${name}\\b`).test(test)),
    )
  const rank = (test: string): number => {
    if (test === target.replace(/\.ts$/, '.test.ts')) return 0
    if (posix.dirname(test) === posix.dirname(target)) return 1
    if (test.startsWith(target.split('/').slice(0, 3).join('/'))) return 2
    return named(test) === -1 ? 4 : 4 - (named(test) + 1) / (parts.length + 1)
  }
  return (
    [...steps.keys()]
      // Tests of tools name sources as examples; they run none of them.
      .filter((path) => path.endsWith('.test.ts') && !path.startsWith('tools/'))
      .map((test) => ({ test, rank: rank(test), steps: steps.get(test) ?? 0 }))
      .toSorted((a, b) => a.rank - b.rank || (a.rank === 4 ? a.steps - b.steps : 0) || costMs(a.test) - costMs(b.test))
      .map(({ test }) => test)
  )
}

const ofDataplane = /^src\/dataplane\/(?:gateway|agent|protocol)\//
const ofLinux = 'src/dataplane/gateway/engines/linux/'
const ofEitherEngine = /^src\/dataplane\/gateway\/(?:relay|engines\/shared)\//

/**
 * The engines of the gateway that run these tests, in order. The portable engine is first for a file that both relay
 * engines use, and does not run for a file of the Linux engine.
 */
export function byEngine(
  target: string,
  tests: readonly string[],
): { engine: 'linux' | 'portable'; tests: string[] }[] {
  const linux = { engine: 'linux' as const, tests: [...tests] }
  if (!ofDataplane.test(target) || target.startsWith(ofLinux)) return [linux]
  const portable = { engine: 'portable' as const, tests: tests.filter(isOfGateways) }
  return ofEitherEngine.test(target) ? [portable, linux] : [linux, portable]
}

/** Groups of tests that one process runs, so that a process starts once for many quick tests. */
export function inBatches(tests: readonly string[], costMs: (test: string) => number, maxMs: number): string[][] {
  const batches: string[][] = []
  let sumMs = 0
  for (const test of tests) {
    const last = batches.at(-1)
    if (last && sumMs + costMs(test) <= maxMs) {
      last.push(test)
      sumMs += costMs(test)
      continue
    }
    batches.push([test])
    sumMs = costMs(test)
  }
  return batches
}
