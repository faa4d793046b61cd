import { getOpenApiMetadata } from '@asteasolutions/zod-to-openapi'
import { type Operation, takesKey, type z } from '../api/operation.ts'
import { problemsEn } from '../core/messages/problems-en.ts'
import { isProblems, Refusal, refuseHere, toSentProblems } from '../core/refusal.ts'
import { type Command, type Given, mistyped, type Option, type Outcome } from './command.ts'
import { toLines } from './print.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Sends one operation to the shop, in this process or over HTTPS, and returns the `data` of its answer. */
export type CallOperation = <Op extends Operation>(
  operation: Op,
  fields: Fields,
  key?: string,
) => Promise<z.output<Op['answer']>>

/** Opens the connection to the shop for one command, and closes it after. `where` is the database or the shop's URL. */
export type Connect = <Result>(
  given: Given,
  work: (call: CallOperation, where: string) => Promise<Result>,
) => Promise<Result>

/** A command that is not connected to a shop yet. */
export type OperationCommand = Omit<Command, 'run' | 'operation'> & {
  readonly operation: Operation
  readonly run: (given: Given, call: CallOperation, where: string) => Promise<Outcome>
}

type Shape<Op extends Operation> = {
  /** Names of fields that follow the command's name after those of the path. All other fields are options. */
  readonly args?: string
  /** Options whose name is not that of their field, by field. */
  readonly flags?: Readonly<Record<string, string>>
  /** Names of fields that `fill` sets, so that they are no options. */
  readonly filled?: string
  readonly fill?: (given: Given) => Fields | Promise<Fields>
  /** Arguments and options that are no fields of the operation, for `fill` and `show`. */
  readonly takes?: Command['takes']
  readonly options?: readonly Option[]
  /** Names of the fields that a list shows, in this order; all of them unless given. */
  readonly columns?: string
  /** The answer in lines; a list is a table and everything else YAML unless given. */
  readonly show?: (data: z.output<Op['answer']>, given: Given) => string | readonly string[]
}

const namesIn = (text = ''): readonly string[] => text.split(' ').filter((name) => name !== '')

const keyOption: Option = {
  flag: 'key',
  value: 'KEY',
  meaning: 'Idempotency key: a command repeated with the same key takes effect once.',
}

/** Command of one operation: its arguments and options are the operation's fields. */
export function over<Op extends Operation>(operation: Op, name: string, shape: Shape<Op> = {}): OperationCommand {
  const fields = fieldsOf(operation)
  const args = [...Object.keys(operation.params.shape), ...namesIn(shape.args)]
  const filled = namesIn(shape.filled)
  const unknown = [...args, ...filled].find((field) => !(field in fields))
  if (unknown !== undefined) throw new Error(`${operation.id} has no field ${unknown}`)
  const free = Object.keys(fields).filter((field) => !args.includes(field) && !filled.includes(field))
  const flagOf = (field: string): string => shape.flags?.[field] ?? toFlag(field)
  return {
    name,
    operation,
    summary: `${operation.summary}.`,
    get takes() {
      return [...args.map((field) => toArg(field, fields[field])), ...(shape.takes ?? [])]
    },
    get options() {
      const own = free.map((field) => toOption(flagOf(field), fields[field]))
      return [...own, ...(shape.options ?? []), ...(takesKey(operation) ? [keyOption] : [])]
    },
    async run(given, call) {
      const typed = [
        ...args.map((field, index) => [field, given.args[index]] as const),
        ...free.map((field) => [field, given.flags[flagOf(field)]] as const),
      ].flatMap(([field, text]) => (text === undefined ? [] : [[field, toValue(fields[field], text)] as const]))
      const sent = { ...Object.fromEntries(typed), ...(await shape.fill?.(given)) }
      const argumentOf = (path: string): string | undefined => {
        const field = path.replace(/\.\d+$/, '')
        if (args.includes(field)) return argNameOf(field)
        return free.includes(field) || shape.flags?.[field] !== undefined ? `--${flagOf(field)}` : undefined
      }
      const data = await callAll(call, operation, sent, given.flags['key']).catch((error: unknown) => {
        throw withArguments(error, argumentOf)
      })
      const lines = shape.show ? [shape.show(data, given)].flat() : toLines(data, namesIn(shape.columns))
      return { json: data, lines }
    },
  }
}

export const toCommands = (entries: readonly OperationCommand[], connect: Connect): readonly Command[] =>
  entries.map((entry) => {
    const command = { run: (given: Given) => connect(given, (call, where) => entry.run(given, call, where)) }
    return Object.assign(Object.create(entry) as OperationCommand, command, { operation: entry.operation.id })
  })

const pageSize = 500

