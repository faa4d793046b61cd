import { type Chain, emptyChain, endingWith, problemsOfEnd, problemsOfLink, type Sha256 } from '../../core/chain.ts'
import type { Finding } from '../../core/finding.ts'
import { LineDigest } from '../../core/line-digest.ts'
import { type Kopecks, negate, subtract, toRoubleText, zero } from '../../core/money.ts'
import {
  type Account,
  apiSpentAfter,
  type CheckpointContent,
  checkpointLine,
  fieldsOf,
  isFunding,
  mayLeaveDebt,
  type Posting,
} from './rules.ts'

/** A checkpoint as it is stored. */
export type Checkpoint = CheckpointContent & { readonly hash: Uint8Array }

/** Digests account after account, as each stands at one moment. */
export class CheckpointFold {
  accounts = 0
  postings = 0
  balances = 0n
  private readonly lines: LineDigest

  constructor(sha256: Sha256) {
    this.lines = new LineDigest(sha256)
  }

  add(customer: string, seq: number, hash: Uint8Array, balance: bigint): void {
    this.accounts += 1
    this.postings += seq
    this.balances += balance
    this.lines.add(checkpointLine(customer, seq, hash))
  }

  finish(): Uint8Array {
    return this.lines.finish()
  }
}

/** Walks one account's postings from the first and says of each whether it can follow the one before. */
export class AccountWalk {
  readonly findings: Finding[] = []
  readonly charges = new Map<number, Posting>()
  /** What each token spent here, less refunds. */
  readonly spentByToken = new Map<string, Kopecks>()
  private readonly refunded = new Map<number, bigint>()
  private chain: Chain = emptyChain
  private balance: Kopecks = zero
  private apiSpent: Kopecks = zero

  constructor(
    private readonly customer: string,
    private readonly sha256: Sha256,
  ) {}

  step(posting: Posting): void {
    const where = `posting ${posting.seq} of ${this.customer}`
    const words = { sha256: this.sha256, entry: 'posting' }
    for (const problem of problemsOfLink(this.chain, posting, fieldsOf(posting), words)) {
      this.found('chain', where, problem)
    }
    if (posting.balanceAfter !== this.balance + posting.amount) {
      this.found('balance', where, `balance_after is ${toRoubleText(posting.balanceAfter)}, not the sum up to it`)
    }
    if (posting.balanceAfter < 0n && !mayLeaveDebt(posting)) this.found('balance', where, 'the balance is below zero')
    this.checkKind(posting, where)
    this.chain = endingWith(posting)
    this.balance = (this.balance + posting.amount) as Kopecks
    this.apiSpent = apiSpentAfter(this.apiSpent, posting)
    if (posting.token && !isFunding(posting.kind)) {
      this.spentByToken.set(posting.token, subtract(this.spentByToken.get(posting.token) ?? zero, posting.amount))
    }
  }

  /** The account must say what its postings add up to. */
  finish(account: Account): void {
    const where = `account of ${this.customer}`
    if (account.balance !== this.balance) {
      this.found(
        'balance',
        where,
        `the balance is ${toRoubleText(account.balance)}, its postings sum to ${toRoubleText(this.balance)}`,
      )
    }
    if (account.apiSpent !== this.apiSpent) {
      this.found(
        'api_spent',
        where,
        `api_spent is ${toRoubleText(account.apiSpent)}, its postings say ${toRoubleText(this.apiSpent)}`,
      )
    }
    for (const problem of problemsOfEnd(account, this.chain, 'posting')) this.found('chain', where, problem)
  }

  private checkKind(posting: Posting, where: string): void {
    if (['charge', 'debit'].includes(posting.kind) !== posting.amount < 0n)
      this.found('posting', where, 'its sign does not fit its kind')
    if (posting.house.startsWith('revenue:') === isFunding(posting.kind)) {
      this.found('posting', where, `a ${posting.kind} does not belong to ${posting.house}`)
    }
    if (posting.kind === 'charge') this.charges.set(posting.seq, posting)
    if (posting.kind === 'refund') this.checkRefund(posting, where)
  }

  private checkRefund(posting: Posting, where: string): void {
    const charge = this.charges.get(posting.refundOf ?? 0)
    if (!charge) return this.found('refund', where, 'it refunds a charge that is not there')
    const refunded = (this.refunded.get(charge.seq) ?? 0n) + posting.amount
    if (refunded > negate(charge.amount)) {
      const problem = refunded === posting.amount ? 'it is larger than its charge' : 'its charge was refunded before'
      this.found('refund', where, problem)
    }
    if (posting.order !== charge.order || posting.token !== charge.token || posting.house !== charge.house) {
      this.found('refund', where, 'it does not go back to where its charge was counted')
    }
    this.refunded.set(charge.seq, refunded)
  }

  private found(promise: string, where: string, problem: string): void {
    this.findings.push({ promise, where, problem })
  }
}
