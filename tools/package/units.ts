import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './project.ts'

const folder = join(root, 'docs/operate/systemd')

/** The path of the program in a package. */
export const installedProgram = 'usr/lib/turnpike/turnpike'

/**
 * The systemd units of the docs, adapted to a package: with its program, and a static user, which the operator's tool
 * uses too.
 */
export const packagedUnits = (): { readonly name: string; readonly text: string }[] =>
  readdirSync(folder).map((name) => ({ name, text: toPackaged(readFileSync(join(folder, name), 'utf8')) }))

const toPackaged = (text: string): string =>
  text
    .replaceAll('/usr/local/bin/turnpike', `/${installedProgram}`)
    .replaceAll('/opt/turnpike/docs', '/usr/share/doc/turnpike')
    .replace(/^DynamicUser=yes\n/m, '')
