import {
  chainOf,
  childOf,
  childrenOf,
  type Files,
  isCode,
  isTest,
  lineAt,
  type Node,
  type Prose,
  parse,
  toText,
  type Violation,
} from './source.ts'

/** Words that hide the actor or the mechanism. CONTRIBUTING.md has the rule. */
const banned =
  /\b(?:whoever|somebody|nobody|anybody|everybody|anew|he|him|his|himself|stands?|hears? of|heard of|(?:is|are|was|were|be) told|go(?:es)? on|went on)\b|(?:^|[.:;(]\s+)what (?:is|are|was|were)\b/i
/** The first word of a title that is a fragment, because its subject is in the `describe` around it. */
const fragment =
  /^(?:that|which|who|whose|of|in|on|at|by|for|from|with|without|to|into|until|unless|after|before|while|when|where|as|if|and|or|but|not|is|are|was|were|has|have|can|cannot|may|must|does|do|neither|nor)\b/i
/** Statements are no sentences. */
const statement = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE)\b/
/** Texts that a reader of the product never sees: they plant violations of this rule. */
const planted = /^tools\/tidy\/prose(?:\.test)?\.ts$/

/** Comments, test titles, messages and docs name the actor, the mechanism and the value in the field's words. */
export function checkProse(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (path.endsWith('.md')) return path === 'CHANGELOG.md' ? [] : findBanned(path, text, 1)
    if (!isCode(path) || planted.test(path)) return []
    const { comments, literals, nodes } = parse(path, text)
    const titles = isTest(path) ? nodes.flatMap((node) => titleOf(node) ?? []) : []
    const messages = isTest(path) || !path.startsWith('src/') ? [] : literals.filter(isMessage)
    return [
      ...[...comments, ...messages].flatMap((each) => findBanned(path, each.text, lineAt(text, each.at))),
      ...titles.flatMap(({ title, node }) => checkTitle(path, title, lineAt(text, node.start))),
    ]
  })
}

function findBanned(path: string, text: string, firstLine: number): Violation[] {
  return text.split('\n').flatMap((line, index) => {
    const found = banned.exec(line.replace(/^[\s*]+/, '').replace(/`[^`]*`|"[^"]*"/g, ''))
    return found === null
      ? []
      : [toViolation(path, firstLine + index, 'banned-word', `"${found[0].trim()}" hides the actor`)]
  })
}

function checkTitle(path: string, title: string, line: number): Violation[] {
  const isFragment = fragment.test(title) || !title.includes(' ')
  return [
    ...findBanned(path, title, line),
    ...(isFragment ? [toViolation(path, line, 'title', `"${title}" is not a sentence with a subject`)] : []),
  ]
}

const toViolation = (path: string, line: number, rule: string, explanation: string): Violation => ({
  path,
  line,
  rule,
  explanation,
})

/** A text of three words or more is a sentence for people. */
const isMessage = ({ text }: Prose): boolean => text.trim().split(/\s+/).length > 2 && !statement.test(text)

/** The title of a call of `test` or `it`, also of `test.each(…)(title, …)`. */
function titleOf(node: Node): { readonly title: string; readonly node: Node } | undefined {
  if (node.type !== 'CallExpression') return undefined
  const callee = childOf(node, 'callee')
  const chain = chainOf(callee?.type === 'CallExpression' ? childOf(callee, 'callee') : callee)
  const [first] = childrenOf(node, 'arguments')
  const title = toText(first)
  return /^(?:test|it)(?:\.each)?$/.test(chain) && title !== undefined ? { title, node } : undefined
}
