import { type Chain, emptyChain, endingWith, problemsOfEnd, problemsOfLink, type Sha256 } from '../../../core/chain.ts'
import type { Finding } from '../../../core/finding.ts'
import { type ByteAccount, type ByteMovement, fieldsOf, usedBy } from './rules.ts'

/** What an account's movements say of its leases, to be compared with what the nodes' lines say. */
export type LeaseSums = {
  readonly leased: bigint
  readonly back: bigint
  readonly settled: bigint
  readonly late: bigint
  readonly aside: bigint
}

/** Walks one account's movements from the first and says of each whether it can follow the one before. */
export class AccountWalk {
  readonly findings: Finding[] = []
  private chain: Chain = emptyChain
  private balance = 0n
  private aside = 0n
  private owed = 0n
  private used = 0n
  private leased = 0n
  private back = 0n
  private settled = 0n
  private late = 0n
  private arrived = 0n
  private readonly name: string

  constructor(
    private readonly account: ByteAccount,
    private readonly sha256: Sha256,
  ) {
    this.name = `${account.pool} traffic of ${account.subuser}`
  }

  step(movement: ByteMovement): void {
    const where = `movement ${movement.seq} of ${this.name}`
    const words = { sha256: this.sha256, entry: 'movement' }
    for (const problem of problemsOfLink(this.chain, movement, fieldsOf(movement), words)) this.found(where, problem)
    this.balance += movement.amount
    this.aside += movement.aside
    this.owed += movement.owed
    this.used += usedBy(movement)
    const isSum =
      movement.balanceAfter === this.balance && movement.asideAfter === this.aside && movement.owedAfter === this.owed
    if (!isSum) this.found(where, 'what stands after it is not the sum up to it')
    if (this.balance < 0n || this.aside < 0n || this.owed < 0n) this.found(where, 'something is below zero')
    this.addToSums(movement)
    this.chain = endingWith(movement)
  }

  /** The account must say what its movements add up to, and its lots must hold what it does. */
  finish(lots: { readonly rest: bigint; readonly size: bigint }): LeaseSums {
    const { account } = this
    const where = `account of ${this.name}`
    if (account.balance !== this.balance) {
      this.found(where, `the balance is ${account.balance}, its movements sum to ${this.balance}`)
    }
    if (account.aside !== this.aside || account.owed !== this.owed || account.used !== this.used) {
      this.found(where, 'what is set aside, owed or used is not what its movements say')
    }
    for (const problem of problemsOfEnd(account, this.chain, 'movement')) this.found(where, problem)
    const held = account.balance + account.aside
    if (lots.rest !== held) this.found(where, `its lots hold ${lots.rest} bytes, the account ${held}`, 'lots')
    if (lots.size !== this.arrived) {
      this.found(where, `its lots came with ${lots.size} bytes, ${this.arrived} have arrived`, 'lots')
    }
    return { leased: this.leased, back: this.back, settled: this.settled, late: this.late, aside: account.aside }
  }

  private addToSums(movement: ByteMovement): void {
    if (movement.kind === 'bought' || movement.kind === 'moved_in') this.arrived += movement.amount
    if (movement.kind === 'leased') this.leased += movement.aside
    if (movement.kind === 'returned' || movement.kind === 'lapsed') this.back += movement.amount
    if (movement.kind !== 'used') return
    // What pays a debt out of what came back is neither carried now nor settled: the node's line says that it came
    // back.
    if (movement.owed < 0n) this.back -= movement.aside
    else if (movement.aside < 0n) this.settled -= movement.aside
    else this.late += movement.owed - movement.amount
  }

  private found(where: string, problem: string, promise = 'bytes'): void {
    this.findings.push({ promise, where, problem })
  }
}
