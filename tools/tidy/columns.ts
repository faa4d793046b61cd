import { type Files, isCode, isTest, lineAt, parse, type Violation } from './source.ts'

const maxColumns = 120

/**
 * A line has at most 120 columns. The formatter breaks code; this rule is for comments and strings. A string in a test,
 * such as its title, and a regular expression may be wider.
 */
export function checkColumns(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (!isCode(path) || !text.split('\n').some(isTooWide)) return []
    const { nodes, literals, comments } = parse(path, text)
    const regularExpressions = nodes.filter((node) => node['regex'] !== undefined)
    return startsOf(text).flatMap((start) => {
      const { length } = text.slice(start, end(text, start))
      if (length <= maxColumns) return []
      const isHere = (from: number, to: number) => from < start + length && start < to
      const isComment = comments.some((each) => each.at <= start + maxColumns && start + maxColumns < each.end)
      const isText = isOfTests(path) && !isComment && literals.some((each) => isHere(each.at, each.end))
      if (isText || regularExpressions.some((each) => isHere(each.start, each.end))) return []
      const explanation = `${length} columns; ${maxColumns} are allowed`
      return [{ path, line: lineAt(text, start), rule: 'columns', explanation }]
    })
  })
}

const isTooWide = (line: string): boolean => line.length > maxColumns
const isOfTests = (path: string): boolean => isTest(path) || path.startsWith('test/') || path.startsWith('bench/')

/** Where each line begins. */
function startsOf(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function end(text: string, start: number): number {
  const found = text.indexOf('\n', start)
  return found === -1 ? text.length : found
}
