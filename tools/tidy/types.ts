import { childOf, type Files, isShipped, lineAt, type Node, nameOf, parse, type Violation } from './source.ts'

const declarations = new Set([
  'TSTypeAliasDeclaration',
  'TSInterfaceDeclaration',
  'ClassDeclaration',
  'TSEnumDeclaration',
])

/** Type-only code and generated code, where names repeat those of the API. */
const isGenerated = (path: string): boolean =>
  /^src\/console\/client\/(?:customer|operator|shapes|sign-in)\.ts$/.test(path)

/** An exported type name is defined once in `src`: one name for one concept. */
export function checkTypeNames(files: Files): Violation[] {
  const first = new Map<string, string>()
  return [...files].flatMap(([path, text]) => {
    if (!isShipped(path) || isGenerated(path)) return []
    return parse(path, text).nodes.flatMap((node) => {
      if (!declarations.has(node.type) || node.parent?.type !== 'ExportNamedDeclaration') return []
      const name = nameOf(childOf(node, 'id'))
      const known = first.get(name)
      if (known === undefined) first.set(name, path)
      if (known === undefined) return []
      const explanation = `${name} is also defined in ${known}`
      return [{ path, line: lineAt(text, node.start), rule: 'type-name', explanation }]
    })
  })
}

/** Calls whose results are unparsed: rows, JSON, files, sockets. */
const unparsed = /^(?:all|one|find|get|rows|first|query|parse|json|text)$/

/** A cast of a row, of parsed JSON or of bytes that came from outside: parse it instead. */
export function checkCasts(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (!isShipped(path)) return []
    return parse(path, text).nodes.flatMap((node) => {
      if (node.type !== 'TSAsExpression' || isConst(node) || !isFromOutside(childOf(node, 'expression'))) return []
      const explanation = 'parse what came from a row, a file or a socket; do not cast it'
      return [{ path, line: lineAt(text, node.start), rule: 'cast', explanation }]
    })
  })
}

const isConst = (node: Node): boolean => nameOf(childOf(childOf(node, 'typeAnnotation'), 'typeName')) === 'const'

/** Whether an expression is a member of a value called `row`, or the result of reading or parsing. */
function isFromOutside(node: Node | undefined): boolean {
  if (node === undefined) return false
  if (node.type === 'AwaitExpression') return isFromOutside(childOf(node, 'argument'))
  if (node.type === 'MemberExpression') {
    const object = childOf(node, 'object')
    return /^rows?$/i.test(nameOf(object)) || isFromOutside(object)
  }
  if (node.type !== 'CallExpression') return /^rows?$/i.test(nameOf(node))
  return unparsed.test(nameOf(childOf(childOf(node, 'callee'), 'property')))
}
