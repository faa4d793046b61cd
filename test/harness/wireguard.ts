import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages, run, withinMs } from './apt.ts'

const howToGetIt =
  'The programs wg and wg-quick were not found, and tests hold configurations against them. ' +
  'On Debian or Ubuntu: apt-get install wireguard-tools, as root.'

/** Time limit for the preparation of a test, long enough to install the tools. */
export const toolsWithinMs = 2 * withinMs

let ready: Promise<void> | undefined

/** Makes sure that the WireGuard tools are installed. The search runs once for all tests. */
export function needWireguardTools(): Promise<void> {
  ready ??= findOrInstall()
  return ready
}

async function findOrInstall(): Promise<void> {
  if (isThere()) return
  const problem = await installPackages(['wireguard-tools'])
  if (problem !== undefined) throw new Error(`${howToGetIt} ${problem}`)
  if (!isThere()) throw new Error(`${howToGetIt} apt-get said that it installed them, yet they are not on PATH.`)
}

const isThere = (): boolean => Bun.which('wg') !== null && Bun.which('wg-quick') !== null

async function must(command: string[], input?: string): Promise<string> {
  const { code, out, err } = await run(command, input)
  if (code === 0) return out
  throw new Error(`${command.join(' ')} failed:\n${err.trimEnd()}`)
}

/** The public key of a private key, from `wg`. */
export const wgPublicKey = async (privateKey: string): Promise<string> =>
  (await must(['wg', 'pubkey'], `${privateKey}\n`)).trim()

export const wgPrivateKey = async (): Promise<string> => (await must(['wg', 'genkey'])).trim()

/** The output of `wg-quick strip`; it fails on an invalid configuration. */
export async function wgQuickStrip(config: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-wg-'))
  try {
    const path = join(folder, 'tp0.conf')
    writeFileSync(path, config, { mode: 0o600 })
    return await must(['wg-quick', 'strip', path])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The settings of a configuration, by section and name. */
export function readConf(text: string): Record<string, Record<string, string>> {
  const sections: Record<string, Record<string, string>> = {}
  let current: Record<string, string> = {}
  for (const line of text.split('\n').map((each) => each.trim())) {
    const heading = /^\[(\w+)\]$/.exec(line)
    const setting = /^(\w+)\s*=\s*(.*)$/.exec(line)
    if (heading?.[1]) current = sections[heading[1]] = {}
    else if (setting?.[1] && setting[2] !== undefined) current[setting[1]] = setting[2]
  }
  return sections
}
