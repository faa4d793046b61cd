import { type Files, isCode, isTest, lineAt, takeApart, type Violation } from './source.ts'

const mostColumns = 120

/**
 * What is wider than a window is not read. The formatter keeps code within it; comments and texts are kept here. Two
 * things may be wider, because breaking them makes them worse: a text in a test, such as its title, and a regular
 * expression.
 */
export function checkColumns(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (!isCode(path) || !text.split('\n').some(isTooWide)) return []
    const { code, comments } = takeApart(text)
    const isComment = (at: number) => comments.some((each) => each.at <= at && at < each.at + each.text.length)
    return startsOf(text).flatMap((start) => {
      const line = text.slice(start, end(text, start))
      if (!isTooWide(line)) return []
      const kept = code.slice(start, start + line.length)
      // Whatever is neither code nor a comment was blanked: a text, or a regular expression between its slashes.
      const isText = !isComment(start + mostColumns) && kept !== line
      if (isText && (isOfTests(path) || /\/ {40,}\//.test(kept))) return []
      const explanation = `${line.length} columns; ${mostColumns} are the most`
      return [{ path, line: lineAt(text, start), rule: 'columns', explanation }]
    })
  })
}

const isTooWide = (line: string): boolean => line.length > mostColumns
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
