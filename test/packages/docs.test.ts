import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fillDocs } from '../../tools/package/deb.ts'
import { packagedUnits } from '../../tools/package/units.ts'

test('every link between the pages of the Debian package leads to a file or folder that it installs', async () => {
  const tree = mkdtempSync(join(tmpdir(), 'turnpike-docs-'))
  try {
    await fillDocs(tree, '')
    for (const { name, text } of packagedUnits()) await Bun.write(join(tree, 'usr/lib/systemd/system', name), text)
    const folder = join(tree, 'usr/share/doc/turnpike')
    const pages = [...new Bun.Glob('**/*.md').scanSync(folder)]
    const links = pages.flatMap((page) => {
      const text = readFileSync(join(folder, page), 'utf8').replaceAll(/^```.*?^```/gms, '')
      return [...text.matchAll(/\]\(([^)\s]+)\)|\b(?:src|href)="([^"]+)"/g)].map(([, link = '', attribute = link]) => ({
        page,
        link: attribute,
      }))
    })
    const own = links.filter(({ link }) => !/^(?:[a-z]+:|#)/.test(link))
    expect(own.length).toBeGreaterThan(100)
    const dead = own.filter(({ page, link }) => {
      const [path = ''] = link.split('#')
      return !existsSync(path.startsWith('/') ? join(tree, path) : join(folder, dirname(page), path))
    })
    expect(dead).toEqual([])
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
})
