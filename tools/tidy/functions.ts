import { type Files, isShipped, lineAt, takeApart, type Violation } from './source.ts'

const mostLines = 60
/** An element has a line for each of its attributes, so what a component shows is longer than what it does. */
const mostLinesOfComponents = 80

/** A function of whatever form up to its parameters: `function a(`, `a(` of a record or class, or an arrow's `=> {`. */
const opensFunction =
  /\bfunction\b\s*\*?\s*(\w*)|^[ \t]+(?:(?:async|private|override|static|get|set)\s+)*\*?(\w+)(?=[(<])/gm
const notNames = new Set([
  'if',
  'for',
  'while',
  'switch',
  'catch',
  'return',
  'function',
  'super',
  'await',
  'constructor',
])

type Found = { readonly name: string; readonly at: number; readonly open: number; readonly close: number }

/**
 * A function fits a screen. A factory does not have to: it is a list of functions, each of which does. It is one when
 * it is called `create…`, or when it returns a record or list with functions in it.
 */
export function checkFunctions(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    if (!isShipped(path)) return []
    const { code } = takeApart(text)
    return [...findFunctions(code), ...findArrows(code)].flatMap((each) => {
      const lines = lineAt(code, each.close) - lineAt(code, each.at) + 1
      const most = path.endsWith('.tsx') ? mostLinesOfComponents : mostLines
      if (lines <= most || isFactory(each.name, code.slice(each.open, each.close + 1))) return []
      const explanation = `${each.name || 'a function'} has ${lines} lines; past ${most} it does not fit a screen`
      return [{ path, line: lineAt(code, each.at), rule: 'function-length', explanation }]
    })
  })
}

function findFunctions(code: string): Found[] {
  return [...code.matchAll(opensFunction)].flatMap((match) => {
    const name = match[1] ?? match[2] ?? ''
    const at = match.index + match[0].length
    if (notNames.has(name)) return []
    const parameters = code.indexOf('(', at)
    const open = parameters === -1 ? -1 : findBody(code, findClose(code, parameters) + 1)
    return open === -1 ? [] : [{ name, at: match.index + match[0].search(/\S/), open, close: findClose(code, open) }]
  })
}

function findArrows(code: string): Found[] {
  return [...code.matchAll(/=>\s*\{/g)].map((match) => {
    const open = match.index + match[0].length - 1
    const line = code.slice(code.lastIndexOf('\n', match.index) + 1, match.index)
    const name = /(?:const|let)\s+(\w+)|^\s*(\w+):/.exec(line)
    return { name: name?.[1] ?? name?.[2] ?? '', at: match.index, open, close: findClose(code, open) }
  })
}

/**
 * The brace that opens the body behind the parameters and their type; -1 where there is none, as in a call or a type.
 */
function findBody(code: string, from: number): number {
  const first = from + code.slice(from).search(/\S/)
  if (code[first] === '{') return first
  if (code[first] !== ':') return -1
  for (let at = first + 1; at < code.length; at += 1) {
    const character = code[at] ?? ''
    const isTypeHere = /(?:[:|&<,]|=>)\s*$/.test(code.slice(first, at))
    if (character === '{' && !isTypeHere) return at
    if ('([{'.includes(character)) at = findClose(code, at)
    else if (')]};'.includes(character)) return -1
  }
  return -1
}

/** Where the bracket at `open` is closed. */
function findClose(code: string, open: number): number {
  let depth = 0
  for (let at = open; at < code.length; at += 1) {
    if ('([{'.includes(code[at] ?? ' ')) depth += 1
    if (')]}'.includes(code[at] ?? ' ')) depth -= 1
    if (depth === 0) return at
  }
  return code.length
}

function isFactory(name: string, body: string): boolean {
  if (/^create[A-Z]/.test(name)) return true
  const returns = [...body.matchAll(/\breturn\s+(?=[[{])/g)]
  return returns.some(({ index, 0: word }) => {
    const open = index + word.length
    const isOwn = depthAt(body, index) === 1
    return isOwn && /=>|\)\s*(?::[^{}]+)?\{/.test(body.slice(open, findClose(body, open)))
  })
}

function depthAt(code: string, until: number): number {
  const before = code.slice(0, until)
  return (before.match(/[([{]/g)?.length ?? 0) - (before.match(/[)\]}]/g)?.length ?? 0)
}
