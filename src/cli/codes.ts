import { readCode } from '../domains/payments/codes/rules.ts'
import { type Codes, type Referrals, readPercent } from '../domains/payments/index.ts'
import { readRoubles, toRoubles, toRoubleText, zero } from '../kernel/money.ts'
import { readIso, toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, type Outcome, table } from './command.ts'
import { customerWord, type Opened, readCustomer, readNote, readWhole } from './typed.ts'

type Deps = { codes: Codes; referrals: Referrals }
const codeWord = { name: 'CODE', meaning: '3 to 40 letters, digits, - and _, in any case' }

export function codeCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'code add',
      operation: 'addCode',
      summary: 'Makes a code that adds to top-ups, once for each customer.',
      takes: [codeWord],
      options: [
        { flag: 'amount', value: 'ROUBLES', meaning: 'how much it adds' },
        { flag: 'percent', value: 'PERCENT', meaning: 'or which part of the top-up, like 10' },
        { flag: 'least', value: 'ROUBLES', meaning: 'only to a top-up of at least so much' },
        { flag: 'uses', value: 'N', meaning: 'how often in all; without a bound unless said' },
        { flag: 'until', value: 'MOMENT', meaning: 'until when, like 2027-01-31' },
        { flag: 'note', value: 'TEXT', meaning: 'what it is for; only operators see it' },
      ],
      run: (given) => open(given, ({ codes }) => addCode(codes, given)),
    },
    {
      name: 'code list',
      operation: 'listCodes',
      summary: 'Lists codes, newest first, and how often each was used.',
      takes: [],
      options: [{ flag: 'limit', value: 'N', meaning: 'how many, 1 to 500; 100 unless said' }],
      run: (given) => open(given, ({ codes }) => listCodes(codes, given)),
    },
    {
      name: 'code end',
      operation: 'endCode',
      summary: 'Ends a code. What was promised with it before is given.',
      takes: [codeWord],
      options: [],
      run: (given) =>
        open(given, async ({ codes }) => {
          const code = loadCode(given.words[0])
          await codes.end(code)
          return { json: { code, ended: true }, lines: [`${code} has ended.`] }
        }),
    },
    ...referralCommands(open),
  ]
}

function referralCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'referral set',
      operation: 'setReferralTerms',
      summary: 'Says how much whoever brought a customer gets of his first top-ups; nothing, as shipped.',
      takes: [{ name: 'PERCENT', meaning: 'of each of these top-ups; 0 is off' }],
      options: [{ flag: 'top-ups', value: 'N', meaning: 'of how many, 1 to 1000; 1 unless said' }],
      run: (given) =>
        open(given, async ({ referrals }) => {
          const hundredths = readPercent(given.words[0] ?? '')
          if (hundredths === undefined) throw mistyped('PERCENT is below 100, with at most two decimals.')
          const topUps = readWhole(given, 'top-ups', 1, { min: 1, max: 1000 })
          await referrals.set({ hundredths, topUps })
          return { json: { percent: hundredths / 100, top_ups: topUps }, lines: ['Set.'] }
        }),
    },
    {
      name: 'referral add',
      operation: 'addReferral',
      summary: 'Says who brought a customer, once and for good.',
      takes: [customerWord],
      options: [{ flag: 'by', value: 'CUSTOMER', meaning: 'who was a customer before' }],
      run: (given) =>
        open(given, async ({ referrals }) => {
          const [customer, referrer] = [readCustomer(given.words[0]), readCustomer(given.flags['by'])]
          await referrals.add(customer, referrer)
          return { json: { customer, referrer }, lines: [`${referrer} has brought ${customer}.`] }
        }),
    },
    {
      name: 'referral list',
      operation: 'listReferrals',
      summary: 'Lists who brought whom, newest first, and what that is worth.',
      takes: [],
      options: [{ flag: 'limit', value: 'N', meaning: 'how many, 1 to 500; 100 unless said' }],
      run: (given) =>
        open(given, async ({ referrals }) => {
          const found = await referrals.list(readWhole(given, 'limit', 100, { min: 1, max: 500 }))
          const terms = await referrals.terms()
          const worth = terms ? `${terms.hundredths / 100} % of the first ${terms.topUps} top-ups.` : 'Nothing.'
          return {
            json: { terms: terms ?? null, referrals: found.map((each) => ({ ...each, at: toIso(each.at) })) },
            lines: [
              `Whoever brings a customer gets: ${worth}`,
              ...table(
                ['CUSTOMER', 'BROUGHT BY', 'AT'],
                found.map((each) => [each.customer, each.referrer, toIso(each.at)]),
              ),
            ],
          }
        }),
    },
  ]
}

function loadCode(text = ''): string {
  const code = readCode(text)
  if (!code) throw mistyped(`CODE is ${codeWord.meaning}.`)
  return code
}

async function addCode(codes: Codes, given: Given): Promise<Outcome> {
  const { amount, percent, least, uses, until } = given.flags
  if ((amount === undefined) === (percent === undefined)) throw mistyped('Say --amount or --percent.')
  const value = amount === undefined ? readPercent(percent ?? '') : readRoubles(amount)
  if (!value) throw mistyped(amount === undefined ? '--percent is like 10 or 2.5.' : '--amount is like 100 or 99.90.')
  const leastKopecks = least === undefined ? zero : readRoubles(least)
  if (leastKopecks === undefined) throw mistyped('--least is like 100 or 99.90.')
  const untilAt = until === undefined ? null : readIso(until)
  if (untilAt === undefined) throw mistyped('--until is a date like 2027-01-31 or a moment like 2027-01-31T12:00:00Z.')
  const code = {
    code: loadCode(given.words[0]),
    kind: amount === undefined ? ('percent' as const) : ('amount' as const),
    value: BigInt(value),
    least: leastKopecks,
    uses: uses === undefined ? null : readWhole(given, 'uses', 1, { min: 1, max: 1_000_000_000 }),
    untilAt,
    note: readNote(given, 'code'),
  }
  await codes.add(code)
  return { json: { code: code.code }, lines: [`${code.code} adds to top-ups from now on.`] }
}

async function listCodes(codes: Codes, given: Given): Promise<Outcome> {
  const found = await codes.list(readWhole(given, 'limit', 100, { min: 1, max: 500 }))
  const worth = (of: (typeof found)[number]): string =>
    of.kind === 'percent' ? `${Number(of.value) / 100} %` : `${Number(of.value) / 100} RUB`
  return {
    json: found.map((each) => ({
      code: each.code,
      [each.kind === 'percent' ? 'percent' : 'amount_rub']: Number(each.value) / 100,
      least_rub: toRoubles(each.least),
      uses: each.uses,
      used: each.used,
      until: each.untilAt === null ? null : toIso(each.untilAt),
      ended_at: each.endedAt === null ? null : toIso(each.endedAt),
      note: each.note,
    })),
    lines: table(
      ['CODE', 'ADDS', 'FROM', 'USED', 'OF', 'UNTIL', 'NOTE'],
      found.map((each) => [
        each.code,
        worth(each),
        toRoubleText(each.least),
        String(each.used),
        each.uses === null ? '' : String(each.uses),
        each.endedAt === null ? (each.untilAt === null ? '' : toIso(each.untilAt)) : 'ended',
        each.note,
      ]),
    ),
  }
}
