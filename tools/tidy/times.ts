import { chainOf, childOf, type Files, findNodes, isShipped, type Node, nameOf, type Violation } from './source.ts'

/** A name of an instant that ends in the unit of a duration. */
const instantInMs =
  /(?:[sS]tarted|[bB]egan|[uU]ntil|[eE]xpires|[aA]sked|[hH]eard|[cC]reated|[dD]eadline|[fF]illed|[mM]issed|^[lL]ast(?:[A-Z]\w*)?)Ms$/
const durations = new Set(['timeout', 'delay', 'interval', 'ttl', 'duration', 'elapsed', 'pause'])
const instants = new Set(['until', 'since', 'deadline', 'expires', 'expiry', 'started', 'began'])

/** The name that a variable, a parameter or a property of a type declares; empty for any other node. */
function declaredName(node: Node): string {
  const isProperty = node.type === 'TSPropertySignature' || node.type === 'PropertyDefinition'
  // A property that is not readonly has the name that a library gives it.
  if (isProperty) return node['readonly'] === true ? nameOf(childOf(node, 'key')) : ''
  if (node.type !== 'Identifier') return ''
  const isVariable = node.parent?.type === 'VariableDeclarator' && childOf(node.parent, 'id') === node
  return isVariable || childOf(node, 'typeAnnotation') !== undefined ? nameOf(node) : ''
}

const isNumber = (node: Node): boolean =>
  childOf(childOf(node, 'typeAnnotation'), 'typeAnnotation')?.type === 'TSNumberKeyword'

function readsClock(node: Node): boolean {
  const init = childOf(node, 'init')
  return node.type === 'VariableDeclarator' && init?.type === 'CallExpression'
    ? /^(?:Date\.now|performance\.now|(?:.+\.)?clock)$/.test(chainOf(childOf(init, 'callee')))
    : false
}

const rules: readonly { readonly matches: (node: Node) => boolean; readonly explanation: string }[] = [
  {
    matches: (node) => instantInMs.test(declaredName(node)),
    explanation: 'an instant ends in At; Ms is for durations',
  },
  {
    matches: (node) => durations.has(declaredName(node)) && isNumber(node),
    explanation: 'a duration ends in its unit: Ms, Seconds, Days',
  },
  { matches: (node) => instants.has(declaredName(node)) && isNumber(node), explanation: 'an instant ends in At' },
  {
    matches: (node) => readsClock(node) && !/(?:At|Ms)$/.test(nameOf(childOf(node, 'id'))),
    explanation: 'a reading of a clock ends in At, or in Ms while it is the present time',
  },
]

/** The name of an instant ends in `At`, the name of a duration in `Ms`. */
export function checkTimes(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) =>
    isShipped(path) ? rules.flatMap((rule) => findNodes(path, text, rule.matches, 'time-name', rule.explanation)) : [],
  )
}
