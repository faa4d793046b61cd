import { commands } from '../../src/app/commands.ts'
import { commonOptions } from '../../src/app/process.ts'
import type { Command } from '../../src/cli/command.ts'
import { version } from './project.ts'

/** Escapes a line of text for troff. */
const plain = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(['.])/, '\\&$1')

const calledAs = (command: Command): string =>
  [command.name, ...command.takes.map((each) => (each.optional ? `[${each.name}]` : each.name))].join(' ')

/** The manual page, generated from the text of `turnpike --help`. */
export function toManual(dateText: string): string {
  const item = (head: string, text: string) => ['.TP', `.B ${plain(head)}`, plain(text)]
  return `${[
    `.TH TURNPIKE 1 ${dateText} "Turnpike ${version}" "User Commands"`,
    '.SH NAME',
    'turnpike \\- shop that sells proxies and VPN, and the network that it sells',
    '.SH SYNOPSIS',
    '.B turnpike',
    '.I command',
    '[options]',
    '.SH DESCRIPTION',
    'Run by root, every command acts as the service does: as the user turnpike, with the settings of',
    '/etc/turnpike/turnpike.env, on the data in /var/lib/turnpike. With TURNPIKE_DATA set, and for anybody else, it',
    'takes the environment as it is.',
    '.SH COMMANDS',
    ...commands.flatMap((each) => item(calledAs(each), each.summary)),
    '.SH OPTIONS',
    ...commonOptions.flatMap((each) => item(`--${each.flag}${each.value ? ` ${each.value}` : ''}`, each.meaning)),
    '.SH FILES',
    ...item('/etc/turnpike/turnpike.env', 'Settings, one per line.'),
    ...item(
      '/var/lib/turnpike',
      'The shop: its database, its key and what its nodes keep. Never removed with the package.',
    ),
    '.SH SEE ALSO',
    '/usr/share/doc/turnpike/operate/install.md',
  ].join('\n')}\n`
}
