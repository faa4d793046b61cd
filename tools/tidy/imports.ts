import { posix } from 'node:path'
import { below, findRoom, law, pure, type Sight } from './law.ts'
import {
  chainOf,
  childOf,
  childrenOf,
  type Files,
  findNodes,
  isCode,
  isTest,
  lineAt,
  type Node,
  nameOf,
  parse,
  type Violation,
} from './source.ts'

export type Import = { readonly specifier: string; readonly line: number }

/** Each module that a file names: import, export from, import type, import() and require(). */
export function findImports(path: string, text: string): Import[] {
  return parse(path, text).nodes.flatMap((node) => {
    const specifier = specifierOf(node)?.['value']
    return typeof specifier === 'string' ? [{ specifier, line: lineAt(text, node.end) }] : []
  })
}

function specifierOf(node: Node): Node | undefined {
  if (node.type !== 'CallExpression') return childOf(node, 'source')
  const isRequire = ['require', 'require.resolve'].includes(chainOf(childOf(node, 'callee')))
  return isRequire ? childrenOf(node, 'arguments')[0] : undefined
}

export function checkImports(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    const isBound = isCode(path) && !isTest(path) && path.startsWith('src/')
    return isBound ? checkFile(path, text) : []
  })
}

const isSocket = (node: Node): boolean => /^Bun\.(?:listen|connect|udpSocket)$/.test(chainOf(node))
const isComputedImport = (node: Node): boolean =>
  node.type === 'ImportExpression' && typeof specifierOf(node)?.['value'] !== 'string'

function checkFile(path: string, text: string): Violation[] {
  const found = findRoom(path)
  const violation = (line: number, explanation: string): Violation => ({ path, line, rule: 'import-law', explanation })
  if (found === undefined)
    return [violation(1, 'this folder has no room in tools/tidy/law.ts; give it one or move the file')]
  if (found.domain !== undefined && !(found.domain in below)) {
    return [violation(1, `the domain ${found.domain} has no layer in tools/tidy/law.ts`)]
  }
  const sight = law[found.room]
  const forbidden = findImports(path, text).filter((each) => !mayImport(path, each.specifier, sight, found.domain))
  return [
    ...forbidden.map((each) => violation(each.line, `${found.room} may not import ${each.specifier}`)),
    ...checkDrivers(path, text),
    ...(found.room === 'core'
      ? findNodes(path, text, (node) => nameOf(node) === 'Bun', 'import-law', 'src/core is pure and knows no runtime')
      : []),
    ...(found.room.startsWith('gateway-')
      ? findNodes(path, text, isSocket, 'import-law', 'only relay uses sockets; take what they do as an argument')
      : []),
    ...(found.room === 'app'
      ? []
      : findNodes(path, text, isComputedImport, 'import-law', 'a computed import hides what it sees; name the module')),
  ]
}

function mayImport(path: string, specifier: string, sight: Sight, domain: string | undefined): boolean {
  if (!specifier.startsWith('.')) {
    return !isForeignDriver(path, specifier) && sight.packages.some((name) => new Bun.Glob(name).match(specifier))
  }
  const target = posix.normalize(posix.join(posix.dirname(path), specifier))
  return sight.files.some((pattern) => matchesFile(pattern, target, domain))
}

function matchesFile(pattern: string, target: string, domain: string | undefined): boolean {
  if (domain === undefined) return new Bun.Glob(pattern).match(target)
  const own = `src/domains/${domain}/`
  if (pattern === pure) return target.startsWith(own) && findRoom(target)?.room === 'rules'
  if (pattern.startsWith('own/')) return new Bun.Glob(pattern.replace('own/', own)).match(target)
  if (!pattern.startsWith('below/')) return new Bun.Glob(pattern).match(target)
  const others = (below[domain] ?? []).filter((other) => other !== domain)
  return others.some((other) => new Bun.Glob(pattern.replace('below/', `src/domains/${other}/`)).match(target))
}

/** Only src/db imports a database driver. */
function isForeignDriver(path: string, specifier: string): boolean {
  return specifier === 'bun:sqlite' && !path.startsWith('src/db/')
}

function checkDrivers(path: string, text: string): Violation[] {
  if (path.startsWith('src/db/')) return []
  return findNodes(path, text, isDriver, 'driver', 'only src/db imports a database driver')
}

/** `Bun.SQL`, `Bun.sql` or `Bun.postgres`, or one of them imported from `bun`. */
function isDriver(node: Node): boolean {
  if (node.type !== 'ImportSpecifier') return /^Bun\.(?:SQL|sql|postgres)$/.test(chainOf(node))
  const isOfBun = specifierOf(node.parent ?? node)?.['value'] === 'bun'
  return isOfBun && /^(?:SQL|sql|postgres)$/.test(nameOf(childOf(node, 'imported')))
}
