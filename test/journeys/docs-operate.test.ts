import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { settings } from '../../src/app/settings/config.ts'
import { readMigrations } from '../../src/app/shop/database.ts'
import { findingsEn } from '../../src/core/messages/findings-en.ts'
import { tablesOf } from '../../src/db/copy/copy.ts'

const root = join(import.meta.dir, '../..')
const folder = join(root, 'docs/operate')
const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8')
const pages = readdirSync(folder).filter((name) => name.endsWith('.md'))

/** The code spans in the first cells of a page’s tables. */
const firstCells = (page: string): string[] =>
  [...textOf(page).matchAll(/^\| ((?:`[^`]+`(?:, )?)+) \|/gm)].flatMap((row) =>
    [...(row[1] ?? '').matchAll(/`([^`]+)`/g)].map((cell) => cell[1] ?? ''),
  )

describe('docs/operate/incidents.md', () => {
  test('incidents.md describes each alert of alerts.yml and no other', () => {
    const alerts = [...textOf('alerts.yml').matchAll(/- alert: (\w+)/g)].map((each) => each[1] ?? '')
    const described = firstCells('incidents.md').filter((each) => each.startsWith('Turnpike'))
    expect(described.toSorted()).toEqual(alerts.toSorted())
  })

  test('incidents.md describes each promise that verify can report and no other', () => {
    const promises = Object.keys(findingsEn.promises).toSorted()
    expect(promises.length).toBeGreaterThan(30)
    const described = firstCells('incidents.md').filter((each) => !each.startsWith('Turnpike'))
    expect(described.toSorted()).toEqual(promises)
  })
})

describe('high-availability.md', () => {
  const steps = [
    'scp -r /usr/share/doc/turnpike/operate/high-availability root@',
    'cp high-availability/patroni.yml',
    'install -m 755 high-availability/with-room.sh',
    'ExecStartPre=-+/sbin/modprobe softdog',
    'systemctl enable --now etcd',
    'systemctl enable --now patroni',
    'host=10.0.0.21,10.0.0.22,10.0.0.23 user=postgres target_session_attrs=read-write',
    'CREATE DATABASE turnpike',
    'systemctl restart haproxy',
    'systemctl stop turnpike-shop',
    'turnpike move --to-file -',
    'systemctl restart turnpike-shop',
  ]

  test.each(['high-availability.md', '../ru/high-availability.md'])('%s has every step, in its order', (page) => {
    const text = textOf(page)
    const places = steps.map((step) => text.indexOf(step))
    expect(steps.filter((step) => !text.includes(step))).toEqual([])
    expect(places).toEqual(places.toSorted((one, other) => one - other))
  })
})

describe('pages of docs/operate', () => {
  test('docs/operate/README.md links to every other page', () => {
    const index = textOf('README.md')
    expect(pages.filter((page) => page !== 'README.md' && !index.includes(`](${page}`))).toEqual([])
  })

  test.each(pages)('%s links only to existing pages and headings', (page) => {
    const dead: string[] = []
    for (const [, target = ''] of textOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path = '', heading] = target.split('#')
      const file = path === '' ? join(folder, page) : join(dirname(join(folder, page)), path)
      const exists = existsSync(file) && (heading === undefined || headingsOf(file).includes(heading))
      if (!exists) dead.push(target)
    }
    expect(dead).toEqual([])
  })

  test.each(pages)('%s sets a port below 1024 only where it edits the unit for CAP_NET_BIND_SERVICE', (page) => {
    const text = textOf(page)
    const portIn = /^TURNPIKE_\w*(?:PORT|LISTEN)=(?:\S*:)?(\d+)$/gm
    const fences = [...text.matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, commands = '']) => commands)
    const low = fences.filter((commands) => [...commands.matchAll(portIn)].some(([, port]) => Number(port) < 1024))
    expect(low.filter((commands) => !commands.includes('# systemctl edit '))).toEqual([])
    if (low.length > 0) expect(text).toMatch(/CAP_NET_BIND_SERVICE|tls\.md#from-files/)
  })

  test('privacy.md names every table and every retention setting with its default', async () => {
    const page = textOf('privacy.md')
    const tables = (await tablesOf(readMigrations())).map((table) => table.name)
    expect(tables.filter((table) => !page.includes(`\`${table}\``))).toEqual([])
    for (const { env, fallback } of Object.values(settings)) {
      if (!/^TURNPIKE_(KEEP_|PREMIUM_HOST_DAYS)/.test(env)) continue
      expect(page).toContain(`\`${env}\` (${fallback})`)
    }
  })
})

/** Anchors of a file’s headings. */
const headingsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].map((each) =>
    (each[1] ?? '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
