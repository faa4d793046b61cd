import { Refusal, refuseHere } from '../core/refusal.ts'

export type Command = {
  /** As typed: `customer create`. */
  readonly name: string
  readonly summary: string
  /** The same operation of `/admin/v1`; absent for a command about this machine. */
  readonly operation?: string
  /** Arguments after the name, in order. */
  readonly takes: readonly { readonly name: string; readonly meaning: string; readonly optional?: boolean }[]
  readonly options: readonly Option[]
  readonly run: (given: Given) => Promise<Outcome>
}

export type Option = {
  readonly flag: string
  /** Name of its value; an option without one is a switch. */
  readonly value?: string
  readonly meaning: string
}

/** Checked arguments and options. */
export type Given = {
  readonly args: readonly string[]
  readonly flags: Readonly<Record<string, string | undefined>>
  readonly has: (flag: string) => boolean
  readonly command: Pick<Command, 'name' | 'operation'>
}

/** Result of a command: JSON for programs, lines for people, and the exit code. */
export type Outcome = { readonly json: unknown; readonly lines: readonly string[]; readonly exit?: number }

/** A command about this machine; without arguments and options unless given. */
export const machineCommand = (command: Pick<Command, 'name' | 'summary' | 'run'> & Partial<Command>): Command => ({
  takes: [],
  options: [],
  ...command,
})

export const mistyped = (problem: string): Refusal => refuseHere(problem, 'usage')

/** Moves options before the command behind it, as in `turnpike --shop URL customer list`. */
export function putOptionsLast(typed: readonly string[], common: readonly Option[]): readonly string[] {
  let index = 0
  for (const arg = (): string => typed[index] ?? ''; arg().startsWith('--'); ) {
    const option = common.find(({ flag }) => arg() === `--${flag}`)
    index += option?.value === undefined ? 1 : 2
  }
  return [...typed.slice(index), ...typed.slice(0, index)]
}

/** Finds the command, and parses the rest as its arguments and options. */
export function readGiven(
  commands: readonly Command[],
  typed: readonly string[],
  common: readonly Option[],
): { command: Command; given: Given } {
  const command = findCommand(commands, typed)
  if (!command) throw noSuchCommand(commands, typed)
  const options = [...command.options, ...common]
  const args: string[] = []
  const flags: Record<string, string | undefined> = {}
  const rest = typed.slice(command.name.split(' ').length)
  for (let index = 0; index < rest.length; index += 1) {
    const arg = rest[index] ?? ''
    if (!arg.startsWith('--')) {
      args.push(arg)
      continue
    }
    const [flag = '', attached] = arg.slice(2).split(/=(.*)/s)
    const option = options.find((each) => each.flag === flag)
    if (!option) throw mistyped(`"${command.name}" has no option --${flag}. Add --help to see its options.`)
    if (flag in flags) throw mistyped(`--${flag} is given twice.`)
    if (!option.value) {
      if (attached !== undefined) throw mistyped(`--${flag} takes no value.`)
      flags[flag] = 'on'
      continue
    }
    const value = attached ?? rest[(index += 1)]
    if (value === undefined || (attached === undefined && value.startsWith('--'))) {
      throw mistyped(`--${flag} requires a value: ${option.value}.`)
    }
    flags[flag] = value
  }
  const least = command.takes.filter((each) => !each.optional).length
  const missing = command.takes[args.length]
  if (args.length < least && missing)
    throw mistyped(`"${command.name}" requires ${missing.name}: ${missing.meaning.replace(/\.$/, '')}.`)
  if (args.length > command.takes.length) throw mistyped(`"${args[command.takes.length]}" is an unexpected argument.`)
  return { command, given: { args, flags, has: (flag) => flag in flags, command } }
}

function noSuchCommand(commands: readonly Command[], typed: readonly string[]): Refusal {
  const [first, second] = typed.filter((arg) => !arg.startsWith('-'))
  if (first === undefined) return mistyped('Give a command; "turnpike --help" lists them.')
  const isGroup = commands.some((each) => each.name.startsWith(`${first} `))
  const name = isGroup && second !== undefined ? `${first} ${second}` : first
  return mistyped(`There is no command "${name}". "turnpike ${isGroup ? first : '--help'}" lists the commands.`)
}

/** The command with the longest name that the typed words begin with. */
export function findCommand(commands: readonly Command[], typed: readonly string[]): Command | undefined {
  const fits = commands.filter((each) => each.name.split(' ').every((part, index) => typed[index] === part))
  return fits.toSorted((a, b) => b.name.length - a.name.length)[0]
}

const usageOf = (command: Command): string =>
  [
    'turnpike',
    command.name,
    ...command.takes.map((each) => (each.optional ? `[${each.name}]` : each.name)),
    ...(command.options.length > 0 ? ['[options]'] : []),
  ].join(' ')

/** Help for a group of commands, such as `customer`. */
export function groupText(commands: readonly Command[], typed: readonly string[]): string | undefined {
  const group = typed.filter((arg) => !arg.startsWith('--')).join(' ')
  const members = commands.filter((each) => each.name.startsWith(`${group} `))
  if (group === '' || members.length === 0 || commands.some((each) => each.name === group)) return undefined
  return `${[overview(members), tellsMore].join('\n\n')}\n`
}

const tellsMore = '"turnpike COMMAND --help" describes one command.'

const overview = (commands: readonly Command[]): string =>
  columns(commands.map((each) => [`turnpike ${each.name}`, each.summary]))

/** Help for one command, or an overview of all; only the overview lists the common options. */
export function helpText(commands: readonly Command[], common: readonly Option[], one: Command | undefined): string {
  if (one) {
    const parts = [`${usageOf(one)}\n\n${one.summary}`]
    if (one.takes.length > 0) parts.push(columns(one.takes.map((each) => [each.name, each.meaning])))
    if (one.options.length > 0) parts.push(columns(one.options.map(optionRow)))
    parts.push('Like every command it also takes --json and the settings: "turnpike --help" lists them.')
    return `${parts.join('\n\n')}\n`
  }
  return `${[
    'Turnpike sells proxies and VPN: a shop, gateways and VPN nodes.',
    overview(commands),
    'Every command takes:',
    columns(common.map(optionRow)),
    tellsMore,
  ].join('\n\n')}\n`
}

const optionRow = (option: Option): [string, string] => [
  `--${option.flag}${option.value ? ` ${option.value}` : ''}`,
  option.meaning,
]

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([first]) => first.length))
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`.trimEnd()).join('\n')
}

/** Control characters and changes of the writing direction, which customers and nodes could send to a terminal. */
const unprintable = /(?![\n\t])[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu

/** A text for a terminal: only line ends and tabs are left of its control characters. */
export const toPrintable = (text: string): string => text.replaceAll(unprintable, '\u{fffd}')

export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [heading, ...rows.map((row) => row.map((cell) => toPrintable(cell).replaceAll(/[\n\t]/g, '\u{fffd}')))]
  const widths = heading.map((_, index) => Math.max(...all.map((row) => (row[index] ?? '').length)))
  return all.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
