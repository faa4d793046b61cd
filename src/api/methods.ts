import { docsEntrances, docsPaths } from './docs.ts'
import type { Operation } from './operation.ts'

export const probes: readonly string[] = ['/healthz', '/readyz']

/** A path as the router writes it. */
export const toPattern = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

/** The methods that each path knows, for the answer to the others. */
export function methodsByPath(
  apis: readonly { readonly base: string; readonly operations: readonly Operation[] }[],
  plain: readonly { readonly path: string; readonly takes?: 'GET and POST' | 'POST' }[],
): Map<string, string[]> {
  const methods = new Map<string, string[]>()
  for (const api of apis) {
    for (const operation of api.operations) {
      const path = api.base + toPattern(operation.path)
      methods.set(path, [...(methods.get(path) ?? []), ...(operation.method === 'GET' ? ['GET', 'HEAD'] : ['POST'])])
    }
    methods.set(`${api.base}/openapi.json`, ['GET', 'HEAD'])
  }
  for (const path of [...probes, ...docsPaths, ...docsEntrances]) {
    methods.set(path, ['GET', 'HEAD'])
  }
  for (const { path, takes } of plain) {
    const reads = takes === 'POST' ? [] : ['GET', 'HEAD']
    methods.set(path, [...reads, ...(takes === undefined ? [] : ['POST'])])
  }
  return methods
}
