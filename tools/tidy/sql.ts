import { type Files, isShipped, lineAt, parse, type Violation } from './source.ts'

const shouted =
  /\bSELECT\b[\s\S]*\bFROM\b|\bINSERT\s+INTO\b|\bUPDATE\b[\s\S]*\bSET\b|\bDELETE\s+FROM\b|\bCREATE\s+(?:TEMP\w*\s+)?TABLE\b/

/**
 * Lower-case SQL resembles prose, so it counts as SQL only if it also begins like a statement and has a character that
 * prose lacks.
 */
const whispered = /^\s*(?:select\b[\s\S]*\bfrom|insert\s+into|update\b[\s\S]*\bset|delete\s+from|create\s+table)\b/
const signs = /[*=$?(]/

function looksLikeSql(text: string): boolean {
  return shouted.test(text) || (whispered.test(text) && signs.test(text))
}

/** SQL is only in stores, src/db and tests. */
export function checkSql(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (!isShipped(path) || mayHoldSql(path)) return []
    const found = parse(path, text).literals.filter((literal) => looksLikeSql(literal.text))
    return found.map((literal) => ({
      path,
      line: lineAt(text, literal.at),
      rule: 'sql',
      explanation: 'SQL is written in a domain’s store, src/db or migrations only',
    }))
  })
}

function mayHoldSql(path: string): boolean {
  return path.startsWith('src/db/') || /^src\/domains\/[^/]+\/(?:[^/]+\/)?store(?:-[a-z0-9-]+)?\.ts$/.test(path)
}
