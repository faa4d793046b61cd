import {
  chainOf,
  childOf,
  childrenOf,
  type Files,
  findNodes,
  isCode,
  isTest,
  lineAt,
  type Node,
  nameOf,
  type Prose,
  parse,
  type Violation,
} from './source.ts'

const partial =
  /^(?:test|it|describe)\.(?:\w+\.)*(?:only|skip|todo|failing|if|skipIf|todoIf)$|^(?:xtest|xit|xdescribe|fit|fdescribe)$/
const unfinished = /\b(?:TODO|FIXME|XXX)\b/

/** Tests of real tunnels cannot run on every machine. Only this file may skip them; the run's summary repeats it. */
const announced = 'test/harness/netns-support.ts'

const isPartial = (node: Node): boolean =>
  (node.type === 'MemberExpression' || node.parent?.type === 'CallExpression') && partial.test(chainOf(node))

function isHollow(node: Node): boolean {
  const [argument] = childrenOf(node, 'arguments')
  return node.type === 'CallExpression' && chainOf(childOf(node, 'callee')) === 'expect' && argument?.['value'] === true
}

/** An expectation about a promise that the test does not await: the test may end before it fails. */
function isUnawaited(node: Node): boolean {
  if (node.type !== 'MemberExpression' || !/^(?:rejects|resolves)$/.test(nameOf(childOf(node, 'property'))))
    return false
  let outer = node.parent
  while (outer?.type === 'MemberExpression' || outer?.type === 'CallExpression') outer = outer.parent
  return outer?.type === 'ExpressionStatement'
}

/** Refuses tests that do not run or cannot fail, because the summary counts them as passed. */
export function checkHonesty(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (path.endsWith('.sql')) return findUnfinished(path, text, [{ at: 0, end: text.length, text }])
    if (!isCode(path)) return []
    const found = findUnfinished(path, text, parse(path, text).comments)
    if (!isTest(path) && !path.startsWith('test/')) return found
    const isAnnounced = path === announced
    return [
      ...found,
      ...(isAnnounced ? [] : findNodes(path, text, isPartial, 'partial-test', 'every test runs; mend it or remove it')),
      ...findNodes(path, text, isHollow, 'hollow-test', 'this expectation cannot fail; expect something of the result'),
      ...findNodes(
        path,
        text,
        isUnawaited,
        'hollow-test',
        'the test may end before it fails; expect it of await failureOf(…)',
      ),
    ]
  })
}

function findUnfinished(path: string, text: string, comments: readonly Prose[]): Violation[] {
  return comments.flatMap((comment) => {
    const found = unfinished.exec(comment.text)
    if (found === null) return []
    const line = lineAt(text, comment.at + found.index)
    return [{ path, line, rule: 'unfinished', explanation: 'finish it, or say why it is so' }]
  })
}
