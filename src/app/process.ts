import { isatty } from 'node:tty'
import { createLog, redact } from '../adapters/log.ts'
import { tellServiceManager } from '../adapters/service-manager.ts'
import type { Given, Option } from '../cli/command.ts'
import { GarbageCollection } from '../core/garbage-collection.ts'
import type { Log } from '../core/log.ts'
import { openOwnHeap } from '../dataplane/agent/own-heap.ts'
import { type Config, readConfig, settings } from './settings/config.ts'
import { settingMeanings } from './settings/messages.ts'
import { findUnknownSettings } from './settings/unknown.ts'
import type { Opened } from './supervise.ts'

/** Options of every command: output, help, and all settings. */
export const commonOptions: readonly Option[] = [
  { flag: 'json', meaning: 'print JSON' },
  { flag: 'help', meaning: 'show the arguments and options of the command' },
  {
    flag: 'shop',
    value: 'URL',
    meaning: 'run the command on the shop at this https:// address, as the operator of TURNPIKE_OPERATOR_TOKEN',
  },
  { flag: 'token-file', value: 'FILE', meaning: "a file with the operator's token for --shop" },
  ...Object.entries(settings).map(([name, { flag, value, env, fallback }]) => ({
    flag,
    value,
    meaning: `${settingMeanings[name]} [${env}${fallback === '' ? '' : `, ${fallback}`}]`,
  })),
]

/** Commands that serve: their data folder also has the key of a shop on PostgreSQL, so they use both settings. */
const servingCommands: readonly string[] = ['up', 'shop']

/** The settings. `--data` without `--database-url` selects the SQLite shop in that folder, over the environment. */
export function configOf({ command, flags }: Given): Config {
  const isFolder = flags['data'] !== undefined && !servingCommands.includes(command.name)
  return readConfig(process.env, isFolder ? { 'database-url': '', ...flags } : flags)
}

/** The log of a process. Warns of unknown settings first; supervised processes leave that to `up`. */
export function logOf(config: Config, role: string): Log {
  const log = createLog(config.log, role, (line) => void process.stderr.write(line), process.stderr.isTTY)
  if (process.env['TURNPIKE_SUPERVISED'] === '1') return log
  for (const { name, meant, isRemoved } of findUnknownSettings(process.env)) {
    const remedy = meant === undefined ? '"turnpike --help" lists the settings.' : `Did you mean ${meant}?`
    const explanation = isRemoved
      ? 'This version of Turnpike does not have this setting any more and ignores it. Remove it.'
      : `Turnpike has no such setting and ignores it. ${remedy}`
    log.warn('unknown setting', { setting: name, explanation })
  }
  return log
}

/** Notifies systemd; a process supervised by `up` leaves that to `up`. */
export function tellSystemd(message: 'READY=1' | 'STOPPING=1' | `MAINPID=${number}` | `STATUS=${string}`): void {
  if (process.env['TURNPIKE_SUPERVISED'] !== '1') tellServiceManager(process.env['NOTIFY_SOCKET'], message)
}

/** The role serves: `systemctl start` returns, and `systemctl status` shows no trouble. */
export function tellServing(): void {
  tellSystemd('STATUS=Serving.')
  tellSystemd('READY=1')
}

const collectEveryMs = 1000

/** Collects the garbage of the main thread, as a reactor does: a shop under load kept up to 70 MB of it. */
export function startCollecting(): void {
  const garbage = new GarbageCollection(() => performance.now(), openOwnHeap())
  setInterval(() => garbage.collectIfWorth(false), collectEveryMs).unref()
}

/** How long `systemctl start` waits for a node after its first problem. */
const troubledStartMs = 5_000

/**
 * The log of a node that starts. Until `opened` is called, `systemctl status` shows its last problem. A node that waits
 * for its shop may wait for long, so after a problem it counts as started although it does not serve yet.
 */
export function startupLog(log: Log): { readonly log: Log; opened(): void } {
  let isOpen = false
  let waiting: ReturnType<typeof setTimeout> | undefined
  const showing =
    (level: 'warn' | 'error'): Log['warn'] =>
    (event, fields = {}) => {
      log[level](event, fields)
      if (isOpen) return
      const { explanation, reason, fault } = fields
      const cause = [explanation, reason].find((each) => typeof each === 'string')
      const why = cause ?? (fault instanceof Error ? fault.message : '')
      tellSystemd(`STATUS=${redact(`Not serving yet: ${event}. ${why}`).replaceAll(/\s+/g, ' ')}`)
      waiting ??= setTimeout(() => tellSystemd('READY=1'), troubledStartMs).unref()
    }
  return {
    log: { ...log, warn: showing('warn'), error: showing('error') },
    opened(): void {
      isOpen = true
      clearTimeout(waiting)
      tellServing()
    },
  }
}

/** Tells the supervising `up` over IPC that this process has opened. False when it is not supervised. */
export function tellOpened(opened: Opened): boolean {
  if (process.env['TURNPIKE_SUPERVISED'] !== '1' || !process.send) return false
  process.send(opened)
  return true
}

export const readOpened = (message: unknown): Opened =>
  typeof message === 'object' && message !== null && 'banner' in message && typeof message.banner === 'string'
    ? { banner: message.banner, isSandbox: 'isSandbox' in message && message.isSandbox === true }
    : {}

/**
 * Resolves when the pipe closes. Bun polls its own stream of a pipe; a stream of `node:fs` blocks one of the pool's
 * threads in read(2), and with two cores one slow DNS lookup then holds the other, so that no file can be read.
 */
async function untilClosed(pipe: number): Promise<void> {
  const reader = Bun.file(pipe).stream().getReader()
  while (!(await reader.read()).done);
}

/**
 * Resolves on SIGINT, SIGTERM or SIGHUP. Without a terminal, SIGHUP calls the function of `findHangUp` instead; if
 * there is none, a process of systemd ignores it. Exits with 137 when the parent is killed. Notifies systemd only if
 * `isMain`.
 */
export function untilStopped(findHangUp?: () => (() => void) | undefined, isMain = () => true): Promise<void> {
  const leash = Number(process.env['TURNPIKE_LEASH'] ?? Number.NaN)
  if (Number.isInteger(leash)) {
    void untilClosed(leash).finally(() => process.exit(137))
  }
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (signal === 'SIGHUP' && !isatty(0)) {
          const hangUp = findHangUp?.() ?? (process.env['NOTIFY_SOCKET'] === undefined ? undefined : () => {})
          if (hangUp) return hangUp()
        }
        if (isMain()) tellSystemd('STOPPING=1')
        resolve()
      })
    }
  })
}
