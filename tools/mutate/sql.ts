/** A change within one SQL string; offsets count from the string's start. */
type SqlEdit = { readonly at: number; readonly end: number; readonly text: string; readonly kind: string }

type Rule = { readonly pattern: RegExp; readonly text: string | ((found: string) => string); readonly kind: string }

export const isSql =
  /\b(?:SELECT|INSERT\s+INTO|UPDATE|DELETE\s+FROM|WHERE|VALUES|ORDER\s+BY|LIMIT|FOR\s+UPDATE|AND|IS (?:NOT )?NULL)\b/

/** A term ends before the next keyword, bracket or line. It may contain brackets with one level inside. */
const ends = String.raw`\b(?:AND|OR|ORDER|GROUP|LIMIT|FOR|RETURNING|UNION|HAVING)\b`
const term = String.raw`(?:(?!${ends})(?:\((?:[^()]|\([^()]*\))*\)|'[^'\n]*'|[^()\n\`'"]))+`

/** The condition keeps its parameters: PostgreSQL refuses a parameter whose type it cannot infer. */
const alwaysTrue = (found: string) => `(${found} OR 1 = 1)`

const rules: readonly Rule[] = [
  {
    pattern: new RegExp(String.raw`(?<=\b(?:AND|WHERE)\s+)${term}(?=$|[^(])`, 'g'),
    text: alwaysTrue,
    kind: 'SQL condition removed',
  },
  { pattern: /(?<=\s)<(?=\s)/g, text: '<=', kind: 'SQL comparison turned' },
  { pattern: /(?<=\s)<=(?=\s)/g, text: '<', kind: 'SQL comparison turned' },
  { pattern: /(?<=\s)>(?=\s)/g, text: '>=', kind: 'SQL comparison turned' },
  { pattern: /(?<=\s)>=(?=\s)/g, text: '>', kind: 'SQL comparison turned' },
  { pattern: /(?<=\s)<>(?=\s)/g, text: '=', kind: 'SQL comparison turned' },
  { pattern: /(?<=\s)\+(?=\s)/g, text: '-', kind: 'SQL sign changed' },
  { pattern: /(?<=\s)-(?=\s)/g, text: '+', kind: 'SQL sign changed' },
  { pattern: /\bIS NULL\b/g, text: 'IS NOT NULL', kind: 'SQL condition turned' },
  { pattern: /\bIS NOT NULL\b/g, text: 'IS NULL', kind: 'SQL condition turned' },
  { pattern: /\bNOT EXISTS\b/g, text: 'EXISTS', kind: 'SQL condition turned' },
  { pattern: /\bDESC\b/g, text: 'ASC', kind: 'SQL order turned' },
  { pattern: /\bmax\(/gi, text: 'min(', kind: 'SQL limit turned' },
  { pattern: /\bmin\(/gi, text: 'max(', kind: 'SQL limit turned' },
  { pattern: /\bOR\b/g, text: 'AND', kind: 'SQL and/or swapped' },
]

/** Changes to a statement's conditions, order, signs and limits. A text without SQL keywords has none. */
export function findSqlChanges(text: string): SqlEdit[] {
  if (!isSql.test(text)) return []
  return rules.flatMap(({ pattern, text: put, kind }) =>
    [...text.matchAll(pattern)].flatMap((found) => {
      const kept = found[0].trimEnd()
      // The rest of this term is in a template substitution, so it cannot be put into brackets.
      if (typeof put !== 'string' && /\b(?:IN|BETWEEN|LIKE|NOT|EXISTS|=|<|>)$/.test(kept)) return []
      if (/\bBETWEEN\s+\S+\s+AND\s+$/.test(text.slice(0, found.index))) return []
      const end = found.index + kept.length
      return [{ at: found.index, end, text: typeof put === 'string' ? put : put(kept), kind }]
    }),
  )
}
