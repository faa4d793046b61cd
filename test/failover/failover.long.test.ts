import { expect, setDefaultTimeout } from 'bun:test'
import { join } from 'node:path'
import { longTest } from '../harness/long-test.ts'
import { findFleetObstacle } from '../storm/fleet/net.ts'
import { findClusterObstacle } from './cluster.ts'

setDefaultTimeout(1_200_000)

const program = join(import.meta.dir, 'run.ts')
const only = ['leader killed', 'leader frozen', 'waiting commit cancelled, then leader killed'].join(';')

longTest('purchases, payments and bytes survive a killed and a frozen leader and a cancelled commit', async () => {
  const obstacle = (await findFleetObstacle()) ?? (await findClusterObstacle())
  if (obstacle !== undefined) {
    process.stderr.write(`not run here: a failover of the database; ${obstacle}\n`)
    return
  }
  // A separate program: it moves into its own network namespace and stays there.
  const child = Bun.spawn(
    [process.execPath, '--no-env-file', program, '--rounds', '3', '--seed', '1', '--only', only],
    {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  const [out, err, exit] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  const wrong = `${out}${err}`.split('\n').filter((line) => /WRONG|rror/.test(line))
  expect({ exit, wrong }).toEqual({ exit: 0, wrong: [] })
})
