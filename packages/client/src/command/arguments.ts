import { commandTable } from './table.ts'

type Kind = 'number' | 'boolean' | 'text' | 'numbers' | 'texts' | 'json'
type Row = { readonly summary: string; readonly charges: boolean; readonly fields: Readonly<Record<string, Kind>> }
export const rows: Readonly<Record<string, Readonly<Record<string, Row>>>> = commandTable

/** A mistake in what was typed: exit code 2. */
export class UsageError extends Error {}

export type Typed = {
  readonly words: readonly string[]
  readonly options: Readonly<Record<string, string>>
}

/** Options of the program itself; all others are fields of an operation. */
const flags = new Set(['json', 'yes', 'follow', 'help'])
const values = new Set(['max-price', 'key', 'to', 'cursor-file', 'after', 'secret'])

export function readTyped(argv: readonly string[]): Typed {
  const words: string[] = []
  const options: Record<string, string> = {}
  for (let index = 0; index < argv.length; index++) {
    const [, name, given] = /^--([a-z][a-z0-9_-]*)(?:=(.*))?$/s.exec(argv[index] ?? '') ?? []
    if (name === undefined) words.push(argv[index] ?? '')
    else if (flags.has(name)) options[name] = 'yes'
    else {
      const value = given ?? argv[++index]
      if (value === undefined) throw new UsageError(`--${name} needs a value`)
      options[name] = value
    }
  }
  return { words, options }
}

export type Command = {
  readonly group: string
  readonly method: string
  readonly row: Row
  readonly input: Readonly<Record<string, unknown>>
}

/** Methods of premium that have the noun of what they sell in their names. */
const products: Readonly<Record<string, string>> = { 'premium buy': 'buyTraffic', 'premium quote': 'quoteTraffic' }
const usualMethods = ['get', 'list', 'listMethods']
/** The field that a third word is. */
const positional: readonly string[] = ['country_code', 'pool_type', 'ids', 'period', 'order_id', 'payment_id', 'id']
/** Fields that a quote need not name. */
const quoted: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'dedicated.quote': { ipv: 4, count: 1, period: 30 },
  'dedicated.buy': { ipv: 4, count: 1 },
}

/** `buy dedicated DE --count 2` and `dedicated buy DE --count 2` are the same. */
export function readCommand({ words, options }: Typed): Command {
  const [first = '', second = '', ...rest] = words
  const isGroupFirst = Object.hasOwn(rows, first)
  const [group, verb] = isGroupFirst ? [first, second] : [second, first]
  const methods = Object.hasOwn(rows, group) ? (rows[group] ?? {}) : {}
  const wanted =
    products[`${group} ${verb}`] ?? verb.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const method = wanted === '' ? usualMethods.find((each) => Object.hasOwn(methods, each)) : wanted
  const row = method !== undefined && Object.hasOwn(methods, method) ? methods[method] : undefined
  if (method === undefined || row === undefined) {
    throw new UsageError(`there is no command "${words.join(' ')}": ${adviceFor(group, wanted)}`)
  }
  const input: Record<string, unknown> = { ...quoted[`${group}.${method}`] }
  const place = positional.find((each) => Object.hasOwn(row.fields, each))
  if (rest.length > 1 || (rest.length > 0 && place === undefined))
    throw new UsageError(`"${rest.at(-1)}" is one too many`)
  if (rest[0] !== undefined && place !== undefined) input[place] = toValue(place, row.fields[place], rest[0])
  for (const [option, value] of Object.entries(options)) {
    const field = option.replaceAll('-', '_')
    const kind = Object.hasOwn(row.fields, field) ? row.fields[field] : undefined
    if (kind !== undefined) input[field] = toValue(option, kind, value)
    else if (!flags.has(option) && !values.has(option)) throw new UsageError(`${group} ${method} has no --${option}`)
  }
  if (options['max-price'] !== undefined) input['max_price_rub'] = toNumber('max-price', options['max-price'])
  return { group, method, row, input }
}

/** A method as a person types it. */
export const toVerb = (method: string): string => method.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** The command of the same group that resembles the typed one, else the one that reads. */
function adviceFor(group: string, wanted: string): string {
  const methods = Object.keys(Object.hasOwn(rows, group) ? (rows[group] ?? {}) : {})
  const typed = wanted.toLowerCase()
  const nearest =
    methods.find((each) => typed.length > 2 && typed !== 'list' && each.toLowerCase().includes(typed)) ??
    usualMethods.find((each) => methods.includes(each))
  return `${nearest === undefined ? '' : `try "${group} ${toVerb(nearest)}", or `}"help" lists all`
}

function toValue(option: string, kind: Kind | undefined, value: string): unknown {
  if (kind === 'number') return toNumber(option, value)
  if (kind === 'numbers') return value.split(',').map((each) => toNumber(option, each))
  if (kind === 'texts') return value.split(',')
  if (kind === 'boolean') return value === 'true' || value === 'yes'
  return kind === 'json' ? JSON.parse(value) : value
}

function toNumber(option: string, value: string): number {
  if (!/^-?\d+(?:\.\d+)?$/.test(value)) throw new UsageError(`--${option} is a number, not "${value}"`)
  return Number(value)
}
