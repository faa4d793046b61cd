import type { Ledger, LedgerAudit } from '../domains/ledger/index.ts'
import type { Posting } from '../domains/ledger/rules.ts'
import type { Orders } from '../domains/orders/index.ts'
import { type Audit, type Finding, mostFindings, type Verifier } from '../kernel/finding.ts'
import type { CustomerId } from '../kernel/ids.ts'
import { type Kopecks, readRoubles, toRoubles, toRoubleText } from '../kernel/money.ts'
import { Refusal } from '../kernel/refusal.ts'
import { type Command, mistyped } from './command.ts'
import { customerWord, type Opened, orderWord, readCustomer, readNote, readOrder } from './typed.ts'

type Deps = {
  ledger: Ledger
  orders: Orders
  ledgerAudit: LedgerAudit
  verifiers: readonly Verifier[]
  credit: (customer: CustomerId, amount: Kopecks, note: string) => Promise<Posting>
}

export function moneyCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'credit',
      summary: "Adds money to a customer's balance.",
      takes: [customerWord, { name: 'ROUBLES', meaning: 'how much, like 1000 or 99.90' }],
      options: [{ flag: 'note', value: 'TEXT', meaning: 'why; the customer sees it' }],
      run: (given) =>
        open(given, async ({ credit }) => {
          const amount = readAmount(given.words[1] ?? '')
          const posting = await credit(readCustomer(given.words[0]), amount, readNote(given, 'top-up'))
          return toOutcome(posting, 'Credited')
        }),
    },
    {
      name: 'refund',
      summary: 'Gives back what an order cost, whole or in part, once. It takes back nothing that was delivered.',
      takes: [orderWord],
      options: [
        { flag: 'amount', value: 'ROUBLES', meaning: 'how much; all of it unless said' },
        { flag: 'note', value: 'TEXT', meaning: 'why; the customer sees it' },
      ],
      run: (given) =>
        open(given, async ({ orders }) => {
          const id = readOrder(given.words[0])
          const amount = given.flags['amount'] === undefined ? 'all' : readAmount(given.flags['amount'])
          const { posting } = await orders.refund(id, amount, readNote(given, 'refund'))
          return toOutcome(posting, 'Refunded')
        }),
    },
    {
      name: 'verify',
      summary: 'Recomputes every promise on the live database; says what is wrong and ends with 1 if anything is.',
      takes: [],
      options: [],
      run: (given) => open(given, ({ verifiers }) => verify(verifiers)),
    },
    {
      name: 'checkpoint',
      summary:
        "Writes down a digest of every account's history now. Keep its hash elsewhere: it shows a rewritten past.",
      takes: [],
      options: [],
      run: (given) =>
        open(given, async ({ ledgerAudit }) => {
          const made = await ledgerAudit.makeCheckpoint()
          if (!made) return { json: null, lines: ['Nothing has settled since the last checkpoint.'] }
          const hash = made.hash.toHex()
          return {
            json: { number: made.number, accounts: made.accounts, postings: made.postings, hash },
            lines: [`Checkpoint ${made.number} over ${made.accounts} accounts, ${made.postings} postings: ${hash}`],
          }
        }),
    },
  ]
}

async function verify(verifiers: readonly Verifier[]) {
  const findings: Finding[] = []
  const covered: Record<string, number> = {}
  for (const verifier of verifiers) {
    const audit = await auditOf(verifier)
    findings.push(...audit.findings)
    Object.assign(covered, audit.covered)
  }
  const counts = Object.entries(covered).map(([name, count]) => `${count} ${name}`)
  const ok = findings.length === 0
  return {
    json: { ok, findings: findings.slice(0, mostFindings), found: findings.length, covered },
    lines: [
      ...findings.slice(0, mostFindings).map((each) => `WRONG  ${each.promise}: ${each.where}: ${each.problem}`),
      ok ? `All promises hold: ${counts.join(', ')}.` : `${findings.length} wrong, among ${counts.join(', ')}.`,
    ],
    exit: ok ? 0 : 1,
  }
}

/** Rows that cannot even be read are a finding too: whoever damaged them must not silence the rest of the report. */
async function auditOf(verifier: Verifier): Promise<Audit> {
  try {
    return await verifier.verify()
  } catch (error) {
    if (error instanceof Refusal || !(error instanceof Error)) throw error
    const finding = { promise: verifier.name, where: 'database', problem: `it cannot be read: ${error.message}` }
    return { findings: [finding], covered: {} }
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
