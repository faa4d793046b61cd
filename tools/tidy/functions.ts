import listed from './long-functions.json'
import { childOf, type Files, isShipped, lineAt, type Node, nameOf, parse, type Violation } from './source.ts'

const maxLines = 60
const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** `path name` of each longer function that only wires things together: at most 20. */
const knownLong: ReadonlySet<string> = new Set(listed)

/** A function has at most 60 lines, except those of long-functions.json. */
export function checkFunctions(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (!isShipped(path)) return []
    return parse(path, text).nodes.flatMap((node) => {
      if (!functionTypes.has(node.type)) return []
      const line = lineAt(text, node.start)
      const lines = lineAt(text, node.end - 1) - line + 1
      if (lines <= maxLines) return []
      const name = nameOfFunction(node) || 'a function'
      const explanation = `${name} has ${lines} lines; ${maxLines} are allowed`
      return knownLong.has(`${path} ${name}`) ? [] : [{ path, line, rule: 'function-length', explanation }]
    })
  })
}

/** The name in its declaration, of its variable, or of the property or method that it is. */
function nameOfFunction(node: Node): string {
  const { parent } = node
  return (
    nameOf(childOf(node, 'id')) ||
    (parent?.type === 'VariableDeclarator' ? nameOf(childOf(parent, 'id')) : '') ||
    (parent?.type === 'Property' || parent?.type === 'MethodDefinition' ? nameOf(childOf(parent, 'key')) : '')
  )
}
