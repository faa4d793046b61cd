import { resolve as toWholePath } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { redact } from '../adapters/log.ts'
import {
  type Command,
  findCommand,
  groupText,
  helpText,
  mistyped,
  type Outcome,
  putOptionsLast,
  readGiven,
  toPrintable,
} from '../cli/command.ts'
import { toText } from '../cli/print.ts'
import { problemsEn } from '../core/messages/problems-en.ts'
import { Refusal, toSentDetails } from '../core/refusal.ts'
import { commonOptions } from './process.ts'
import { readyCommand } from './ready.ts'
import { BadSetting } from './settings/reading.ts'
import { upCommand } from './up.ts'

/** Output of a command. `out` resolves when the reader has taken all of it. */
export type Voice = { out(text: string): Promise<void>; err(text: string): void }

/** Runs a command line. Exit code: 0 done, 1 refused or wrong, 2 mistyped or a bad setting, 70 a fault. */
export async function perform(argv: readonly string[], voice: Voice): Promise<number> {
  const typed = putOptionsLast(argv, commonOptions)
  const json = typed.includes('--json')
  try {
    return await performOne(typed, json, voice)
  } catch (error) {
    return explain(error, json, voice)
  }
}

async function performOne(typed: readonly string[], json: boolean, voice: Voice): Promise<number> {
  const print = (outcome: Outcome) => voice.out(toText(outcome, json))
  if (typed[0] === '--version') {
    await print({ json: { version: manifest.version }, lines: [manifest.version] })
    return 0
  }
  const commands = await commandsFor(typed)
  if (typed.length === 0 || typed.includes('--help') || typed[0] === 'help') {
    const args = typed.filter((arg) => !arg.startsWith('--') && arg !== 'help')
    const one = findCommand(commands, args)
    await voice.out((one ? undefined : groupText(commands, args)) ?? helpText(commands, commonOptions, one))
    return typed.length === 0 ? 2 : 0
  }
  const group = groupText(commands, typed)
  if (group !== undefined && !json) {
    await voice.out(group)
    return 2
  }
  const { command, given } = readGiven(commands, typed, commonOptions)
  if (given.has('shop') && command.operation === undefined) {
    throw mistyped(`"${command.name}" works on this machine only, so it takes no --shop.`)
  }
  const outcome = await command.run(given)
  await print(outcome)
  return outcome.exit ?? 0
}

/** Loads only the modules of the command: `up` and nodes load neither database nor API. */
async function commandsFor(typed: readonly string[]): Promise<readonly Command[]> {
  if (!typed.includes('--help')) {
    if (typed[0] === 'up') return [upCommand]
    if (typed[0] === 'ready') return [readyCommand]
    if (typed[0] === 'shop') return [(await import('./shop/shop.ts')).shopCommand]
    if (typed[0] === 'gateway') return (await import('./node/gateway.ts')).gatewayCommands
    if (typed[0] === 'vpn-node') return (await import('./node/vpn.ts')).vpnNodeCommands
    if (typed[0] === 'mcp') return [(await import('./mcp.ts')).mcpCommand]
    if (typed[0] === 'doctor') return [(await import('./doctor/machine.ts')).doctorCommand]
    const { toolCommands } = await import('./tool.ts')
    if (findCommand(toolCommands, typed)) return toolCommands
  }
  return (await import('./commands.ts')).commands
}

async function explain(error: unknown, json: boolean, voice: Voice): Promise<number> {
  const known = error instanceof Refusal || error instanceof BadSetting
  const closed = closedPathOf(error)
  if (closed !== undefined && !known) return explain(new BadSetting(closed), json, voice)
  const message = messageOf(error)
  const code = error instanceof Refusal ? error.code : error instanceof BadSetting ? 'bad_setting' : 'internal_error'
  const details = error instanceof Refusal ? toSentDetails(error.details, problemsEn) : null
  if (json) await voice.out(`${JSON.stringify({ error: { code, message, details } })}\n`)
  else voice.err(`turnpike: ${toPrintable(message)}\n`)
  if (!known) return 70
  return error instanceof BadSetting || code === 'usage' ? 2 : 1
}

/** A folder or file that this user may not use, worded for the operator. */
function closedPathOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) return undefined
  const path = toWholePath(String(error.path))
  if (['ENOTDIR', 'EEXIST'].includes(String(error.code))) {
    return `${path} cannot be a folder: a file is there. Name another with TURNPIKE_DATA (--data).`
  }
  const syscall = 'syscall' in error ? String(error.syscall) : ''
  if (error.code === 'EISDIR') return `${path} is a folder and must be a file. Move it away, or set another path.`
  if (error.code === 'ENOENT' && syscall === 'mkdir') {
    return `${path} cannot be made there. Name another folder with TURNPIKE_DATA (--data).`
  }
  if (!['EACCES', 'EPERM', 'EROFS'].includes(String(error.code))) return undefined
  const advice = 'Set another path; for the shop itself TURNPIKE_DATA (--data).'
  return `This user has no access to ${path}. ${advice}`
}

/** An unreachable database is reported with the driver's reason: the sentence for API customers does not fit here. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof Refusal && error.kind === 'unavailable' && error.cause instanceof Error)) return error.message
  return redact(`The database cannot be reached: ${error.cause.message}`)
}
