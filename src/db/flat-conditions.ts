/** A token, or what parentheses enclose. */
type Part = string | readonly Part[]

const tokenPattern = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[()]|[^\s()'"]+/g

/**
 * One text for `(a AND b) AND c` and `a AND b AND c`, and for OR likewise: PostgreSQL keeps the nesting of a
 * BETWEEN in a migration, and loses it when pg_restore parses the dump. Parentheses that decide the meaning stay.
 */
export function flattenConditions(definition: string): string {
  const parts = readParts(definition.match(tokenPattern) ?? [])
  return parts === undefined ? definition : writeParts(flatten(parts))
}

/** Undefined for parentheses that do not match. */
function readParts(tokens: readonly string[]): Part[] | undefined {
  const open: Part[][] = [[]]
  for (const token of tokens) {
    if (token === '(') open.push([])
    else if (token === ')') {
      const closed = open.pop()
      const around = open.at(-1)
      if (!closed || !around) return undefined
      around.push(closed)
    } else open.at(-1)?.push(token)
  }
  return open.length === 1 ? open[0] : undefined
}

const isConnective = (part: Part | undefined): boolean => part === 'AND' || part === 'OR'

/** The only connective of a chain; undefined for a single operand, and where CASE or a comma gives AND other bounds. */
function connectiveOf(parts: readonly Part[]): string | undefined {
  const found = new Set(parts.filter((part): part is string => typeof part === 'string' && isConnective(part)))
  const isPlain = !parts.some((part) => typeof part === 'string' && (/^CASE$/i.test(part) || part.includes(',')))
  return found.size === 1 && isPlain ? [...found][0] : undefined
}

function flatten(parts: readonly Part[]): readonly Part[] {
  const inner = parts.map((part) => (typeof part === 'string' ? part : flatten(part)))
  const connective = connectiveOf(inner)
  if (connective === undefined) return inner
  return inner.flatMap((part, index) => {
    const [before, after] = [inner[index - 1], inner[index + 1]]
    const isOperand = (index === 0 || before === connective) && (index === inner.length - 1 || after === connective)
    return typeof part !== 'string' && isOperand && connectiveOf(part) === connective ? part : [part]
  })
}

const writeParts = (parts: readonly Part[]): string =>
  parts.map((part) => (typeof part === 'string' ? part : `(${writeParts(part)})`)).join(' ')
