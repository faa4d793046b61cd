import { parseSync } from 'oxc-parser'

/** Each file of the project by its path from the root, with `/` between folders. */
export type Files = ReadonlyMap<string, string>

export type Violation = {
  readonly path: string
  readonly line: number
  readonly rule: string
  readonly explanation: string
  /** Shown, and does not fail the check. */
  readonly isWarning?: true
}

/** A node of the syntax tree (ESTree with TypeScript), with its parent. */
export type Node = {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly parent: Node | undefined
  readonly [part: string]: unknown
}

/** A comment, a string or the fixed text of a template. Substitutions of a template are replaced by `${}`. */
export type Prose = { readonly at: number; readonly end: number; readonly text: string }

export type Source = {
  /** All nodes, parents before their children, in the order of the text. */
  readonly nodes: readonly Node[]
  readonly comments: readonly Prose[]
  readonly literals: readonly Prose[]
}

const parsedByPath = new Map<string, { readonly text: string; readonly source: Source }>()

/** Parses a file once, however many rules read it. */
export function parse(path: string, text: string): Source {
  const known = parsedByPath.get(path)
  if (known?.text === text) return known.source
  const { program, comments, errors } = parseSync(path, text, { preserveParens: false })
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`)
  const nodes: Node[] = []
  collect(program, undefined, nodes)
  const source = {
    nodes,
    comments: comments.map(({ start, end, value }) => ({ at: start, end, text: value })),
    literals: nodes.flatMap((node) => toLiteral(node) ?? []),
  }
  parsedByPath.set(path, { text, source })
  return source
}

function collect(value: unknown, parent: Node | undefined, nodes: Node[]): void {
  if (Array.isArray(value)) for (const each of value) collect(each, parent, nodes)
  else if (isNode(value)) {
    const node = Object.assign(value, { parent })
    nodes.push(node)
    for (const name of Object.keys(value)) if (name !== 'parent') collect(value[name], node, nodes)
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

function toLiteral(node: Node): Prose | undefined {
  const text = toText(node)
  return text === undefined ? undefined : { at: node.start, end: node.end, text }
}

/** The text of a string, of an element's content or of a template; undefined for any other node. */
export function toText(node: Node | undefined): string | undefined {
  const value = node?.['value']
  if (node?.type === 'Literal' || node?.type === 'JSXText') return typeof value === 'string' ? value : undefined
  if (node?.type !== 'TemplateLiteral') return undefined
  const pieces = node['quasis'] as readonly { readonly value: { readonly raw: string } }[]
  return pieces.map((piece) => piece.value.raw).join('${}')
}

/** The child of a node by name; undefined where there is none, or a list. */
export function childOf(node: Node | undefined, name: string): Node | undefined {
  const child = node?.[name]
  return isNode(child) ? child : undefined
}

/** The children of a node in a list, such as the arguments of a call. */
export function childrenOf(node: Node | undefined, name: string): readonly Node[] {
  const children: unknown = node?.[name]
  return Array.isArray(children) ? children.filter(isNode) : []
}

/** The names of a chain such as `process.env.A` or `import.meta.env`, joined by dots. `a[b]` ends in `[]`. */
export function chainOf(node: Node | undefined): string {
  if (node === undefined) return ''
  if (node.type === 'ThisExpression') return 'this'
  if (node.type === 'ChainExpression') return chainOf(childOf(node, 'expression'))
  if (node.type === 'MetaProperty') return 'import.meta'
  if (node.type !== 'MemberExpression') return nameOf(node)
  const property = childOf(node, 'property')
  const isKnown = node['computed'] !== true || typeof property?.['value'] === 'string'
  const last = isKnown ? String(property?.['name'] ?? property?.['value']) : '[]'
  return `${chainOf(childOf(node, 'object'))}.${last}`
}

/** The name of an identifier; empty for any other node. */
export const nameOf = (node: Node | undefined): string =>
  node?.type === 'Identifier' || node?.type === 'JSXIdentifier' ? String(node['name']) : ''

export function lineAt(text: string, at: number): number {
  let line = 1
  for (let next = text.indexOf('\n'); next !== -1 && next < at; next = text.indexOf('\n', next + 1)) line += 1
  return line
}

/** Code that runs in the service: the strictest rules are about it. */
export function isShipped(path: string): boolean {
  return path.startsWith('src/') && isCode(path) && !isTest(path)
}

export function isCode(path: string): boolean {
  return /\.(?:ts|tsx|mts|js|jsx|mjs)$/.test(path)
}

export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path)
}

/** Each place of a file where a node matches. */
export function findNodes(
  path: string,
  text: string,
  matches: (node: Node) => boolean,
  rule: string,
  explanation: string,
): Violation[] {
  return parse(path, text)
    .nodes.filter(matches)
    .map((node) => ({ path, line: lineAt(text, node.start), rule, explanation }))
}
