import type { JsonFault } from '../core/messages/problems-en.ts'
import { type Refusal, refuseField } from '../core/refusal.ts'

/** A parsed JSON value. Objects have no prototype, so no key can reach one. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

const maxDepth = 16
const maxNumberLength = 64

// oxlint-disable-next-line no-control-regex -- RFC 8259 forbids them inside a string, so they are named here.
const stringPattern = /"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"/y
const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/**
 * Reads JSON as RFC 8259 has it, and refuses what two readers could understand differently: a key given twice, a
 * number that a double would round or overflow, half of a surrogate pair, NUL, `__proto__`, nesting past 16. Money
 * hangs on it.
 */
export function readJson(text: string): Json {
  const reader = new JsonReader(text)
  reader.skipSpace()
  const value = reader.value(0)
  reader.skipSpace()
  if (!reader.atEnd()) throw reader.refuse('after_end')
  return value
}

class JsonReader {
  private at = 0

  constructor(private readonly text: string) {}

  refuse(fault: JsonFault): Refusal {
    return refuseField('body', 'not_json', { at: this.at + 1, fault })
  }

  atEnd(): boolean {
    return this.at >= this.text.length
  }

  skipSpace(): void {
    while (isSpace(this.text.charCodeAt(this.at))) this.at += 1
  }

  value(depth: number): Json {
    const first = this.text[this.at]
    if (depth === maxDepth && (first === '{' || first === '[')) throw this.refuse('too_deep')
    switch (first) {
      case '{':
        return this.object(depth)
      case '[':
        return this.array(depth)
      case '"':
        return this.string()
      case 't':
        return this.literal('true', true)
      case 'f':
        return this.literal('false', false)
      case 'n':
        return this.literal('null', null)
      default:
        return this.number()
    }
  }

  private object(depth: number): Json {
    const result = Object.create(null) as { [name: string]: Json }
    this.at += 1
    this.skipSpace()
    if (this.take('}')) return result
    for (;;) {
      if (this.text[this.at] !== '"') throw this.refuse('key_expected')
      const key = this.string()
      if (key === '__proto__') throw this.refuse('proto_key')
      if (key in result) throw this.refuse('duplicate_key')
      this.skipSpace()
      if (!this.take(':')) throw this.refuse('colon_expected')
      this.skipSpace()
      result[key] = this.value(depth + 1)
      this.skipSpace()
      if (this.take('}')) return result
      if (!this.take(',')) throw this.refuse('comma_or_brace_expected')
      this.skipSpace()
    }
  }

  private array(depth: number): Json {
    const result: Json[] = []
    this.at += 1
    this.skipSpace()
    if (this.take(']')) return result
    for (;;) {
      result.push(this.value(depth + 1))
      this.skipSpace()
      if (this.take(']')) return result
      if (!this.take(',')) throw this.refuse('comma_or_bracket_expected')
      this.skipSpace()
    }
  }

  private string(): string {
    stringPattern.lastIndex = this.at
    const match = stringPattern.exec(this.text)
    if (!match) throw this.refuse('string_open')
    const content = match[1] ?? ''
    const value = content.includes('\\') ? String(JSON.parse(match[0])) : content
    if (value.includes('\0')) throw this.refuse('string_nul')
    if (!value.isWellFormed()) throw this.refuse('string_surrogate')
    this.at += match[0].length
    return value
  }

  private number(): number {
    numberPattern.lastIndex = this.at
    const match = numberPattern.exec(this.text)
    if (!match) throw this.refuse(this.atEnd() ? 'early_end' : 'value_expected')
    if (match[0].length > maxNumberLength) throw this.refuse('number_long')
    const value = Number(match[0])
    if (!Number.isFinite(value)) throw this.refuse('number_large')
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw this.refuse('number_unsafe')
    if (Object.is(value, -0)) throw this.refuse('number_negative_zero')
    // The number's text and its stored value must be the same decimal.
    const stored = String(value)
    if (match[0] !== stored && decimalOf(match[0]) !== decimalOf(stored)) throw this.refuse('number_inexact')
    this.at += match[0].length
    return value
  }

  private literal<Value extends Json>(text: string, value: Value): Value {
    if (!this.text.startsWith(text, this.at)) throw this.refuse('value_expected')
    this.at += text.length
    return value
  }

  private take(character: string): boolean {
    if (this.text[this.at] !== character) return false
    this.at += 1
    return true
  }
}

const isSpace = (code: number): boolean => code === 32 || code === 9 || code === 10 || code === 13

/** A decimal without the zeros that mean nothing: `150`, `1.50e2` and `150.0` are all `15e1`. */
function decimalOf(text: string): string {
  const [, whole = '', fraction = '', power = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const kept = digits.replace(/0+$/, '')
  return kept === '' ? '0' : `${kept}e${Number(power) - fraction.length + digits.length - kept.length}`
}
