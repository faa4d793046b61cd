import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from './apt.ts'

/** Runs a worker of this folder in its own network, where it may open port 53, with its own /etc/resolv.conf. */
export async function runWithOwnNames(worker: string): Promise<unknown> {
  const lacking = Bun.which('ip') === null ? await installPackages(['iproute2']) : undefined
  if (lacking !== undefined) throw new Error(lacking)
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-names-'))
  const file = join(folder, 'resolv.conf')
  writeFileSync(file, '')
  const rights = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
  const script = 'ip link set lo up && mount --bind "$0" /etc/resolv.conf && exec "$@"'
  const program = [process.execPath, join(import.meta.dir, worker)]
  const child = Bun.spawn(['unshare', ...rights, '--mount', '--net', 'sh', '-c', script, file, ...program], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  rmSync(folder, { recursive: true, force: true })
  if ((await child.exited) !== 0) throw new Error(err)
  return JSON.parse(out)
}
