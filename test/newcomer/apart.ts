import { existsSync, readdirSync, readFileSync } from 'node:fs'

/**
 * In a space of processes that ends as a whole: with the first one in it, which ends with whoever started it, however
 * that was. The first must stay the user that it is, or the system forgets this.
 */
export const apart = 'setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc'.split(' ')

/** What prepares a space has children too, which end: the last is the one that stays. */
export function childOf(pid: number): number {
  const tasks = `/proc/${pid}/task`
  const children = readdirSync(tasks).flatMap((task) =>
    readFileSync(`${tasks}/${task}/children`, 'utf8').trim().split(' '),
  )
  const last = children.map(Number).findLast((child) => child > 0)
  if (last === undefined) throw new Error('nothing has started inside yet')
  return last
}

const mostTries = 200

/** A space with a network of its own and nobody in it, to be entered by whoever is to be there. */
export async function openSpace(): Promise<Bun.Subprocess> {
  const host = Bun.spawn([...apart, '--net', '/bin/sleep', 'infinity'], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  for (let tries = 0; tries < mostTries && findName(host) !== 'sleep'; tries += 1) await Bun.sleep(50)
  return host
}

/** What the first one inside is by now: it prepares the space, and then becomes what it is for. */
function findName(host: Bun.Subprocess): string | undefined {
  try {
    return readFileSync(`/proc/${childOf(host.pid)}/comm`, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** All of it has gone when this settles, not only the one who stood in front. */
export async function endSpace(host: Bun.Subprocess): Promise<void> {
  const first = findName(host) === undefined ? 0 : childOf(host.pid)
  host.kill('SIGKILL')
  await host.exited
  for (let tries = 0; tries < mostTries && existsSync(`/proc/${first}/stat`); tries += 1) await Bun.sleep(50)
}
