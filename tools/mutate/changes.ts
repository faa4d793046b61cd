import { parseSync } from 'oxc-parser'
import { findSqlChanges, isSql } from './sql.ts'

/** One mutation of a source file: `text` replaces the characters from `at` to `end`. */
export type Change = {
  readonly path: string
  readonly at: number
  readonly end: number
  readonly text: string
  /** The name of the mutation operator, such as `throw removed`. */
  readonly kind: string
}

type Edit = Omit<Change, 'path'>
type Node = { readonly type: string; readonly start: number; readonly end: number; readonly [part: string]: unknown }

/** The mutations of a comparison: the boundary moves by one, or the direction is reversed. */
const turned: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
}
const opposite: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '+=': '-=',
  '-=': '+=',
  '&&': '||',
  '||': '&&',
}
/** Schema methods that set a limit, as in `z.string().max(64)`. */
const limits = new Set(['max', 'min', 'length', 'int', 'positive', 'nonnegative', 'regex', 'refine', 'strict'])
/** Properties with text for people. A mutation of it changes no behaviour. */
const prose = new Set(['description', 'summary', 'example', 'examples', 'title', 'explanation'])
const proseCalls = new Set(['openapi', 'meta', 'describe'])
/** Properties that hold examples in a `shapes` file. */
const exampleParts = new Set(['request', 'details', 'answer', 'response'])

