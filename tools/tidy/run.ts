import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { checkAll } from './check.ts'
import type { Files } from './source.ts'

const root = resolve(import.meta.dir, '../..')
const unread = new Set(['node_modules', '.git', 'data', 'coverage', 'dist', '.idea', '.vscode'])
const maxBytes = 2_000_000

/**
 * Everything that belongs to the project and is text. Folders called `data` are left out at the root only, where a shop
 * keeps its own; `.git` is a file where the project is checked out a second time.
 */
function readProject(): Files {
  const files = new Map<string, string>()
  const visit = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      const isUnread = unread.has(entry.name) && (folder === '' || entry.name === 'node_modules')
      if (isUnread) continue
      if (entry.isDirectory()) visit(path)
      if (entry.isFile() && statSync(join(root, path)).size <= maxBytes) {
        const text = readFileSync(join(root, path), 'utf8')
        if (!text.includes('\0')) files.set(path, text)
      }
    }
  }
  visit('')
  return files
}

const violations = checkAll(readProject())
const showsWarnings = process.argv.includes('--warnings')
for (const { path, line, rule, explanation, isWarning } of violations) {
  if (showsWarnings || !isWarning) console.log(`${isWarning ? 'warning: ' : ''}${path}:${line} ${rule}: ${explanation}`)
}
const warnings = Map.groupBy(
  violations.filter((each) => each.isWarning),
  (each) => each.rule,
)
const counts = [...warnings].map(([rule, found]) => `${rule} ${found.length}`)
if (counts.length > 0) console.log(`warnings (--warnings lists them): ${counts.join(', ')}`)
process.exit(violations.some((each) => !each.isWarning) ? 1 : 0)
