import { resolve as toWholePath } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { redact } from '../adapters/log.ts'
import { type Command, groupText, helpText, type Outcome, readGiven } from '../cli/command.ts'
import { Refusal } from '../kernel/refusal.ts'
import { commonOptions } from './process.ts'
import { readyCommand } from './ready.ts'
import { BadSetting } from './settings/reading.ts'
import { upCommand } from './up.ts'

/** 0 done, 1 refused or wrong, 2 mistyped or a bad setting, 70 a fault of ours. */
async function main(typed: readonly string[]): Promise<number> {
  const json = typed.includes('--json')
  if (typed[0] === '--version') return print({ json: { version: manifest.version }, lines: [manifest.version] }, json)
  const commands = await commandsFor(typed)
  const asksForHelp = typed.length === 0 || typed.includes('--help') || typed[0] === 'help'
  if (asksForHelp) {
    const words = typed.filter((word) => !word.startsWith('--') && word !== 'help')
    const one = commands
      .filter((each) => each.name === words.slice(0, each.name.split(' ').length).join(' '))
      .toSorted((a, b) => b.name.length - a.name.length)[0]
    await write((one ? undefined : groupText(commands, words)) ?? helpText(commands, commonOptions, one))
    return typed.length === 0 ? 2 : 0
  }
  const group = groupText(commands, typed)
  if (group !== undefined && !json) {
    await write(group)
    return 2
  }
  const { command, given } = readGiven(commands, typed, commonOptions)
  return print(await command.run(given), json)
}

/**
 * What runs all the time needs none of the others, neither `up` nor a node the database or the API, and an operator's
 * command neither the API nor the gateway: each loads what it is made of.
 */
async function commandsFor(typed: readonly string[]): Promise<readonly Command[]> {
  if (!typed.includes('--help')) {
    if (typed[0] === 'up') return [upCommand]
    if (typed[0] === 'ready') return [readyCommand]
    if (typed[0] === 'shop') return [(await import('./shop/command.ts')).shopCommand]
    if (typed[0] === 'gateway') return (await import('./node/gateway.ts')).gatewayCommands
    if (typed[0] === 'vpn-node') return (await import('./node/vpn.ts')).vpnNodeCommands
    if (typed[0] === 'doctor') return [(await import('./doctor/command.ts')).doctorCommand]
    const { toolCommands } = await import('./tool.ts')
    if (toolCommands.some(({ name }) => typed.slice(0, name.split(' ').length).join(' ') === name)) return toolCommands
  }
  return (await import('./commands.ts')).commands
}

async function print(outcome: Outcome, json: boolean): Promise<number> {
  if (json && outcome.json !== null) await write(`${JSON.stringify(outcome.json)}\n`)
  else await write(outcome.lines.map((line) => `${line}\n`).join(''))
  return outcome.exit ?? 0
}

/**
 * Ends when the reader has taken all of it. A pipe holds 64 KiB, and a process that ends takes with it what it has not
 * handed over. A reader that has seen enough, as `head` has, is no trouble of ours.
 */
function write(text: string): Promise<void> {
  if (text === '') return Promise.resolve()
  return new Promise((resolve, reject) => {
    process.stdout.once('error', () => {})
    process.stdout.write(text, (error) => {
      if (error && (error as NodeJS.ErrnoException).code !== 'EPIPE') reject(error)
      else resolve()
    })
  })
}

async function explain(error: unknown, json: boolean): Promise<number> {
  const known = error instanceof Refusal || error instanceof BadSetting
  const closed = closedPathOf(error)
  if (closed !== undefined && !known) return explain(new BadSetting(closed), json)
  const message = messageOf(error)
  const code = error instanceof Refusal ? error.code : error instanceof BadSetting ? 'bad_setting' : 'internal_error'
  const details = error instanceof Refusal ? error.details : null
  if (json) await write(`${JSON.stringify({ error: { code, message, details } })}\n`)
  else process.stderr.write(`turnpike: ${message}\n`)
  if (!known) return 70
  return error instanceof BadSetting || code === 'usage' ? 2 : 1
}

/** A folder or file that this user may not use, which is for the operator to mend. */
function closedPathOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) return undefined
  const path = toWholePath(String(error.path))
  if (['ENOTDIR', 'EEXIST'].includes(String(error.code))) {
    return `${path} cannot be a folder: a file is there. Name another with TURNPIKE_DATA (--data).`
  }
  const syscall = 'syscall' in error ? String(error.syscall) : ''
  if (error.code === 'EISDIR') return `${path} is a folder, and has to be a file. Move it away, or name another place.`
  if (error.code === 'ENOENT' && syscall === 'mkdir') {
    return `${path} cannot be made there. Name another folder with TURNPIKE_DATA (--data).`
  }
  if (!['EACCES', 'EPERM', 'EROFS'].includes(String(error.code))) return undefined
  const place = 'Name a place of its own, for the shop itself with TURNPIKE_DATA (--data).'
  return `${path} may not be used by this user. ${place}`
}

/**
 * Here nobody sent a request: a database that cannot be reached is said to be that, with the reason the driver gave.
 */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof Refusal && error.kind === 'unavailable' && error.cause instanceof Error)) return error.message
  return redact(`The database cannot be reached: ${error.cause.message}`)
}

const typed = process.argv.slice(2)
process.exit(await main(typed).catch((error: unknown) => explain(error, typed.includes('--json'))))
