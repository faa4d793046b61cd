import { existsSync, readFileSync } from 'node:fs'
import {
  type Adjustment,
  createKeptVerifier,
  type KeptCheckpoint,
  type Ledger,
  type LedgerAudit,
} from '../domains/ledger/index.ts'
import type { Posting } from '../domains/ledger/rules.ts'
import type { Refunds, Told } from '../domains/orders/index.ts'
import { type Verifier, verifyAll } from '../kernel/finding.ts'
import type { CustomerId } from '../kernel/ids.ts'
import { type Kopecks, readRoubles, toRoubles, toRoubleText } from '../kernel/money.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, type Outcome, table } from './command.ts'
import {
  customerWord,
  keyOption,
  noteOption,
  type Opened,
  orderWord,
  readCustomer,
  readKey,
  readNote,
  readOrder,
  readWhole,
} from './typed.ts'

type Deps = {
  ledger: Ledger
  refunds: Refunds
  ledgerAudit: LedgerAudit
  verifiers: readonly Verifier[]
  keepCheckpoint: (checkpoint: { number: number; hash: string; madeAt: string }) => Promise<void>
  adjust: (customer: CustomerId, wish: Adjustment) => Promise<{ posting: Posting; isRepeat: boolean }>
}

export function moneyCommands(open: Opened<Deps>): readonly Command[] {
  return [
    adjusting(open, {
      kind: 'credit',
      summary: "Adds money to a customer's balance.",
      note: 'top-up',
      done: 'Credited',
    }),
    adjusting(open, {
      kind: 'debit',
      summary: "Takes money off a customer's balance that was credited wrongly, as far as it is still there.",
      note: 'correction',
      done: 'Debited',
    }),
    {
      name: 'transaction list',
      operation: 'listMovements',
      summary: "Lists a customer's movements of money, newest first, with the payments' references.",
      takes: [customerWord],
      options: [
        { flag: 'limit', value: 'N', meaning: 'how many, 1 to 500; 100 unless said' },
        { flag: 'before', value: 'N', meaning: 'only those below this number' },
      ],
      run: (given) => open(given, ({ ledger }) => listTransactions(ledger, given)),
    },
    {
      name: 'refund',
      operation: 'refundOrder',
      summary:
        'Gives back what an order cost, whole or in part, once; with --end it also ends what the order has bought.',
      takes: [orderWord],
      options: [
        { flag: 'amount', value: 'ROUBLES', meaning: 'how much; all of it unless said' },
        { flag: 'again', meaning: 'give back more of an order of which a part was given back already' },
        {
          flag: 'end',
          meaning: 'end its proxies, traffic or VPN in the same step, for the part of the price that is unused',
        },
        { flag: 'whole', meaning: 'with --end, of proxies: give back all that the order cost' },
        noteOption,
        keyOption,
      ],
      run: (given) => open(given, async ({ refunds }) => refund(refunds, given)),
    },
    {
      name: 'verify',
      operation: 'startVerify',
      summary: 'Recomputes every promise on the live database; says what is wrong and ends with 1 if anything is.',
      takes: [],
      options: [
        {
          flag: 'against',
          value: 'HASH|FILE',
          meaning:
            'a checkpoint that was kept elsewhere, or the file that they were kept in: each must be in this database',
        },
      ],
      run: (given) => {
        const kept = given.flags['against'] === undefined ? undefined : readKept(given.flags['against'])
        return open(given, ({ verifiers, ledgerAudit }) =>
          verify(kept === undefined ? verifiers : [...verifiers, createKeptVerifier(ledgerAudit, kept)]),
        )
      },
    },
    {
      name: 'checkpoint',
      operation: 'makeCheckpoint',
      summary:
        "Writes down a digest of every account's history now. Keep its hash elsewhere: it shows a rewritten past.",
      takes: [],
      options: [],
      run: (given) =>
        open(given, async ({ ledgerAudit, keepCheckpoint }) => {
          const made = await ledgerAudit.makeCheckpoint()
          if (!made) return { json: null, lines: ['Nothing has settled since the last checkpoint.'] }
          const hash = made.hash.toHex()
          await keepCheckpoint({ number: made.number, hash, madeAt: toIso(made.madeAt) })
          return {
            json: { number: made.number, accounts: made.accounts, postings: made.postings, hash },
            lines: [`Checkpoint ${made.number} over ${made.accounts} accounts, ${made.postings} postings: ${hash}`],
          }
        }),
    },
  ]
}

/** Adding to a balance, or taking off it: the same words for both. */
const adjusting = (
  open: Opened<Deps>,
  of: { readonly kind: Adjustment['kind']; summary: string; note: string; done: string },
): Command => ({
  name: of.kind,
  operation: `${of.kind}Customer`,
  summary: of.summary,
  takes: [customerWord, { name: 'ROUBLES', meaning: 'how much, like 1000 or 99.90' }],
  options: [
    { flag: 'note', value: 'TEXT', meaning: 'why; the customer sees it' },
    { flag: 'key', value: 'KEY', meaning: 'a text of your choice: repeated with it, nothing happens a second time' },
    { flag: 'reference', value: 'TEXT', meaning: "the payment's number at your bank; only operators see it" },
  ],
  run: (given) =>
    open(given, async ({ adjust }) => {
      const { posting, isRepeat } = await adjust(readCustomer(given.words[0]), {
        kind: of.kind,
        amount: readAmount(given.words[1] ?? ''),
        note: readNote(given, of.note),
        key: readMark(given, 'key'),
        reference: readMark(given, 'reference'),
      })
      return toOutcome(posting, isRepeat ? `Done before under this key, nothing changed now: ${of.done}` : of.done)
    }),
})

