import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createLog, type Log } from '../adapters/log.ts'
import type { Command, Given, Option } from '../cli/command.ts'
import { type Config, readConfig, settings } from './settings/config.ts'
import { supervise } from './up.ts'

/** What every command takes: how to answer, and all settings. */
export const commonOptions: readonly Option[] = [
  { flag: 'json', meaning: 'answer with JSON' },
  { flag: 'help', meaning: 'say what this command takes' },
  ...Object.values(settings).map((each) => ({
    flag: each.flag,
    value: each.value,
    meaning: `${each.meaning} [${each.env}${each.fallback === '' ? '' : `, ${each.fallback}`}]`,
  })),
]

export const configOf = (given: Given): Config => readConfig(process.env, given.flags)
export const logOf = (config: Config, role: string): Log =>
  createLog(config.log, role, (line) => void process.stderr.write(line), process.stderr.isTTY)

/** Resolves when the operator says stop. Should whoever started this process be killed outright, it ends as abruptly. */
export function untilStopped(): Promise<void> {
  const leash = Number(process.env['TURNPIKE_LEASH'] ?? Number.NaN)
  if (Number.isInteger(leash)) {
    const cut = () => process.exit(137)
    createReadStream('', { fd: leash }).on('end', cut).on('error', cut).resume()
  }
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
  })
}

/** It only looks after others, so it is kept apart from all that they need: it starts the sooner and weighs the less. */
export const upCommand: Command = {
  name: 'up',
  summary:
    'Runs everything on this machine: the shop, a gateway and, with --local-nodes=vpn, a VPN node; each started again if it dies, all stopped in order.',
  takes: [],
  options: [],
  async run(given) {
    const config = configOf(given)
    const log = logOf(config, 'up')
    const stop = new AbortController()
    void untilStopped().then(() => stop.abort())
    const flags = Object.entries(given.flags).flatMap(([flag, value]) =>
      flag === 'json' || flag === 'local-nodes' ? [] : [`--${flag}=${value}`],
    )
    const role = (name: string, ...more: string[]) => ({
      name,
      command: [process.execPath, ...process.execArgv, join(import.meta.dir, 'turnpike.ts'), name, ...flags, ...more],
    })
    const isVpn = config.localNodes.includes('vpn')
    const shop = role('shop', `--local-nodes=${isVpn ? 'gateway,vpn' : 'gateway'}`)
    const roles = [shop, role('gateway'), ...(isVpn ? [role('vpn-node')] : [])]
    return { json: null, lines: [], exit: await supervise(roles, log, stop.signal) }
  },
}