/** An operation's answer; of a list with a larger `limit` than one answer has, as many pages as it takes. */
async function callAll<Op extends Operation>(
  call: CallOperation,
  operation: Op,
  fields: Fields,
  key: string | undefined,
) {
  const { limit: requested } = fields
  const limit = 'cursor' in operation.query.shape && /^\d{1,9}$/.test(requested as string) ? Number(requested) : 0
  const first = await call(operation, limit > pageSize ? { ...fields, limit: pageSize } : fields, key)
  const list = first as { items: unknown[]; next_cursor: string | null }
  if (limit <= pageSize) return first
  while (list.next_cursor !== null && list.items.length < limit) {
    const page = { ...fields, limit: Math.min(pageSize, limit - list.items.length), cursor: list.next_cursor }
    const next = (await call(operation, page)) as typeof list
    list.items.push(...next.items)
    list.next_cursor = next.next_cursor
  }
  return first
}

/** A refusal of fields, worded for the arguments that were typed; what a file holds is named as it is there. */
function withArguments(error: unknown, argumentOf: (field: string) => string | undefined): unknown {
  if (!(error instanceof Refusal && error.code === 'invalid_request' && error.details && isProblems(error.details))) {
    return error
  }
  const problems = toSentProblems(error.details, problemsEn)
  if (problems.some(({ field }) => argumentOf(field) === undefined)) return error
  const sentences = problems.map(({ field, problem }) => `${argumentOf(field)} ${problem}.`)
  return refuseHere(sentences.join(' '), 'usage', error.details)
}

type Schemas = Readonly<Record<string, z.ZodType | undefined>>

const fieldsOf = ({ params, query, body }: Operation): Schemas =>
  ({ ...params.shape, ...query.shape, ...body.shape }) as Schemas

/** `amount_rub` is `--amount`: units and kinds are in the option's meaning. */
const toFlag = (field: string): string => field.replace(/_(?:rub|id|at|percent)$/, '').replaceAll('_', '-')

const argNameOf = (field: string): string => toFlag(field).replaceAll('-', '_').toUpperCase()

function toArg(field: string, schema: z.ZodType | undefined): Command['takes'][number] {
  return { name: argNameOf(field), meaning: meaningOf(schema), optional: schema?.safeParse(undefined).success ?? false }
}

function toOption(flag: string, schema: z.ZodType | undefined): Option {
  const { type } = defOf(schema)
  const value = isSwitch(schema) ? {} : { value: valueNameOf(flag, schema, type) }
  return { flag, meaning: meaningOf(schema), ...value }
}

function valueNameOf(flag: string, schema: z.ZodType | undefined, type: string): string {
  const { entries } = defOf(schema)
  if (entries) return Object.values(entries).join('|')
  if (type === 'array') return `${flag.toUpperCase()},…`
  if (type === 'record') return 'NAME=VALUE,…'
  return type === 'number' ? 'N' : flag.toUpperCase().replaceAll('-', '_')
}

/** Description and default of a field, from the API's description. */
function meaningOf(schema: z.ZodType | undefined): string {
  let unless: unknown
  for (let at = schema; at; at = innerOf(at)) {
    const metadata = getOpenApiMetadata(at) as { readonly description?: string; readonly default?: unknown }
    unless ??= metadata.default
    if (metadata.description !== undefined) {
      return `${metadata.description}${toDefault(unless ?? defOf(at).defaultValue)}`
    }
  }
  return ''
}

const toDefault = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? ` Default: ${value}.` : ''

type Definition = {
  readonly type: string
  readonly innerType?: z.ZodType
  readonly in?: z.ZodType
  readonly element?: z.ZodType
  readonly valueType?: z.ZodType
  readonly entries?: Readonly<Record<string, string>>
  readonly defaultValue?: unknown
}

const rawDefOf = (schema: z.ZodType): Definition => schema.def
const innerOf = (schema: z.ZodType): z.ZodType | undefined => rawDefOf(schema).innerType ?? rawDefOf(schema).in

function defOf(schema: z.ZodType | undefined): Definition {
  for (let at = schema; at; at = innerOf(at)) if (innerOf(at) === undefined) return rawDefOf(at)
  return { type: 'string' }
}

/** Whether a field is a boolean: in a query one of `true` and `false`. */
function isSwitch(schema: z.ZodType | undefined): boolean {
  const { type, entries } = defOf(schema)
  return type === 'boolean' || Object.keys(entries ?? {}).join() === 'true,false'
}

/** The JSON that a typed text means, by its field's schema. What does not fit is left for the shop to refuse. */
function toValue(schema: z.ZodType | undefined, text: string): unknown {
  const { type, element, valueType } = defOf(schema)
  if (isSwitch(schema)) return type === 'boolean' ? true : 'true'
  if (type === 'array') return text.split(',').flatMap((part) => (part === '' ? [] : [toValue(element, part)]))
  if (type === 'record') return toRecord(valueType, text)
  return type === 'number' && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
}

function toRecord(schema: z.ZodType | undefined, text: string): Fields {
  const pairs = text.split(',').map((part) => {
    const [name = '', ...value] = part.split('=')
    if (value.length === 0) throw mistyped(`"${part}" is not NAME=VALUE.`)
    return [name, toValue(schema, value.join('='))] as const
  })
  return Object.fromEntries(pairs)
}
