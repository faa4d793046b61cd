import { type Providers, type ProviderWish, readPairs } from '../domains/payments/index.ts'
import { toRoubles, toRoubleText } from '../kernel/money.ts'
import { type Command, type Given, mistyped, type Outcome, table } from './command.ts'
import { type Opened, readTextFile } from './typed.ts'

type Deps = { providers: Providers }
const providerWord = { name: 'PROVIDER', meaning: 'yookassa, platega, crypto_pay, invoice or sandbox' }

export function paymentProviderCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'payments provider list',
      operation: 'listProviders',
      summary: 'Lists payment providers, what each wants to know, and which are set up.',
      takes: [],
      options: [],
      run: (given) => open(given, async ({ providers }) => toProviders(await providers.list())),
    },
    {
      name: 'payments provider set',
      operation: 'setProvider',
      summary: 'Sets a payment provider up, or changes what was set. Its secret is read from a file or from the input.',
      takes: [providerWord],
      options: [
        { flag: 'settings', value: 'NAME=VALUE,…', meaning: 'what it wants to know, like shop_id=100500' },
        { flag: 'secret-file', value: 'FILE', meaning: 'where its secret is; - reads it from the input' },
        {
          flag: 'methods',
          value: 'LIST',
          meaning: 'which of its methods customers have, like card,sbp; all unless said',
        },
        { flag: 'min', value: 'METHOD=ROUBLES,…', meaning: 'the least that is paid by a method' },
        { flag: 'max', value: 'METHOD=ROUBLES,…', meaning: 'the most that is paid by a method' },
        { flag: 'fee', value: 'METHOD=PERCENT,…', meaning: 'what customers pay on top, like card=2.5' },
      ],
      run: (given) =>
        open(given, async ({ providers }) => {
          const name = given.words[0] ?? ''
          const set = await providers.set(name, await readWish(given))
          const methods = set.terms.methods.map((each) => each.method)
          return { json: { provider: name, methods }, lines: [`${name} is set up: ${methods.join(', ')}.`] }
        }),
    },
    switching(open, 'enable', "Offers a provider's methods again."),
    switching(open, 'disable', "Takes a provider's methods off; what customers have begun to pay goes on."),
  ]
}

const switching = (open: Opened<Deps>, verb: 'enable' | 'disable', summary: string): Command => ({
  name: `payments provider ${verb}`,
  operation: `${verb}Provider`,
  summary,
  takes: [providerWord],
  options: [],
  run: (given) =>
    open(given, async ({ providers }) => {
      const name = given.words[0] ?? ''
      await providers.enable(name, verb === 'enable')
      return { json: { provider: name, enabled: verb === 'enable' }, lines: [`${name} is ${verb}d.`] }
    }),
})

async function readWish(given: Given): Promise<ProviderWish> {
  const pairs = (flag: string): ReadonlyMap<string, string> => {
    const read = readPairs(given.flags[flag] ?? '')
    if (!read) throw mistyped(`--${flag} is a list like name=value,other=value.`)
    return read
  }
  return {
    settings: pairs('settings'),
    methods: given.flags['methods']?.split(','),
    min: pairs('min'),
    max: pairs('max'),
    fee: pairs('fee'),
    secret: await readSecret(given.flags['secret-file']),
  }
}

/** Never from the command line, where every user of the machine could read it. */
async function readSecret(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  return (await readTextFile(path)).trim()
}

function toProviders(found: Awaited<ReturnType<Providers['list']>>): Outcome {
  const rows = found.map(({ kind, set }) => ({
    provider: kind.name,
    state: set === undefined ? 'not set up' : set.isEnabled ? 'enabled' : 'disabled',
    settings: set?.terms.settings ?? {},
    wants: kind.settings.map((each) => ({ name: each.name, meaning: each.meaning, required: each.isRequired })),
    wants_secret: kind.needsSecret,
    methods: (set?.terms.methods ?? []).map((each) => ({
      method: each.method,
      min_rub: toRoubles(each.min),
      max_rub: toRoubles(each.max),
      fee_percent: each.feeHundredths / 100,
    })),
  }))
  const lines = found.flatMap(({ kind, set }, index) => [
    `${kind.name}: ${rows[index]?.state ?? ''}`,
    ...kind.settings.map((each) => `  ${each.name}: ${set?.terms.settings[each.name] ?? each.meaning}`),
    ...table(
      ['  METHOD', 'FROM', 'TO', 'FEE %'],
      (set?.terms.methods ?? []).map((each) => [
        `  ${each.method}`,
        toRoubleText(each.min),
        toRoubleText(each.max),
        String(each.feeHundredths / 100),
      ]),
    ),
  ])
  return { json: rows, lines }
}
