import type { RangeOperator, RangeOutcome, RangeSurvey } from '../domains/dedicated/index.ts'
import { type Prefix, readPrefix } from '../kernel/address.ts'
import { toRoubles, toRoubleText } from '../kernel/money.ts'
import { type Given, mistyped, type Outcome, table } from './command.ts'
import { noteOption, readNote } from './typed.ts'

export const rangeOptions = [
  { flag: 'dry-run', meaning: 'say what is there and whom it would touch, and change nothing' },
  { flag: 'undo', meaning: 'take it back' },
  { flag: 'replace', meaning: 'give customers other addresses of the kind now' },
  { flag: 'refund', meaning: 'with --replace: end what no address is left for, and give back what is unused' },
  noteOption,
]

/** Whether a whole range is meant and not one address. */
export const isRange = (given: Given): boolean => (given.words[0] ?? '').includes('/')

/** What is said of ranges is not said of one address. */
export function refuseRangeOptions(given: Given, except: readonly string[]): void {
  const wrong = rangeOptions.find((each) => given.has(each.flag) && !except.includes(each.flag))
  if (wrong) throw mistyped(`--${wrong.flag} is for a range, like 203.0.113.0/24.`)
}

/** Takes a whole range off sale, or out of service too. */
export async function closeRange(
  operator: RangeOperator,
  verb: 'retire' | 'quarantine',
  given: Given,
): Promise<Outcome> {
  const prefix = readRange(given.words[0])
  if (given.has('undo') && given.has('replace')) throw mistyped('--undo replaces nothing.')
  if (given.has('refund') && !given.has('replace')) throw mistyped('--refund goes with --replace.')
  if (given.has('dry-run')) return toSurvey(await operator.survey(prefix))
  const wish = {
    undo: given.has('undo'),
    replace: given.has('replace'),
    refund: given.has('refund'),
    note: readNote(given, verb === 'retire' ? 'the range is retired' : 'the range is in quarantine'),
  }
  return toDone(await operator[verb](prefix, wish))
}

function readRange(text = ''): Prefix {
  const prefix = readPrefix(text)
  if (!prefix) throw mistyped(`"${text}" is not a prefix; say 203.0.113.0/24.`)
  return prefix
}

function toSurvey(survey: RangeSurvey): Outcome {
  return {
    json: { dry_run: true, ...survey, unused: undefined, unused_rub: toRoubles(survey.unused) },
    lines: [
      ...table(
        ['COUNTRY', 'IPV', 'FREE', 'LEASED', 'RESTING', 'RETIRED', 'REPLACEMENTS'],
        survey.kinds.map((kind) => [
          kind.country,
          String(kind.ipv),
          ...[kind.free, kind.leased, kind.resting, kind.retired, kind.replacements].map(String),
        ]),
      ),
      ...survey.blocks.map((block) => `The block ${block}.`),
      `${survey.proxies.length} proxies of ${survey.customers} customers, ` +
        `of which ${toRoubleText(survey.unused)} RUB are unused.`,
      'Nothing was changed.',
    ],
  }
}

const toDone = (done: RangeOutcome): Outcome => ({
  json: done,
  lines: [
    `${done.places} places. Replaced ${done.replaced.length}, ended ${done.ended.length}, ` +
      `interrupted ${done.interrupted}, restored ${done.restored}.`,
    ...(done.waiting.length > 0 ? [`No address is left for: ${done.waiting.join(', ')}.`] : []),
  ],
})
