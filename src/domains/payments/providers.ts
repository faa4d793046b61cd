import { type Kopecks, kopecks, readRoubles } from '../../core/money.ts'

/** What the operator has settled of one way to pay. */
export type MethodTerms = {
  readonly method: string
  readonly min: Kopecks
  readonly max: Kopecks
  /** On top of the amount, in hundredths of a percent. */
  readonly feeHundredths: number
}

/** What is kept of a provider besides its secret. */
export type ProviderTerms = {
  readonly settings: Readonly<Record<string, string>>
  readonly methods: readonly MethodTerms[]
}

/** What the provider itself takes by a method. */
type Bounds = { readonly method: string; readonly min: Kopecks; readonly max: Kopecks }

export const toTermsText = ({ settings, methods }: ProviderTerms): string =>
  JSON.stringify({ settings, methods: methods.map((each) => ({ ...each, min: `${each.min}`, max: `${each.max}` })) })

export function readTermsText(text: string): ProviderTerms {
  const { settings, methods } = JSON.parse(text) as {
    settings: Record<string, string>
    methods: { method: string; min: string; max: string; feeHundredths: number }[]
  }
  return {
    settings,
    methods: methods.map((each) => ({ ...each, min: kopecks(BigInt(each.min)), max: kopecks(BigInt(each.max)) })),
  }
}

/** `card=2.5,sbp=1` as a map; undefined for anything else. */
export function readPairs(text: string): ReadonlyMap<string, string> | undefined {
  const pairs = new Map<string, string>()
  for (const part of text === '' ? [] : text.split(',')) {
    const [, name, value] = /^([a-z_]{1,40})=(.{0,200})$/.exec(part.trim()) ?? []
    if (name === undefined || value === undefined || pairs.has(name)) return undefined
    pairs.set(name, value)
  }
  return pairs
}

/** A percentage with at most two decimals, below a hundred, in hundredths. */
export function readPercent(text: string): number | undefined {
  const value = readRoubles(text)
  return value !== undefined && value < 10_000n ? Number(value) : undefined
}

/**
 * The terms of each method that is offered: what was said, else what was so before, else what the provider takes. What
 * a provider does not take is not offered.
 */
export function methodTerms(
  bounds: readonly Bounds[],
  said: {
    readonly methods: readonly string[] | undefined
    readonly min: ReadonlyMap<string, string>
    readonly max: ReadonlyMap<string, string>
    readonly fee: ReadonlyMap<string, string>
  },
  before: readonly MethodTerms[],
): readonly MethodTerms[] | string {
  const wanted = said.methods ?? (before.length > 0 ? before.map((each) => each.method) : bounds.map((of) => of.method))
  const known = bounds.map((each) => each.method)
  for (const name of [...wanted, ...said.min.keys(), ...said.max.keys(), ...said.fee.keys()]) {
    if (!known.includes(name)) return `It has no method "${name}". It has: ${known.join(', ')}.`
  }
  const terms: MethodTerms[] = []
  for (const bound of bounds.filter((each) => wanted.includes(each.method))) {
    const was = before.find((each) => each.method === bound.method)
    const read = (from: ReadonlyMap<string, string>, unless: Kopecks) => {
      const text = from.get(bound.method)
      return text === undefined ? unless : readRoubles(text)
    }
    const [min, max] = [read(said.min, was?.min ?? bound.min), read(said.max, was?.max ?? bound.max)]
    const fee = said.fee.get(bound.method)
    const feeHundredths = fee === undefined ? (was?.feeHundredths ?? 0) : readPercent(fee)
    if (min === undefined || max === undefined || min < bound.min || max > bound.max || min > max) {
      return `By ${bound.method} it takes from ${bound.min / 100n} to ${bound.max / 100n} roubles.`
    }
    if (feeHundredths === undefined) return 'A fee is a percentage below 100 with at most two decimals, like 2.5.'
    terms.push({ method: bound.method, min, max, feeHundredths })
  }
  return terms
}
