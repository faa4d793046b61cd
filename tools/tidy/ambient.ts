import {
  chainOf,
  childOf,
  childrenOf,
  type Files,
  findNodes,
  isShipped,
  type Node,
  nameOf,
  type Violation,
} from './source.ts'

/** Something that code may use in some folders only. */
type Ban = {
  readonly rule: string
  readonly matches: (node: Node) => boolean
  readonly where: (path: string) => boolean
  readonly explanation: string
}

const isDecision = (path: string) => path.startsWith('src/core/') || path.startsWith('src/domains/')
const isMoney = (path: string) => path === 'src/core/money.ts' || /^src\/domains\/(?:ledger|pricing)\//.test(path)
const member =
  (pattern: RegExp) =>
  (node: Node): boolean =>
    node.type === 'MemberExpression' && pattern.test(chainOf(node))
const isEnvironment = member(/^(?:process|Bun|import\.meta)\.(?:env|\[\])$/)
const isClock = member(/^(?:Date\.now|performance\.now|process\.hrtime|Bun\.nanoseconds|Temporal\.Now)$/)
const isMathRandom = member(/^Math\.random$/)
const isRounding = member(/^Math\.(?:round|floor|ceil|trunc|fround)$|\.toFixed$/)

/** `const { env } = process`. */
function takesEnvironment(node: Node): boolean {
  return (
    node.type === 'VariableDeclarator' &&
    childrenOf(childOf(node, 'id'), 'properties').some((each) => nameOf(childOf(each, 'key')) === 'env') &&
    ['process', 'Bun'].includes(nameOf(childOf(node, 'init')))
  )
}

/** `new Date()`, `new Date` and `Date()`: the present time. */
function readsDate(node: Node): boolean {
  const isDate = nameOf(childOf(node, 'callee')) === 'Date'
  const isEmpty = Array.isArray(node['arguments']) && node['arguments'].length === 0
  return isDate && (node.type === 'CallExpression' || (node.type === 'NewExpression' && isEmpty))
}

const bans: readonly Ban[] = [
  {
    rule: 'environment',
    matches: (node) => isEnvironment(node) || takesEnvironment(node),
    where: (path) => !path.startsWith('src/app/'),
    explanation: 'only src/app reads the environment; take the value as an argument',
  },
  {
    rule: 'clock',
    matches: (node) => isClock(node) || readsDate(node),
    where: isDecision,
    explanation: 'take the time as an argument, so that a test can set it',
  },
  {
    rule: 'randomness',
    matches: (node) =>
      /^(?:getRandomValues|randomBytes|randomUUID(?:v7)?|randomInt)$/.test(nameOf(node)) || isMathRandom(node),
    where: isDecision,
    explanation: 'take random values as an argument, so that a test can repeat them',
  },
  {
    rule: 'no-floats',
    matches: (node) => nameOf(node) === 'parseFloat' || isRounding(node),
    where: isMoney,
    explanation: 'money is counted in whole kopecks, never in floats',
  },
  {
    rule: 'console',
    matches: member(/^console\.\w+$/),
    where: (path) => !path.startsWith('src/cli/') && !path.startsWith('src/app/'),
    explanation: 'only src/cli and src/app print; take a log as an argument',
  },
]

export function checkAmbient(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    const held = isShipped(path) ? bans.filter((ban) => ban.where(path)) : []
    return held.flatMap((ban) => findNodes(path, text, ban.matches, ban.rule, ban.explanation))
  })
}
