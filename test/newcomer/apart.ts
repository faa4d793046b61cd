import { existsSync, readdirSync, readFileSync } from 'node:fs'

/**
 * Command prefix that runs a program in its own mount and PID namespaces. The kernel kills the namespace with its
 * first process, and that process with its parent. The first process must not change its user, which would clear the
 * parent-death signal.
 */
export const apart = 'setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc'.split(' ')

/** The last child of a process: the children that prepare the namespace come first and end. */
export function childOf(pid: number): number {
  const tasks = `/proc/${pid}/task`
  const children = readdirSync(tasks).flatMap((task) =>
    readFileSync(`${tasks}/${task}/children`, 'utf8').trim().split(' '),
  )
  const last = children.map(Number).findLast((child) => child > 0)
  if (last === undefined) throw new Error('nothing has started inside yet')
  return last
}

const maxTries = 200

/** Opens namespaces with their own network and only a sleeping process, for others to enter. */
export async function openSpace(): Promise<Bun.Subprocess> {
  const host = Bun.spawn([...apart, '--net', '/bin/sleep', 'infinity'], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  for (let tries = 0; tries < maxTries && findName(host) !== 'sleep'; tries += 1) await Bun.sleep(50)
  return host
}

/** Name of the first process in the namespace: it changes once the preparation is done. */
function findName(host: Bun.Subprocess): string | undefined {
  try {
    return readFileSync(`/proc/${childOf(host.pid)}/comm`, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Kills the namespace and waits until its first process is gone. */
export async function endSpace(host: Bun.Subprocess): Promise<void> {
  const first = findName(host) === undefined ? 0 : childOf(host.pid)
  host.kill('SIGKILL')
  await host.exited
  for (let tries = 0; tries < maxTries && existsSync(`/proc/${first}/stat`); tries += 1) await Bun.sleep(50)
}
