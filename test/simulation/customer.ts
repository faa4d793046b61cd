import type { Process } from './process.ts'
import { shopUrl } from './shop.ts'
import { BrokenPromise, type World } from './world.ts'

/** A charge that a customer asks for, under one idempotency key, until it is answered for good. */
export type Purchase = {
  readonly customer: string
  readonly key: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** The first answer of 200; every later one must be the same. */
  answer: string | undefined
  refusal: string | undefined
  answeredAtMs?: number
  /** The database went back to a time before it: its answers bind no one any more. */
  isLost?: boolean
  /** How many requests wait for an answer. */
  waiting: number
}

/** A program repeats after this long without an answer, and gives up a request after that. */
const impatientMs = 700
const patientMs = 9_000
const restMs = 400

/** Refusals that say nothing of the purchase: the program repeats. */
const repeatedReasons = new Set([
  'request_in_progress',
  'database_busy',
  'database_unavailable',
  'shop_stopping',
  'rate_limited',
  'change_limit',
])

/** The program of a reseller: it buys under keys, and repeats without an answer. */
export class Customer {
  readonly purchases = new Map<string, Purchase>()
  readonly process: Process
  /** Ids of proxies and orders from answers. */
  readonly proxies: number[] = []
  readonly orders: string[] = []
  readonly subscriptions: string[] = []
  readonly payments: string[] = []
  private running = 0
  /** The customer has begun a payment. */
  onPayment: (payment: string) => void = () => {}

  constructor(
    readonly world: World,
    readonly name: string,
    private readonly account: Readonly<Record<'id' | 'token' | 'login' | 'second', string>>,
  ) {
    this.process = world.start(name)
  }

  get id(): string {
    return this.account.id
  }

  get login(): string {
    return this.account.login
  }

  get secondSubuser(): string {
    return this.account.second
  }

  get isIdle(): boolean {
    return this.running === 0
  }

  /** Begins something that ends by itself. */
  begin(work: () => Promise<void>): void {
    this.running += 1
    this.process.run(() => {
      work()
        .catch((error: unknown) => this.world.fail(error))
        .finally(() => {
          this.running -= 1
        })
    })
  }

  /** A request to the shop; undefined without an answer. */
  async ask(method: string, path: string, body?: object, key?: string, limitMs = patientMs) {
    try {
      const response = await fetch(`${shopUrl}/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.account.token}`,
          ...(body && { 'content-type': 'application/json' }),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(limitMs),
      })
      const text = await response.text()
      return { status: response.status, text, headers: response.headers }
    } catch (error) {
      if (error instanceof BrokenPromise) throw error
      return undefined
    }
  }

  /** Asks under the key until the shop accepts or refuses for good. `sends` requests run at the same time at most. */
  async buy(key: string, path: string, body: Readonly<Record<string, unknown>>, isImpatient: boolean): Promise<void> {
    const known = this.purchases.get(key)
    const purchase = known ?? {
      customer: this.account.id,
      key,
      path,
      body,
      answer: undefined,
      refusal: undefined,
      waiting: 0,
    }
    this.purchases.set(key, purchase)
    for (let sent = 0; ; sent += 1) {
      // A program that repeats beside its own earlier request, as one behind a proxy with a short timeout does.
      const limitMs = isImpatient && sent < 2 ? impatientMs : patientMs
      purchase.waiting += 1
      const isReplay = purchase.answer !== undefined
      const answer = await this.ask('POST', path, body, key, limitMs)
      purchase.waiting -= 1
      if (answer && this.take(purchase, answer, isReplay)) return
      await new Promise((resolve) => setTimeout(resolve, restMs * (1 + this.world.chance(`rest of ${this.name}`, 3))))
    }
  }

  /** Returns whether the answer is final. */
  private take(
    purchase: Purchase,
    { status, text }: { readonly status: number; readonly text: string },
    isReplay: boolean,
  ): boolean {
    const { key, path } = purchase
    if (purchase.isLost === true && status !== 500) return true
    if (status === 200) {
      if (purchase.answer === undefined) {
        this.world.note(`${this.name} has the answer to ${path} under key ${key}`)
        purchase.answer = text
        purchase.answeredAtMs = this.world.nowMs
        this.learn(text)
      } else if (purchase.answer !== text) {
        throw new BrokenPromise(`a replay answers as the first: not so for key ${key} of ${this.name}`)
      }
      return true
    }
    const { error } = JSON.parse(text) as { error: { reason: string; charged?: boolean | null } }
    if (status === 500) throw new BrokenPromise(`no request meets a fault: ${path} under key ${key} does`)
    if (repeatedReasons.has(error.reason)) {
      this.world.note(`${this.name} is told to repeat ${path} under key ${key}: ${error.reason}`)
      return false
    }
    // A purchase that was answered is never refused later under its key.
    if (isReplay) {
      throw new BrokenPromise(`a replay answers as the first: key ${key} of ${this.name} is refused (${error.reason})`)
    }
    // Two requests ran at the same time: the first was refused, and its answer came after that of the second.
    if (purchase.answer !== undefined) return true
    this.world.note(`${this.name} is refused ${path} under key ${key}: ${error.reason}`)
    purchase.refusal = error.reason
    return true
  }

  private learn(text: string): void {
    const { data } = JSON.parse(text) as {
      data: { order_id?: string; uuid?: string; payment_id?: string; proxies?: readonly { readonly id: number }[] }
    }
    if (data.order_id !== undefined) this.orders.push(data.order_id)
    if (data.payment_id !== undefined) {
      this.payments.push(data.payment_id)
      this.onPayment(data.payment_id)
    }
    if (data.uuid !== undefined) this.subscriptions.push(data.uuid)
    for (const { id } of data.proxies ?? []) if (!this.proxies.includes(id)) this.proxies.push(id)
  }

  pick<Item>(what: string, items: readonly Item[]): Item | undefined {
    return items[this.world.chance(`${this.name} chooses ${what}`, items.length)]
  }
}
