import { posix } from 'node:path'
import { below, findRoom, law, pure, type Sight } from './law.ts'
import { type Files, findInCode, isCode, isTest, lineAt, takeApart, type Violation } from './source.ts'

export type Import = { readonly specifier: string; readonly line: number }

const opensImport = /(?:\bfrom|\bimport|\bimport\s*\(|\brequire\s*\(|\brequire\.resolve\s*\()\s*['"`]$/

/** Every module a file names: import, export from, import type, import() and require(). */
export function findImports(text: string): Import[] {
  const { code, literals } = takeApart(text)
  const named = literals.filter((literal) => opensImport.test(code.slice(Math.max(0, literal.at - 200), literal.at)))
  return named.map((literal) => ({ specifier: literal.text, line: lineAt(text, literal.at) }))
}

export function checkImports(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    const isBound = isCode(path) && !isTest(path) && path.startsWith('src/')
    return isBound ? checkFile(path, text) : []
  })
}

const sockets = /\bBun\s*\.\s*(?:listen|connect|udpSocket)\b/

function checkFile(path: string, text: string): Violation[] {
  const place = findRoom(path)
  const violation = (line: number, explanation: string): Violation => ({ path, line, rule: 'import-law', explanation })
  if (place === undefined)
    return [violation(1, 'this folder has no room in tools/tidy/law.ts; give it one or move the file')]
  if (place.domain !== undefined && !(place.domain in below)) {
    return [violation(1, `the domain ${place.domain} has no layer in tools/tidy/law.ts`)]
  }
  const sight = law[place.room]
  const forbidden = findImports(text).filter((each) => !mayImport(path, each.specifier, sight, place.domain))
  return [
    ...forbidden.map((each) => violation(each.line, `${place.room} may not import ${each.specifier}`)),
    ...checkDrivers(path, text),
    ...(place.room === 'core'
      ? findInCode(path, text, /\bBun\b/, 'import-law', 'src/core is pure and knows no runtime')
      : []),
    ...(place.room.startsWith('gateway-')
      ? findInCode(path, text, sockets, 'import-law', 'only relay uses sockets; take what they do as an argument')
      : []),
    ...(place.room === 'app'
      ? []
      : findInCode(
          path,
          text,
          /\bimport\s*\(\s*(?!['"`\s])/,
          'import-law',
          'a computed import hides what it sees; name the module',
        )),
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

/** A driver known in one place can be changed in one place. */
function isForeignDriver(path: string, specifier: string): boolean {
  return specifier === 'bun:sqlite' && !path.startsWith('src/db/')
}

function checkDrivers(path: string, text: string): Violation[] {
  if (path.startsWith('src/db/')) return []
  // Strings are blanked in code, so the module `bun` is three spaces between quotes.
  const driver =
    /\bBun\s*\.\s*(?:SQL|sql|postgres)\b|\bimport\s*(?:type\s*)?\{[^}]*\b(?:SQL|sql|postgres)\b[^}]*\}\s*from\s*['"] {3}['"]/
  return findInCode(path, text, driver, 'driver', 'only src/db knows a database driver')
}