/** Every mutation that can change behaviour. Types, messages, descriptions and log calls are skipped. */
export function findChanges(path: string, source: string): Change[] {
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`)
  const finder = new Finder(path, source)
  finder.visit(program as unknown as Node)
  return finder.found.map((edit) => ({ path, ...edit }))
}

export function apply(source: string, change: Change): string {
  return source.slice(0, change.at) + change.text + source.slice(change.end)
}

class Finder {
  readonly found: Edit[] = []
  readonly source: string
  readonly isShapes: boolean
  readonly isDomain: boolean

  constructor(path: string, source: string) {
    this.source = source
    this.isShapes = /\/shapes[^/]*\.ts$/.test(path)
    this.isDomain = path.startsWith('src/domains/')
  }

  visit(node: Node): void {
    if (this.isLeftAlone(node)) return
    this.look(node)
    for (const [name, part] of Object.entries(node)) {
      if (name === 'typeAnnotation' || name === 'typeArguments' || name === 'typeParameters') continue
      // The arguments of a refusal are its message.
      if (node.type === 'ThrowStatement') continue
      // The schema is visited, the arguments of its `.meta()` or `.describe()` are not.
      if (name === 'arguments' && proseCalls.has(this.textOf((node['callee'] as Node)['property']))) continue
      // A loop that counts in the other direction never ends.
      if (node.type === 'ForStatement' && name === 'update') continue
      for (const child of Array.isArray(part) ? part : [part]) if (isNode(child)) this.visit(child)
    }
  }

  private isLeftAlone(node: Node): boolean {
    if (/^(?:Import|ExportAll)/.test(node.type)) return true
    if (node.type.startsWith('TS')) return !/^TS(?:As|Satisfies|NonNull)/.test(node.type)
    if (node.type === 'Property') {
      const key = this.textOf(node['key'])
      return prose.has(key) || (this.isShapes && exampleParts.has(key))
    }
    if (node.type === 'NewExpression') return /(?:Error|Fault|Refusal)$/.test(this.textOf(node['callee']))
    if (node.type === 'VariableDeclarator') return this.isShapes && /[eE]xample/.test(this.textOf(node['id']))
    if (node.type === 'CallExpression') return this.isTextCall(node)
    if (node.type === 'TemplateLiteral') return /[a-z] [a-z]/.test(this.textOf(node)) && !isSql.test(this.textOf(node))
    return this.isDomain && isGuard(node) && /throw new Error\(/.test(this.textOf(node['consequent']))
  }

  /** A log call, or a field of a `shapes` file with its description and example. */
  private isTextCall(call: Node): boolean {
    const callee = this.textOf(call['callee'])
    if (/\blog\s*(?:\.\s*\w+|\[\w+\])?$/i.test(callee)) return true
    const [first] = call['arguments'] as Node[]
    return this.isShapes && first?.type === 'Literal' && /\w \w+ /.test(String(first['value']))
  }

  private look(node: Node): void {
    switch (node.type) {
      case 'BinaryExpression':
      case 'AssignmentExpression':
        return this.lookAtOperator(node)
      case 'LogicalExpression':
        return this.lookAtOperator(node)
      case 'IfStatement':
      case 'ConditionalExpression':
        // A guard that is always true refuses every call, which any test finds. Only `false` is tried.
        if (!isGuard(node)) this.put(node['test'] as Node, 'true', 'condition forced')
        return this.put(node['test'] as Node, 'false', 'condition forced')
      case 'WhileStatement':
        return this.put(node['test'] as Node, 'false', 'condition forced')
      case 'ReturnStatement':
        return this.negate(node['argument'])
      case 'ArrowFunctionExpression':
        return this.negate(node['body'])
      case 'UnaryExpression':
        if (node['operator'] === '-') this.put(node, this.textOf(node['argument']), 'sign changed')
        return
      case 'ThrowStatement':
        return this.put(node, ';', 'throw removed')
      case 'ExpressionStatement':
        return this.lookAtStatement(node)
      case 'CallExpression':
        return this.lookAtCall(node)
      case 'Literal':
        return this.lookAtLiteral(node)
      case 'TemplateElement':
        return this.lookAtSql(node)
      default:
    }
  }

  private lookAtOperator(node: Node): void {
    const left = node['left'] as Node
    const right = node['right'] as Node
    const operator = String(node['operator'])
    const at = left.end + this.source.slice(left.end, right.start).indexOf(operator)
    const operators = { at, end: at + operator.length }
    for (const text of turned[operator] ?? []) this.found.push({ ...operators, text, kind: 'comparison turned' })
    const other = opposite[operator]
    if (other === undefined || isText(left) || isText(right)) return
    const kind = node.type === 'LogicalExpression' ? 'and/or swapped' : 'arithmetic changed'
    this.found.push({ ...operators, text: other, kind })
  }

  private negate(value: unknown): void {
    if (!isNode(value)) return
    const isTruth =
      value.type === 'LogicalExpression'
        ? value['operator'] !== '??'
        : (value.type === 'BinaryExpression' && String(value['operator']) in turned) ||
          (value.type === 'UnaryExpression' && value['operator'] === '!')
    if (isTruth) this.put(value, `!(${this.textOf(value)})`, 'answer negated')
  }

  private lookAtStatement(node: Node): void {
    const expression = node['expression'] as Node
    const call = expression.type === 'AwaitExpression' ? (expression['argument'] as Node) : expression
    if (call.type === 'CallExpression' && !this.isLeftAlone(call)) this.put(node, ';', 'statement removed')
  }

  private lookAtCall(node: Node): void {
    const callee = node['callee'] as Node
    if (callee.type !== 'MemberExpression') return
    const object = callee['object'] as Node
    const property = callee['property'] as Node
    const name = this.textOf(property)
    if (this.textOf(object) === 'Math' && (name === 'min' || name === 'max')) {
      this.put(property, name === 'min' ? 'max' : 'min', 'limit turned')
      return
    }
    const isSchema = /^z\b|\bz\s*\.|[sS]chema|[sS]hape/.test(this.textOf(object))
    if (isSchema && limits.has(name))
      this.found.push({ at: object.end, end: node.end, text: '', kind: 'limit removed' })
  }

  private lookAtLiteral(node: Node): void {
    const value = node['value']
    // No test can find a difference of 1 ms in a duration; a test can find a duration ten times as long.
    if (typeof value === 'number' && value >= 10 && this.isDuration(node)) {
      return this.put(node, String(value * 10), 'ten times as long')
    }
    if (typeof value === 'boolean') this.put(node, String(!value), 'flag turned')
    if (typeof value === 'bigint') for (const by of [1n, -1n]) this.put(node, `${value + by}n`, 'number off by one')
    if (typeof value === 'number' && Number.isSafeInteger(value)) {
      for (const by of [1, -1]) this.put(node, String(value + by), 'number off by one')
    }
    if (typeof value === 'string') this.lookAtSql(node)
  }

  /** The range of a template element may include its delimiters, which are not SQL. */
  private lookAtSql(node: Node): void {
    const whole = this.textOf(node)
    const at = node.start + (/^[`'"}]/.exec(whole)?.[0].length ?? 0)
    const end = node.end - (/(?:\$\{|[`'"])$/.exec(whole)?.[0].length ?? 0)
    for (const edit of findSqlChanges(this.source.slice(at, end))) {
      this.found.push({ ...edit, at: at + edit.at, end: at + edit.end })
    }
  }

  private isDuration(node: Node): boolean {
    const from = this.source.lastIndexOf('\n', node.start) + 1
    return /Ms\s*[=:]/.test(this.source.slice(from, node.start))
  }

  private put(node: Node, text: string, kind: string): void {
    this.found.push({ at: node.start, end: node.end, text, kind })
  }

  private textOf(node: unknown): string {
    return isNode(node) ? this.source.slice(node.start, node.end) : ''
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

function isText(node: Node): boolean {
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node['value'] === 'string')
}

function isGuard(node: Node): boolean {
  if (node.type !== 'IfStatement') return false
  const then = node['consequent'] as Node
  const first = then.type === 'BlockStatement' ? (then['body'] as Node[])[0] : then
  return first !== undefined && /^(?:Throw|Return|Continue|Break)Statement$/.test(first.type)
}