function readMark(given: Given, flag: 'key' | 'reference'): string | null {
  const text = given.flags[flag]
  if (text === undefined) return null
  if (!/^[^\p{Cc}\p{Cs}]{1,255}$/u.test(text)) throw mistyped(`--${flag} is 1 to 255 printable characters.`)
  return text
}

async function listTransactions(ledger: Ledger, given: Given): Promise<Outcome> {
  const customer = readCustomer(given.words[0])
  await ledger.balance(customer)
  const limit = readWhole(given, 'limit', 100, { min: 1, max: 500 })
  const before =
    given.flags['before'] === undefined ? undefined : readWhole(given, 'before', 1, { min: 1, max: 2 ** 40 })
  const postings = await ledger.history(customer, before, limit)
  return {
    json: postings.map((each) => ({
      transaction: each.seq,
      at: toIso(each.at),
      kind: each.kind,
      amount_rub: toRoubles(each.amount),
      balance_rub: toRoubles(each.balanceAfter),
      order: each.order,
      key: each.key,
      reference: each.reference,
      note: each.note,
    })),
    lines: table(
      ['NO', 'AT', 'KIND', 'AMOUNT', 'BALANCE', 'ORDER', 'REFERENCE', 'NOTE'],
      postings.map((each) => [
        String(each.seq),
        toIso(each.at),
        each.kind,
        toRoubleText(each.amount),
        toRoubleText(each.balanceAfter),
        each.order ?? '',
        each.reference ?? '',
        each.note,
      ]),
    ),
  }
}

async function refund(refunds: Refunds, given: Given): Promise<Outcome> {
  const common = { order: readOrder(given.words[0]), note: readNote(given, 'refund'), key: readKey(given) }
  if (!given.has('end')) {
    if (given.has('whole'))
      throw mistyped('--whole goes with --end; without it an order is refunded whole unless said.')
    const amount = given.flags['amount'] === undefined ? 'all' : readAmount(given.flags['amount'])
    return toRefund(await refunds.refund({ ...common, amount, again: given.has('again') }))
  }
  if (given.has('amount') || given.has('again')) throw mistyped('--end says itself how much is given back.')
  return toRefund(await refunds.end({ ...common, how: given.has('whole') ? 'whole' : 'unused' }))
}

const toRefund = (told: Told): Outcome => ({
  json: told,
  lines: [
    `${told['replayed'] ? 'Done before: refunded' : 'Refunded'} ${rub(told['amount_rub'])} RUB. ` +
      `The balance is ${rub(told['balance_rub'])} RUB.`,
  ],
})

const rub = (amount: unknown): string => Number(amount).toFixed(2)

/** A hash, or a file with one on each line, as the shop appends them. */
function readKept(text: string): KeptCheckpoint[] {
  if (/^[0-9a-f]{64}$/i.test(text)) return [{ number: undefined, hash: text.toLowerCase() }]
  if (!existsSync(text)) throw mistyped('--against is a checkpoint’s hash of 64 hexadecimal digits, or a file of them.')
  const lines = readFileSync(text, 'utf8').split('\n')
  const kept = lines.flatMap((line): KeptCheckpoint[] => {
    const hash = /\b[0-9a-f]{64}\b/i.exec(line)?.[0]
    const number = /"number":\s*(\d{1,15})/.exec(line)?.[1]
    return hash === undefined
      ? []
      : [{ number: number === undefined ? undefined : Number(number), hash: hash.toLowerCase() }]
  })
  if (kept.length === 0) throw mistyped(`${text} has no checkpoint in it.`)
  return kept
}

/** On a terminal, one line that tells how far it has come. */
function showProgress(name: string): { readonly tell: (done: number) => void; readonly end: () => void } {
  if (!process.stderr.isTTY) return { tell: () => {}, end: () => {} }
  const write = (text: string): void => void process.stderr.write(`\r\x1b[K${text}`)
  write(`${name} …`)
  return { tell: (done) => write(`${name} … ${done}`), end: () => write('') }
}

async function verify(verifiers: readonly Verifier[]): Promise<Outcome> {
  let progress = showProgress('')
  const verdict = await verifyAll(verifiers, (name) => {
    progress.end()
    progress = showProgress(name)
    return progress.tell
  })
  progress.end()
  const { ok, findings, found, covered, notes } = verdict
  const counts = Object.entries(covered).map(([name, count]) => `${count} ${name}`)
  return {
    json: verdict,
    lines: [
      ...findings.map((each) => `WRONG  ${each.promise}: ${each.where}: ${each.problem}`),
      ...[...new Set(findings.map((each) => each.advice))].map((advice) => `TO DO  ${advice}.`),
      ...notes.map((note) => `NOTE   ${note}`),
      ok ? `All promises hold: ${counts.join(', ')}.` : `${found} wrong, among ${counts.join(', ')}.`,
    ],
    exit: ok ? 0 : 1,
  }
}

const toOutcome = (posting: Posting, verb: string) => ({
  json: {
    customer: posting.customer,
    transaction: posting.seq,
    amount_rub: toRoubles(posting.amount),
    balance_rub: toRoubles(posting.balanceAfter),
  },
  lines: [`${verb} ${toRoubleText(posting.amount)} RUB. The balance is ${toRoubleText(posting.balanceAfter)} RUB.`],
})

function readAmount(text: string): Kopecks {
  const amount = readRoubles(text)
  if (amount === undefined || amount === 0n)
    throw mistyped('An amount is roubles like 1000 or 99.90, more than nothing.')
  return amount
}
