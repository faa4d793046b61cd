import { type Files, findInCode, isShipped, type Violation } from './source.ts'

/** A thing that code may not reach for by itself, and where. */
type Ban = {
  readonly rule: string
  readonly pattern: RegExp
  readonly where: (path: string) => boolean
  readonly explanation: string
}

const isDecision = (path: string) => path.startsWith('src/core/') || path.startsWith('src/domains/')
const isMoney = (path: string) => /^src\/(?:core\/money\.ts$|domains\/(?:ledger|pricing)\/)/.test(path)

const bans: readonly Ban[] = [
  {
    rule: 'environment',
    pattern:
      /\b(?:process|Bun|import\.meta)\s*\??\.\s*env\b|\bprocess\s*\[|\{[^{}]*\benv\b[^{}]*\}\s*=\s*(?:process|Bun)\b/,
    where: (path) => !path.startsWith('src/app/'),
    explanation: 'only src/app reads the environment; take the value as an argument',
  },
  {
    rule: 'clock',
    pattern:
      /\bDate\s*\.\s*now\b|\bnew\s+Date\s*\(\s*\)|\bnew\s+Date\b(?!\s*[(.])|(?<!new\s+|[.\w])Date\s*\(|\bperformance\s*\.\s*now\b|\bprocess\s*\.\s*hrtime\b|\bBun\s*\.\s*nanoseconds\b|\bTemporal\s*\.\s*Now\b/,
    where: isDecision,
    explanation: 'time is handed in, so that a test can drive it by hand',
  },
  {
    rule: 'randomness',
    pattern: /\bMath\s*\.\s*random\b|\bgetRandomValues\b|\brandomBytes\b|\brandomUUID(?:v7)?\b|\brandomInt\b/,
    where: isDecision,
    explanation: 'randomness is handed in, so that a test can repeat it',
  },
  {
    rule: 'no-floats',
    pattern: /\bparseFloat\b|\.\s*toFixed\b|\bMath\s*\.\s*(?:round|floor|ceil|trunc|fround)\b/,
    where: isMoney,
    explanation: 'money is counted in whole kopecks and never meets a float',
  },
  {
    rule: 'console',
    pattern: /\bconsole\s*\.\s*\w+/,
    where: (path) => !path.startsWith('src/cli/') && !path.startsWith('src/app/'),
    explanation: 'only src/cli and src/app print; take a log as an argument',
  },
]

export function checkAmbient(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    const held = isShipped(path) ? bans.filter((ban) => ban.where(path)) : []
    return held.flatMap((ban) => findInCode(path, text, ban.pattern, ban.rule, ban.explanation))
  })
}
