import { test } from 'bun:test'
import { findObstacle } from './netns.ts'

/**
 * For tests that need network namespaces and TUN. On a machine without them the tests are skipped, and the reason
 * appears in the summary of the run (tools/test.ts looks for this line).
 */
export async function findNetnsSupport(
  what = 'tests of real VPN tunnels',
): Promise<{ test: typeof test | typeof test.skip; isPossible: boolean }> {
  const obstacle = await findObstacle()
  if (obstacle === undefined) return { test, isPossible: true }
  process.stderr.write(`not run here: ${what}: ${obstacle}\n`)
  return { test: test.skip, isPossible: false }
}
