import { toSnake } from '../../src/api/client-names.ts'
import { capitalized, type Field, isNullable, type Method, type Model, refName, type Schema, typesOf } from './model.ts'

const plain: Readonly<Record<string, string>> = { string: 'str', integer: 'int', number: 'float', boolean: 'bool' }
const keywords = new Set(['from', 'import', 'class', 'def', 'global', 'is', 'in', 'not', 'or', 'and', 'pass', 'None'])

/** Classes that inner objects need, in the order of their printing. */
class Printed {
  readonly classes: string[] = []

  /** A schema as a type; `name` is the class of an object. */
  toType(schema: Schema, name: string): string {
    if (schema.$ref) return refName(schema.$ref)
    if (schema.enum) return join([`Literal[${schema.enum.map(literal).join(', ')}]`], schema)
    const [part] = schema.allOf ?? []
    if (part) return join([this.toType(part, name)], schema)
    const forms = schema.properties ? [] : [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
    if (forms.length > 0) {
      return [...new Set(forms.map((each, index) => this.toType(each, `${name}${index + 1}`)))].join(' | ')
    }
    return join(
      typesOf(schema).map((type) => this.toOneType(type, schema, name)),
      schema,
    )
  }

  private toOneType(type: string, schema: Schema, name: string): string {
    if (type === 'array') return `list[${this.toType(schema.items ?? {}, `${name}Item`)}]`
    if (type !== 'object') return plain[type] ?? 'Any'
    if (!schema.properties || Object.keys(schema.properties).length === 0) {
      const { additionalProperties: values } = schema
      const isTyped = typeof values === 'object' && Object.keys(values).length > 0
      return `dict[str, ${isTyped ? this.toType(values, `${name}Value`) : 'Any'}]`
    }
    this.addClass(name, schema)
    return name
  }

  addClass(name: string, schema: Schema): void {
    const fields = Object.entries(schema.properties ?? {}).map(([field, inner]): [string, string] => {
      const type = this.toType(inner, `${name}${capitalized(toPascal(field))}`)
      return [field, schema.required?.includes(field) ? type : `NotRequired[${type}]`]
    })
    const isClass = fields.every(([field]) => !keywords.has(field))
    this.classes.push(
      isClass
        ? `class ${name}(TypedDict):\n${fields.map(([field, type]) => `    ${field}: ${type}\n`).join('')}\n\n`
        : `${name} = TypedDict(\n    "${name}",\n    {\n${fields
            .map(([field, type]) => `        "${field}": '${type}',\n`)
            .join('')}    },\n)\n\n\n`,
    )
  }
}

const toPascal = (field: string): string =>
  field.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

function join(types: readonly string[], schema: Schema): string {
  const all = [...types, ...(isNullable(schema) ? ['None'] : [])]
  return all.length === 0 ? 'Any' : all.join(' | ')
}

const literal = (value: string | number | boolean | null): string =>
  typeof value === 'boolean' ? (value ? 'True' : 'False') : value === null ? 'None' : JSON.stringify(value)

const argumentOf = (name: string): string => (keywords.has(name) ? `${name}_` : name)

/** Ids in a query are one text; the clients take a list too. Input lists may be any sequence. */
function inputType(field: Field, printed: Printed, name: string): string {
  if (field.in === 'query' && field.name === 'ids') return 'str | Sequence[int]'
  return printed.toType(field.schema, name).replace(/^list\[/, 'Sequence[')
}

type Signature = {
  readonly parameters: string
  readonly values: string
  readonly answer: string
  readonly item: string
}

function signatureOf(method: Method, printed: Printed): Signature {
  const name = capitalized(method.id)
  const fields = method.fields.map((field) => {
    const type = inputType(field, printed, `${name}${toPascal(field.name)}`)
    const argument = argumentOf(field.name)
    return { field, argument, text: field.isRequired ? `${argument}: ${type}` : `${argument}: ${type} | Unset = UNSET` }
  })
  const ordered = [
    ...fields.filter((each) => each.field.isRequired),
    ...fields.filter((each) => !each.field.isRequired),
  ]
  const answer = printed.toType(method.answer, `${name}Answer`)
  return {
    parameters: ordered.map((each) => `        ${each.text},\n`).join(''),
    values: fields.map(({ field, argument }) => `"${field.name}": ${argument}`).join(', '),
    answer: method.hasFile ? `${answer} | str` : answer,
    item: method.pages ? printed.toType(method.pages.item, `${name}AnswerItem`) : '',
  }
}

function toMethods(method: Method, signature: Signature, isAsync: boolean): string {
  const { parameters, values, answer, item } = signature
  const [def, wait] = isAsync ? ['async def', 'await '] : ['def', '']
  const key = method.isKeyed ? '        idempotency_key: str | None = None,\n' : ''
  const sent = `"${method.group}.${toSnake(method.name)}", "${method.http}", "${method.path}", {${values}}`
  const own = `    ${def} ${toSnake(method.name)}(
        self,
        *,
${parameters}${key}        timeout: float | None = None,
    ) -> ${answer}:
        """${method.summary}."""
        return ${wait}self._call(${sent}, timeout${method.isKeyed ? ', True, idempotency_key' : ''})\n\n`
  if (!method.pages) return own
  const iterator = isAsync ? 'AsyncIterator' : 'Iterator'
  return `${own}    def ${toSnake(method.pages.all)}(
        self,
        *,
${parameters}        timeout: float | None = None,
    ) -> ${iterator}[${item}]:
        """${method.summary}: every item of every page."""
        return self._pages(${sent}, timeout, "${method.pages.items}")\n\n`
}

const className = (group: string, isAsync: boolean): string =>
  `${isAsync ? 'Async' : ''}${capitalized(group)}Operations`

const head = `# \`npm run clients\` writes this file from the description of the API.
# ruff: noqa
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ._call import UNSET, AsyncGroup, Call, Group, Unset

if TYPE_CHECKING:
    # Python 3.10 has no typing.NotRequired. Type checkers know this module without installing it.
    from typing_extensions import NotRequired


`

/** The operations of the Python client: types, and a class for each group in both forms. */
export function toPython({ schemas, methods, codes, reasons }: Model): string {
  const printed = new Printed()
  for (const [name, schema] of Object.entries(schemas)) printed.addClass(name, schema)
  const signatures = new Map(methods.map((each) => [each.id, signatureOf(each, printed)]))
  const groups = [...Map.groupBy(methods, (each) => each.group)]
  const classes = [false, true].flatMap((isAsync) => [
    ...groups.map(([group, own]) => {
      const text = own.map((each) => toMethods(each, signatures.get(each.id) as Signature, isAsync)).join('')
      return `class ${className(group, isAsync)}(${isAsync ? 'AsyncGroup' : 'Group'}):\n${text}\n`
    }),
    `class ${isAsync ? 'Async' : ''}Operations:\n    """A group of methods for each product."""\n\n`,
    '    def __init__(self, call: Call) -> None:\n',
    ...groups.map(([group]) => `        self.${group} = ${className(group, isAsync)}(call)\n`),
    '\n\n',
  ])
  const names = (values: readonly string[]) => `Literal[\n${values.map((each) => `    "${each}",\n`).join('')}]\n`
  const unions = [`RefusalCode = ${names(codes)}\n`, `Reason = ${names(reasons)}`]
  return [head, ...printed.classes, ...classes, ...unions].join('')
}
