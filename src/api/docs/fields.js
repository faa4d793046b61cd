import { el, literal, paragraph } from './elements.js'
import { say } from './messages.js'
import { allowedOf, limitsOf, plain, typeName } from './schema.js'

const maxDepth = 12

const isRepeated = (schema, path) => schema.reference !== undefined && path.includes(schema.reference)

/**
 * The fields of an object as a list, with those of their objects below them. `outer` is the way here, so that it ends.
 */
export function fieldList(of, isRequest, outer = []) {
  const schema = plain(of)
  if (outer.length > maxDepth || isRepeated(schema, outer)) return undefined
  const path = [...outer, schema.reference]
  if (schema.type === 'array' && schema.items) return fieldList(schema.items, isRequest, path)
  if (schema.choices) return choiceList(schema.choices, isRequest, path)
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldItem(name, field, { isRequired: schema.required?.includes(name), isRequest, path }),
  )
  const further = schema.additionalProperties
  if (further && Object.keys(further).length > 0) {
    fields.push(fieldItem(say('any other name'), further, { isRequired: !isRequest, isRequest, path }))
  }
  return fields.length > 0 ? el('ul', { class: 'fields' }, fields) : undefined
}

function choiceList(choices, isRequest, path) {
  const items = choices.map((choice) => ({ schema: plain(choice), fields: fieldList(choice, isRequest, path) }))
  if (items.every((item) => !item.fields)) return undefined
  const shown = items.map(({ schema, fields }, at) => {
    const name = schema.title ?? schema.reference?.split('/').at(-1) ?? typeName(schema)
    return el('li', {}, el('p', { class: 'choice' }, say(at === 0 ? 'either ' : 'or '), literal(name)), fields)
  })
  return el('ul', { class: 'fields' }, shown)
}

export function fieldItem(name, of, { isRequired, isRequest, path, where, said }) {
  const schema = plain(of)
  const head = el('p', { class: 'field' }, [
    el('code', { class: 'name' }, name),
    el('span', { class: 'type' }, typeName(schema), where && `, ${say('in {}', say(where))}`),
    isRequest && isRequired && el('span', { class: 'must' }, say('required')),
    !isRequest && !isRequired && el('span', { class: 'type' }, say('may be absent')),
  ])
  const isAsAbove = isRepeated(schema, path) || isRepeated(plain(schema.items), path)
  const below = isAsAbove
    ? el('p', { class: 'facts' }, say('Same fields as above.'))
    : fieldList(schema, isRequest, path)
  return el('li', {}, head, paragraph(said ?? schema.description), factsOf(schema), below)
}

function factsOf(schema) {
  const values = schema.type === 'array' && schema.items ? plain(schema.items) : schema
  const allowed = allowedOf(values)
  const example = schema.properties ? undefined : (schema.example ?? schema.examples?.[0])
  const facts = [
    ...limitsOf(schema).map((limit) => [limit]),
    allowed && [say(allowed.length > 1 ? 'one of ' : 'always '), allowed.flatMap((each) => [literal(each), ' '])],
    schema.pattern && [say('matches '), literal(schema.pattern)],
    schema.default !== undefined && [say('default '), literal(schema.default)],
    example !== undefined && example !== null && [say('example '), literal(example)],
  ].filter(Boolean)
  return (
    facts.length > 0 &&
    el(
      'p',
      { class: 'facts' },
      facts.map((fact) => el('span', {}, fact)),
    )
  )
}
