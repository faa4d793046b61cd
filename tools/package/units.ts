import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './project.ts'

const folder = join(root, 'docs/operate/systemd')

/** The path of the program in a package. */
export const installedProgram = 'usr/lib/turnpike/turnpike'

/**
 * The systemd units of the docs, adapted to a package: with its program, a static user that the operator's tool also
 * uses, and one settings file for all roles before each role's own.
 */
export const packagedUnits = (): { readonly name: string; readonly text: string }[] =>
  readdirSync(folder).map((name) => ({ name, text: toPackaged(readFileSync(join(folder, name), 'utf8')) }))

function toPackaged(text: string): string {
  const common = 'EnvironmentFile=-/etc/turnpike/turnpike.env'
  return text
    .replaceAll('/usr/local/bin/turnpike', `/${installedProgram}`)
    .replaceAll('/opt/turnpike/docs', '/usr/share/doc/turnpike')
    .replace(/^DynamicUser=yes\n/m, '')
    .replace(/^EnvironmentFile=.*$/m, (own) => (own === common ? own : `${common}\n${own}`))
}
