import { type Files, findInCode, isCode, isTest, lineAt, takeApart, type Violation } from './source.ts'

const partial =
  /\b(?:test|it|describe)\s*(?:\.\s*\w+\s*)*\.\s*(?:only|skip|todo|failing|if|skipIf|todoIf)\b|\b(?:xtest|xit|xdescribe|fit|fdescribe)\s*\(/
const hollow = /\bexpect\s*\(\s*true\s*\)/
const promise = /\b(?:TODO|FIXME|XXX)\b/

/**
 * Tests of real tunnels cannot run everywhere. This one place may leave them out: it says so, and the run's summary
 * repeats it.
 */
const announced = 'test/harness/ground.ts'

/** A test that does not run, or cannot fail, is worse than none: it is counted. */
export function checkHonesty(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (path.endsWith('.sql')) return findPromises(path, text, [{ at: 0, text }])
    if (!isCode(path)) return []
    const found = findPromises(path, text, takeApart(text).comments)
    if (!isTest(path) && !path.startsWith('test/')) return found
    return [
      ...found,
      ...(path === announced
        ? []
        : findInCode(path, text, partial, 'partial-test', 'every test runs on every change; mend it or remove it')),
      ...findInCode(path, text, hollow, 'hollow-test', 'this expectation cannot fail; expect something of the result'),
    ]
  })
}

function findPromises(path: string, text: string, comments: readonly { at: number; text: string }[]): Violation[] {
  return comments.flatMap((comment) => {
    const found = promise.exec(comment.text)
    if (found === null) return []
    const line = lineAt(text, comment.at + found.index)
    return [{ path, line, rule: 'unfinished', explanation: 'finish it, or say why it is so' }]
  })
}
