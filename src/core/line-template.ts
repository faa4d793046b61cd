import { type FieldProblem, fieldProblem } from './messages/problems.ts'

/** The four formats of the contract, as templates. */
export const templateOf: Readonly<Record<1 | 2 | 3 | 4, string>> = {
  1: '{host}:{port}:{login}:{password}',
  2: '{login}:{password}@{host}:{port}',
  3: '{host}:{port}',
  4: '{protocol}://{login}:{password}@{host}:{port}',
}

const names = ['host', 'port', 'login', 'password', 'protocol'] as const
type Name = (typeof names)[number]
const maxTemplateLength = 500

/** Problem of a customer's line template: an unknown name, a line break, or a wrong length. */
export function problemOfLineTemplate(template: string, field = 'format'): FieldProblem | undefined {
  if (template.length === 0 || template.length > maxTemplateLength) {
    return fieldProblem(field, 'characters', { from: 1, to: maxTemplateLength })
  }
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(template)) return fieldProblem(field, 'printable_line')
  const unknown = [...template.matchAll(/\{(\w*)\}/g)].map((match) => match[1] ?? '').find((name) => !isName(name))
  if (unknown !== undefined) {
    const problem = fieldProblem(field, 'placeholder_unknown', { name: unknown, known: names })
    return { ...problem, allowed: names.map((name) => `{${name}}`) }
  }
  if (/\{\w+\}/.test(template)) return undefined
  return fieldProblem(field, 'placeholder_missing', { known: ['host', 'port', 'login', 'password'] })
}

const isName = (text: string): text is Name => names.some((name) => name === text)

/** Whether a line has no login, so that its port identifies the customer. */
export const identifiesByPort = (template: string): boolean => !template.includes('{login}')

/** Compiles a template, so that each line only joins pieces. */
export function compile(template: string): (values: Readonly<Record<Name, string>>) => string {
  const pieces = template.split(/(\{\w+\})/).filter((piece) => piece !== '')
  const parts = pieces.map((piece): { text: string } | { name: Name } => {
    const name = piece.startsWith('{') ? piece.slice(1, -1) : ''
    return isName(name) ? { name } : { text: piece }
  })
  return (values) => parts.map((part) => ('name' in part ? values[part.name] : part.text)).join('')
}
