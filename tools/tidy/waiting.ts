import {
  chainOf,
  childOf,
  childrenOf,
  type Files,
  findNodes,
  isTest,
  type Node,
  nameOf,
  type Violation,
} from './source.ts'

/** `Bun.sleep`, or a promise whose executor only calls `setTimeout`. */
function waits(node: Node): boolean {
  if (chainOf(node) === 'Bun.sleep') return true
  if (node.type !== 'NewExpression' || nameOf(childOf(node, 'callee')) !== 'Promise') return false
  const [executor] = childrenOf(node, 'arguments')
  return nameOf(childOf(childOf(executor, 'body'), 'callee')) === 'setTimeout'
}

/**
 * Files that may sleep: they kill a process at a random time, poll a program that reports no readiness, send bytes
 * slowly as a slow client does, or simulate customers with a pace.
 */
const mayWait: readonly string[] = [
  'src/db/migrate.test.ts',
  'test/attack/gateway-origins.test.ts',
  'test/durability/relay-load.ts',
  'test/durability/payments-worker.ts',
  'test/harness/apt.ts',
  'test/harness/keep-trying.ts',
  'test/harness/peer-proxies.ts',
  'test/harness/raw.ts',
  'test/harness/until.ts',
  'test/harness/wire-client.ts',
  'test/harness/postgres.test.ts',
  'test/harness/postgres.ts',
  'test/harness/turnpike.ts',
  'test/harness/vpn-tunnel.ts',
  'test/newcomer/',
  // Its processes sleep in simulated time.
  'test/simulation/',
  'test/failover/',
  'test/storm/',
]

/**
 * A test that sleeps is slow on a quiet machine and fails on a busy one. A test waits for the event that it expects.
 */
export function checkWaiting(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    const isOfTests = isTest(path) || (path.startsWith('test/') && path.endsWith('.ts'))
    if (!isOfTests || mayWait.some((prefix) => path.startsWith(prefix))) return []
    return findNodes(path, text, waits, 'waiting', 'a test waits for an event or moves the clock; it never sleeps')
  })
}
