import { childOf, type Files, isShipped, lineAt, type Node, nameOf, parse, type Violation } from './source.ts'

const maxLines = 60
const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Composition roots and factories that are lists of functions: `path name`. */
const wiring: ReadonlySet<string> = new Set([])

/** A function has at most 60 lines. The functions of `wiring`, which only connect others, may be longer. */
export function checkFunctions(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (!isShipped(path)) return []
    return parse(path, text).nodes.flatMap((node) => {
      if (!functionTypes.has(node.type)) return []
      const line = lineAt(text, node.start)
      const lines = lineAt(text, node.end - 1) - line + 1
      const name = nameOfFunction(node)
      if (lines <= maxLines || wiring.has(`${path} ${name}`)) return []
      const explanation = `${name || 'a function'} has ${lines} lines; ${maxLines} are allowed`
      return [{ path, line, rule: 'function-length', explanation, isWarning: true as const }]
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
