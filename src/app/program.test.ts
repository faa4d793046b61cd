import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { installedProgram } from '../../tools/package/units.ts'
import { docsPage } from './program.ts'

test('messages of the Debian package name pages where it installs them, other programs name them in the sources', () => {
  expect(docsPage('operate/tls.md', `/${installedProgram}`)).toBe('/usr/share/doc/turnpike/operate/tls.md')
  expect(existsSync(join(import.meta.dir, '../..', docsPage('operate/tls.md')))).toBeTrue()
})
