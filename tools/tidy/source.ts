/** Every file of the project by its path from the root, with `/` between folders. */
export type Files = ReadonlyMap<string, string>

export type Violation = {
  readonly path: string
  readonly line: number
  readonly rule: string
  readonly explanation: string
  /** Shown, and does not fail the check. */
  readonly isWarning?: true
}

/**
 * A string or template: where its text begins, and the text without quotes. Substitutions of a template are left out.
 */
type Literal = { readonly at: number; readonly text: string }

/**
 * A source file taken apart, so that prose never looks like code: `code` has the same length, with all else blanked.
 */
export type Source = {
  readonly code: string
  readonly comments: readonly Literal[]
  readonly literals: readonly Literal[]
}

const beforeRegExp =
  /(?:^|[(,=:[!&|?{};+\-*%<>~^\n]|\b(?:return|typeof|case|in|of|delete|void|throw|else|do|await|yield))\s*$/

export function takeApart(text: string): Source {
  const scanner = new Scanner(text)
  scanner.readCode(0, false)
  return { code: scanner.code.join(''), comments: scanner.comments, literals: scanner.literals }
}

class Scanner {
  readonly code: string[]
  readonly comments: Literal[] = []
  readonly literals: Literal[] = []
  readonly text: string

  constructor(text: string) {
    this.text = text
    this.code = text.split('')
  }

  /**
   * Reads code from `at` to the end, or past the brace that closes a template's substitution. Returns where it stopped.
   */
  readCode(at: number, inSubstitution: boolean): number {
    let depth = 0
    let position = at
    while (position < this.text.length) {
      const character = this.text[position]
      if (inSubstitution && character === '}' && depth === 0) return position + 1
      if (character === '{') depth++
      if (character === '}') depth--
      position = this.readToken(position)
    }
    return position
  }

  private readToken(at: number): number {
    const two = this.text.slice(at, at + 2)
    if (two === '//') return this.readComment(at, this.indexOrEnd('\n', at))
    if (two === '/*') return this.readComment(at, this.indexOrEnd('*/', at + 2) + 2)
    const character = this.text[at]
    if (character === "'" || character === '"') return this.readString(at, character)
    if (character === '`') return this.readTemplate(at)
    if (character === '/') return this.readSlash(at)
    return at + 1
  }

  private readComment(from: number, to: number): number {
    this.comments.push({ at: from, text: this.text.slice(from, to) })
    this.blank(from, to)
    return to
  }

  private readString(from: number, quote: string): number {
    let end = from + 1
    while (end < this.text.length && this.text[end] !== quote && this.text[end] !== '\n')
      end += this.text[end] === '\\' ? 2 : 1
    this.literals.push({ at: from + 1, text: this.text.slice(from + 1, end) })
    this.blank(from + 1, end)
    return end + 1
  }

  private readTemplate(from: number): number {
    let text = ''
    let position = from + 1
    const slot = this.literals.push({ at: from + 1, text }) - 1
    while (position < this.text.length && this.text[position] !== '`') {
      if (this.text.startsWith('${', position)) {
        text += '${}'
        position = this.readCode(position + 2, true)
        continue
      }
      const width = this.text[position] === '\\' ? 2 : 1
      text += this.text.slice(position, position + width)
      this.blank(position, position + width)
      position += width
    }
    this.literals[slot] = { at: from + 1, text }
    return position + 1
  }

  /**
   * A slash divides unless what stands before it cannot end an operand; then it opens a regular expression. In `</a>`
   * and `<a />` it closes an element.
   */
  private readSlash(at: number): number {
    if (this.text[at - 1] === '<' || this.text[at + 1] === '>') return at + 1
    if (!beforeRegExp.test(this.code.slice(Math.max(0, at - 40), at).join(''))) return at + 1
    const found = /^\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//.exec(this.text.slice(at, at + 2000))
    if (found === null) return at + 1
    const end = at + found[0].length
    this.blank(at + 1, end - 1)
    return end
  }

  private blank(from: number, to: number): void {
    for (let at = from; at < Math.min(to, this.code.length); at++) if (this.code[at] !== '\n') this.code[at] = ' '
  }

  private indexOrEnd(sought: string, from: number): number {
    const found = this.text.indexOf(sought, from)
    return found === -1 ? this.text.length : found
  }
}

export function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

/** Code that runs in the service: what the strictest rules are about. */
export function isShipped(path: string): boolean {
  return path.startsWith('src/') && isCode(path) && !isTest(path)
}

export function isCode(path: string): boolean {
  return /\.(?:ts|tsx|mts|js|jsx|mjs)$/.test(path)
}

export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path)
}

/** Every place where code, free of comments and strings, matches the pattern. */
export function findInCode(
  path: string,
  text: string,
  pattern: RegExp,
  rule: string,
  explanation: string,
): Violation[] {
  const { code } = takeApart(text)
  const all = new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`)
  return [...code.matchAll(all)].map((found) => ({ path, line: lineAt(text, found.index), rule, explanation }))
}
