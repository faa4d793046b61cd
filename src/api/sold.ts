import { type FieldProblem, fieldProblem } from '../core/messages/problems.ts'
import { isProblems, malformed, type Refusal } from '../core/refusal.ts'
import type { Catalogue } from '../domains/pricing/rules.ts'

/** The values on sale of each request field. `version` changes with them. */
export type Sold = {
  readonly version: number
  readonly countries: readonly string[]
  readonly periods: readonly number[]
  readonly prolongPeriods: readonly number[]
  readonly pools: readonly string[]
  readonly months: readonly number[]
}

/** Undefined in a shop without prices. */
export type FindSold = () => Promise<Sold | undefined>

const ascending = (values: Iterable<number>): number[] => [...new Set(values)].toSorted((one, other) => one - other)

export function soldIn({ version, dedicated, premium, vpn }: Catalogue): Sold {
  const kinds = [...dedicated.kinds.values()]
  return {
    version,
    countries: [...new Set(kinds.flatMap((kind) => [...kind.countries.keys()]))].toSorted(),
    periods: ascending(kinds.flatMap((kind) => kind.periods)),
    prolongPeriods: ascending(dedicated.prolongPeriods),
    pools: [...premium.pools.keys()].toSorted(),
    months: ascending(vpn?.months.keys() ?? []),
  }
}

/** Which fields of which paths are about what is sold. The first that matches counts. */
const fields: readonly (readonly [path: RegExp, name: string, of: Exclude<keyof Sold, 'version'>])[] = [
  [/^\/dedicated\/(prolong|auto-renew)/, 'period', 'prolongPeriods'],
  [/^\/dedicated\//, 'period', 'periods'],
  [/^\/dedicated\//, 'country_code', 'countries'],
  [/^\/premium\//, 'pool_type', 'pools'],
  [/^\/vpn\//, 'period', 'months'],
  [/^\/vpn\//, 'period_months', 'months'],
]

const fieldOf = (path: string, name: string) => fields.find(([where, called]) => called === name && where.test(path))

/** The same refusal with the terms on sale where a term is out of its range. Alone, the price list refuses the term. */
export async function withTerms(refusal: Refusal, path: string, find: FindSold | undefined): Promise<Refusal> {
  const { details } = refusal
  const isTerm = ({ field, reason }: FieldProblem) => reason === 'between' && field.startsWith('period')
  if (details === null || !isProblems(details) || !details.some(isTerm)) return refusal
  const sold = await find?.().catch(() => undefined)
  if (!sold) return refusal
  return malformed(
    details.map((each) => {
      const of = isTerm(each) ? fieldOf(path, each.field)?.[2] : undefined
      return of && sold[of].length > 0 ? fieldProblem(each.field, 'one_of', { allowed: sold[of] }) : each
    }),
  )
}

type Schema = { example?: unknown; examples?: readonly unknown[]; properties?: Record<string, Schema> }
type Media = { readonly schema?: Schema; readonly example?: Record<string, unknown> }
type DescribedOperation = {
  readonly parameters?: readonly { readonly name: string; readonly schema: Schema }[]
  readonly requestBody?: { readonly content: Record<string, Media> }
}
type Described = { readonly paths: Record<string, Record<string, DescribedOperation>> }

/** The description with what this shop sells as examples and not as enums, because the price list may change. */
export function withSold(description: object, sold: Sold): object {
  const described = structuredClone(description) as Described
  for (const [path, operations] of Object.entries(described.paths)) {
    const soldAs = (name: string): readonly unknown[] => {
      const field = fieldOf(path, name)
      return field ? sold[field[2]] : []
    }
    for (const { parameters = [], requestBody } of Object.values(operations)) {
      for (const { name, schema } of parameters) show(schema, soldAs(name))
      for (const { schema, example } of Object.values(requestBody?.content ?? {})) {
        for (const [name, property] of Object.entries(schema?.properties ?? {})) show(property, soldAs(name))
        for (const [name, value] of Object.entries(example ?? {})) {
          const [first] = soldAs(name)
          if (example && first !== undefined && !soldAs(name).includes(value)) example[name] = first
        }
      }
    }
  }
  return described
}

function show(schema: Schema, values: readonly unknown[]): void {
  if (values.length === 0) return
  if (!values.includes(schema.example)) delete schema.example
  schema.examples = values
}
