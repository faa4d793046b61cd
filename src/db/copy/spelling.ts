/**
 * The two engines spell a row's columns as literals each in its own way in `row_history`: SQLite writes 5 and X'0A',
 * PostgreSQL '5' and E'\\x0a'. Both say the same when the values are the same.
 */
export function saysTheSame(one: string, other: string): boolean {
  const [first, second] = [valuesOf(one), valuesOf(other)]
  return (
    first !== undefined && first.length === second?.length && first.every((value, index) => value === second[index])
  )
}

/** A literal of either engine at this place: nothing, sealed, a number, bytes, or a text. */
const literal = /\s*(?:(NULL)|(sealed)|(-?\d+)|X'([0-9A-Fa-f]*)'|E'((?:[^'\\]|''|\\.)*)'|'((?:[^']|'')*)')(?:,|$)/sy

/** The values of a content, each as a text; undefined for what is none. */
function valuesOf(content: string): (string | null)[] | undefined {
  const values: (string | null)[] = []
  literal.lastIndex = 0
  while (literal.lastIndex < content.length) {
    const match = literal.exec(content)
    if (!match) return undefined
    values.push(valueOf(match))
    if (literal.lastIndex === content.length && content.endsWith(',')) return undefined
  }
  return values
}

function valueOf([, nothing, sealed, number, bytes, escaped, text]: RegExpExecArray): string | null {
  if (nothing !== undefined) return null
  if (bytes !== undefined) return `\\x${bytes.toLowerCase()}`
  if (escaped !== undefined) return escaped.replace(/''/g, `'`).replace(/\\(.)/gs, '$1')
  return sealed ?? number ?? text?.replace(/''/g, `'`) ?? ''
}
