import { posix } from 'node:path'
import { findImports } from './imports.ts'
import { type Files, isCode, isTest, type Violation } from './source.ts'

/** Files that import each other in a circle, type imports included. Neither can be read without the other. */
export function checkCycles(files: Files): Violation[] {
  const sources = [...files.keys()].filter(
    (path) => isCode(path) && !isTest(path) && /^(?:src|tools|bench)\//.test(path),
  )
  const imports = new Map(sources.map((path) => [path, importedFiles(files, path)]))
  return findCycles(imports).map((cycle) => {
    const path = cycle[0] ?? ''
    return { path, line: 1, rule: 'cycle', explanation: `these files import each other: ${cycle.join(', ')}` }
  })
}

function importedFiles(files: Files, path: string): string[] {
  return findImports(path, files.get(path) ?? '')
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => posix.normalize(posix.join(posix.dirname(path), specifier)))
    .filter((target) => target !== path && files.has(target))
}

/** Strongly connected components of more than one file (Tarjan), each sorted. */
export function findCycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const cycles: string[][] = []

  function visit(path: string): number {
    order.set(path, order.size)
    lowest.set(path, order.size - 1)
    open.push(path)
    for (const target of imports.get(path) ?? []) {
      const reached = order.has(target) ? (open.includes(target) ? order.get(target) : undefined) : visit(target)
      lowest.set(path, Math.min(lowest.get(path) ?? 0, reached ?? Number.POSITIVE_INFINITY))
    }
    const own = lowest.get(path) ?? 0
    if (own === order.get(path)) {
      const cycle = open.splice(open.indexOf(path))
      if (cycle.length > 1) cycles.push(cycle.toSorted())
    }
    return own
  }

  for (const path of imports.keys()) if (!order.has(path)) visit(path)
  return cycles
}
