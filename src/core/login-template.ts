import { type FieldProblem, fieldProblem, type ProblemArguments } from './messages/problems.ts'

// A supplier's login with placeholders: `acct-country-{country}[-city-{city}]`. A part in brackets is optional.

const templateNames = ['country', 'COUNTRY', 'state', 'city', 'zip', 'asn', 'session', 'minutes'] as const
type TemplateName = (typeof templateNames)[number]
export type TemplateValues = Readonly<Partial<Record<TemplateName, string>>>

const maxLength = 400
const piecePattern = /\[([^[\]]*)\]|\{([^{}[\]]*)\}|([^{}[\]]+)/gy

export const isTemplate = (text: string): boolean => /[{[]/.test(text)

const isName = (text: string): text is TemplateName => templateNames.some((name) => name === text)
const namesIn = (text: string): string[] => [...text.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '')

export function problemOfLoginTemplate(text: string): FieldProblem | undefined {
  const refuse = (...problem: ProblemArguments): FieldProblem => fieldProblem('username', ...problem)
  if (!/^[\x21-\x39\x3b-\x7e]+$/.test(text) || text.length > maxLength) {
    return refuse('login_template', { max: maxLength })
  }
  const unknown = namesIn(text).find((name) => !isName(name))
  if (unknown !== undefined) return refuse('placeholder_unknown', { name: unknown, known: templateNames })
  const pieces = [...text.matchAll(piecePattern)]
  if (pieces.map((piece) => piece[0]).join('') !== text) return refuse('template_brackets')
  const idle = pieces.find(([, optional]) => optional !== undefined && !/^[^{}]*(\{[^{}]*\}[^{}]*)+$/.test(optional))
  return idle ? refuse('template_idle_brackets') : undefined
}

export const takenBy = (template: string): ReadonlySet<string> =>
  new Set(namesIn(template).map((name) => name.toLowerCase()))

/** Fills a login template. Placeholders outside brackets fall back to `otherwise`; undefined if a value is missing. */
export function fillTemplate(
  template: string,
  requested: TemplateValues,
  otherwise: TemplateValues,
): string | undefined {
  let isWhole = true
  const valueOf = (name: string, values: readonly TemplateValues[]): string | undefined => {
    const found = isName(name) ? values.map((each) => each[name]).find((value) => value !== undefined) : undefined
    return found === undefined || /^[\w.-]*$/.test(found) ? found : undefined
  }
  const fill = (text: string, values: readonly TemplateValues[]): string | undefined => {
    let isFilled = true
    const filled = text.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
      const value = valueOf(name, values)
      isFilled &&= value !== undefined
      return value ?? ''
    })
    return isFilled ? filled : undefined
  }
  const parts = [...template.matchAll(piecePattern)].map(([piece, optional]) => {
    if (optional !== undefined) return fill(optional, [requested]) ?? ''
    const filled = fill(piece, [requested, otherwise])
    isWhole &&= filled !== undefined
    return filled ?? ''
  })
  return isWhole ? parts.join('') : undefined
}
