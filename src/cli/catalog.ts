import type { Effect, Pricing } from '../domains/pricing/index.ts'
import { toRoubles, toRoubleText } from '../kernel/money.ts'
import { Refusal } from '../kernel/refusal.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, mistyped } from './command.ts'
import { type Opened, readTextFile } from './typed.ts'

type Deps = {
  pricing: Pricing
  applyCatalogue: (value: unknown) => Promise<number>
  effectsOf: (value: unknown) => Promise<Effect[]>
}

const fileWord = { name: 'FILE', meaning: 'a price list in YAML; - reads it from the input' }

/** `shipped` is the text of the price list that a sandbox opens with. */
export function catalogCommands(open: Opened<Deps>, shipped: string): readonly Command[] {
  return [
    {
      name: 'catalog apply',
      operation: 'applyCatalogue',
      summary: 'Judges a price list whole, shows what it changes, and puts it in force.',
      takes: [fileWord],
      options: [],
      run: (given) =>
        open(given, async ({ pricing, applyCatalogue }) => {
          const value = await readFile(given.words[0] ?? '')
          const changes = await pricing.changesOf(value)
          if (changes.length === 0) return { json: { version: null, changes }, lines: ['Nothing would change.'] }
          const version = await applyCatalogue(value)
          return { json: { version, changes }, lines: [...changes, `Version ${version} is in force.`] }
        }),
    },
    {
      name: 'catalog diff',
      operation: 'compareCatalogue',
      summary: 'Shows what a price list would change, and for whom, and changes nothing.',
      takes: [fileWord],
      options: [],
      run: (given) =>
        open(given, async ({ pricing, effectsOf }) => {
          const value = await readFile(given.words[0] ?? '')
          const changes = await pricing.changesOf(value)
          const effects = await effectsOf(value)
          return {
            json: { changes, effects: effects.map(toJson) },
            lines: changes.length > 0 ? [...changes, ...effects.map(toLine)] : ['Nothing would change.'],
          }
        }),
    },
    {
      name: 'catalog show',
      operation: 'getCatalogue',
      summary: 'Writes the price list in force, or an older version, as YAML.',
      takes: [],
      options: [
        { flag: 'version', value: 'N', meaning: 'which version' },
        { flag: 'versions', meaning: 'list the versions instead' },
        { flag: 'shipped', meaning: 'write the price list of a sandbox instead, to begin one of your own with' },
      ],
      async run(given) {
        if (given.has('shipped')) return { json: Bun.YAML.parse(shipped), lines: [shipped.trimEnd()] }
        return open(given, async ({ pricing }) => {
          if (given.has('versions')) {
            const versions = await pricing.versions()
            return {
              json: versions.map((each) => ({ version: each.version, applied_at: toIso(each.appliedAt) })),
              lines: versions.map((each) => `${each.version}  ${toIso(each.appliedAt)}`),
            }
          }
          const wanted = given.flags['version']
          if (wanted !== undefined && !/^\d{1,9}$/.test(wanted)) throw mistyped('--version is a whole number.')
          const shown = await pricing.show(wanted === undefined ? undefined : Number(wanted))
          if (!shown) throw new Refusal('missing', 'not_found', 'There is no such price list.')
          return { json: shown.value, lines: [Bun.YAML.stringify(shown.value, null, 2)] }
        })
      },
    },
  ]
}

const nameOf = ({ goods }: Effect): string => {
  if (goods.product === 'dedicated') return `dedicated ${goods.country} ipv ${goods.ipv}`
  return goods.product === 'premium' ? `premium ${goods.pool}` : 'vpn'
}

const toJson = ({ goods, before, after, ...counts }: Effect) => ({
  ...goods,
  ...counts,
  before_rub: toRoubles(before),
  after_rub: toRoubles(after),
})

/** For whom it changes something: who has some of it now, and what renews itself by the new price. */
function toLine(effect: Effect): string {
  const { customers, services, renewals, before, after, lost } = effect
  const renewed = `${renewals} renewals, ${toRoubleText(before)} -> ${toRoubleText(after)} RUB`
  const ending = lost === 0 ? '' : `, ${lost} of them not sold any more`
  return `${nameOf(effect)}: ${customers} customers, ${services} services, ${renewed}${ending}`
}

async function readFile(path: string): Promise<unknown> {
  const text = await readTextFile(path)
  try {
    return Bun.YAML.parse(text)
  } catch (error) {
    throw mistyped(`${path} is not YAML: ${error instanceof Error ? error.message : 'it cannot be read'}`)
  }
}
