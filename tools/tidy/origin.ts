import { type Files, lineAt, type Violation } from './source.ts'

const machinePath = /(?:^|[^A-Za-z0-9_.])\/(?:work|farm|root)\/[A-Za-z.]/gm
const registry = /\bregistry\.(?:npmjs|yarnpkg)\.|https?:\/\/[^\s"'/]*\bregistry\b[^\s"'/]*\//g

/** Refuses paths of the development machine and names of package registries. */
export function checkOrigin(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => [
    ...findInText(path, text, machinePath, 'machine-path', 'this path exists on one machine only'),
    ...findInText(path, text, registry, 'registry', 'packages may come from any registry; name none'),
    ...checkPackageSource(path, text),
  ])
}

function checkPackageSource(path: string, text: string): Violation[] {
  const name = path.split('/').at(-1)
  const explanation = 'packages may come from any registry; name none'
  if (name === 'package-lock.json') return findInText(path, text, /"resolved":\s*"https?:/g, 'registry', explanation)
  if (name === '.npmrc') return findInText(path, text, /^\s*(?:@[^:]+:)?registry\s*=/gm, 'registry', explanation)
  return []
}

function findInText(path: string, text: string, pattern: RegExp, rule: string, explanation: string): Violation[] {
  return [...text.matchAll(pattern)].map((found) => {
    const at = found.index + (found[0].startsWith('\n') ? 1 : 0)
    return { path, line: lineAt(text, at), rule, explanation }
  })
}
