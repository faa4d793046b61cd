import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, run } from '../../tools/package/place.ts'

/** A Debian with nothing in it but what starts services and fetches pages, run apart from this machine. */
export type Machine = {
  readonly folder: string
  /** Whether services are started by systemd; otherwise by hand, as their units say. */
  readonly hasSystemd: boolean
  /** Runs a line of shell as root; what it printed, both streams. A line that fails throws. */
  sh(line: string): Promise<string>
  /** Starts a line of shell that goes on. */
  start(line: string): Bun.Subprocess
  end(): Promise<void>
}

const release = 'bookworm'
const included = 'curl,dbus,procps,systemd,systemd-sysv'

/** The mirror that this machine has its own packages from. */
function findMirror(): string {
  const lists = ['/etc/apt/sources.list', '/etc/apt/sources.list.d/debian.sources'].filter((path) => existsSync(path))
  const text = lists.map((path) => readFileSync(path, 'utf8')).join('\n')
  const found = /^(?:URIs:|deb(?: \[[^\]]*\])?) +(https?:\/\/\S+\/debian\/?)(?:\s|$)/m.exec(text)
  if (!found?.[1]) throw new Error('this machine names no mirror of Debian')
  return found[1]
}

/** Made once and kept: what is tried begins with a copy of it. */
async function makeBase(): Promise<string> {
  const kept = join(root, 'dist/newcomer', `${release}.tar`)
  if (existsSync(kept)) return kept
  mkdirSync(join(root, 'dist/newcomer'), { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-debootstrap-'))
  try {
    await run(['debootstrap', '--variant=minbase', `--include=${included}`, release, folder, findMirror()], '/')
    await run(['tar', '-C', folder, '--exclude=./var/cache/apt/archives/*.deb', '-cf', kept, '.'], '/')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return kept
}

/** Its network is its own: nothing here meets what runs on this machine. */
export async function openEmptyDebian(): Promise<Machine> {
  const base = await makeBase()
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-newcomer-'))
  await run(['tar', '-C', folder, '-xf', base], '/')
  // Its own users have to come in too.
  chmodSync(folder, 0o755)
  const booted = await boot(folder)
  return booted ?? openByHand(folder)
}

const quiet = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const

/** With systemd in charge, where this machine lets it. */
async function boot(folder: string): Promise<Machine | undefined> {
  const options = ['--quiet', '--boot', '--private-network', '--register=no', '--keep-unit', `--directory=${folder}`]
  // In the form that a Debian of today has.
  const env = { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' }
  const host = Bun.spawn(['systemd-nspawn', ...options], { ...quiet, env })
  const machine = enter(folder, host, true)
  const isUp = 'systemctl is-system-running | grep -E "running|degraded"'
  if (await becomes(host, () => machine.sh(isUp))) return machine
  host.kill('SIGKILL')
  await host.exited
  return undefined
}

async function openByHand(folder: string): Promise<Machine> {
  const apart = ['--net', '--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child', '--mount-proc']
  const host = Bun.spawn(['unshare', ...apart, `--root=${folder}`, '/bin/sleep', 'infinity'], quiet)
  const machine = enter(folder, host, false)
  if (!(await becomes(host, () => machine.sh('true')))) throw new Error('no namespaces can be made here')
  await run(['nsenter', `--target=${childOf(host)}`, '--net', 'ip', 'link', 'set', 'lo', 'up'], '/')
  return machine
}

const mostTries = 240

async function becomes(host: Bun.Subprocess, ask: () => Promise<unknown>): Promise<boolean> {
  for (let tries = 0; tries < mostTries && host.exitCode === null; tries += 1) {
    const isSo = await ask().then(
      () => true,
      () => false,
    )
    if (isSo) return true
    await Bun.sleep(500)
  }
  return false
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Everything comes in through the first process inside. */
function enter(folder: string, host: Bun.Subprocess, hasSystemd: boolean): Machine {
  const shell = (line: string) => {
    const into = [
      'nsenter',
      `--target=${childOf(host)}`,
      '--mount',
      '--net',
      '--pid',
      '--uts',
      '--ipc',
      '--root',
      '--wd',
    ]
    return [...into, '/usr/bin/env', '-i', `PATH=${path}`, 'HOME=/root', '/bin/sh', '-ec', line]
  }
  return {
    folder,
    hasSystemd,
    sh: async (line) => run(shell(`{ ${line}\n} 2>&1`), '/'),
    start: (line) => Bun.spawn(shell(line), quiet),
    async end() {
      host.kill(hasSystemd ? 'SIGTERM' : 'SIGKILL')
      const killer = setTimeout(() => host.kill('SIGKILL'), 20_000)
      await host.exited
      clearTimeout(killer)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What prepares the machine has children too, which end: the last is the one that stays. */
function childOf(host: Bun.Subprocess): number {
  const tasks = `/proc/${host.pid}/task`
  const children = readdirSync(tasks).flatMap((task) =>
    readFileSync(`${tasks}/${task}/children`, 'utf8').trim().split(' '),
  )
  const last = children.map(Number).findLast((pid) => pid > 0)
  if (last === undefined) throw new Error('nothing has started inside yet')
  return last
}
