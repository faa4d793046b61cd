import { CallLost, CallOffline, CallRefused, isRecord } from '../client/call.ts'
import { keptTab } from '../client/session.ts'

/** The outcome of a purchase whose page was left before the shop had answered. */
type Outcome = { readonly order: string | null } | { readonly refusal: string }

/**
 * A call that charges, from the press until its outcome is known. The browser stores it with its idempotency key: a
 * page that loads after a reload, a crash or a closed tab can ask for the outcome, and a repeat has one effect.
 */
export type Attempt = {
  readonly key: string
  readonly owner: string
  readonly operation: string
  readonly body: object
  readonly startedAt: number
  readonly tab: string
  readonly isKept: boolean
  /** Whether a request under this key was sent and its answer did not arrive. */
  isLost: boolean
  isSettled: boolean
  outcome: Outcome | undefined
}

/** The shop keeps a key for 7 days: after that a repeat would buy again. */
const keptMs = 86_400_000

/** The query of the attempts that no form shows. */
export const attemptsKey = ['attempts']

const randomText = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

const lockOf = (tab: string): string => `turnpike.tab.${tab}`

/** This tab's name, the same after a reload. The tab holds a lock of this name until it is closed. */
const thisTab = nameTab()

function nameTab(): string {
  const name = sessionStorage.getItem(keptTab) ?? randomText()
  sessionStorage.setItem(keptTab, name)
  if (hasLocks()) void navigator.locks.request(lockOf(name), () => new Promise<never>(() => {}))
  return name
}

/** Browsers have locks only on pages from HTTPS or from the same machine. */
function hasLocks(): boolean {
  return 'locks' in navigator
}

/** Those of the tabs that are closed; without locks, every other tab counts as open. */
async function findClosed(tabs: readonly string[]): Promise<readonly string[]> {
  if (!hasLocks()) return []
  const { held: locks = [] } = await navigator.locks.query()
  return tabs.filter((tab) => !locks.some((lock) => lock.name === lockOf(tab)))
}

const prefixOf = (owner: string): string => `turnpike.attempt.${owner}.`

function readAttempt(owner: string, name: string): Attempt | undefined {
  const stored: unknown = JSON.parse(localStorage.getItem(name) ?? 'null')
  if (!isRecord(stored)) return undefined
  const { operation, body, startedAt, tab, outcome } = stored
  if (typeof operation !== 'string' || typeof startedAt !== 'number' || typeof tab !== 'string') return undefined
  if (!isRecord(body) || startedAt < Date.now() - keptMs) return undefined
  const key = name.slice(prefixOf(owner).length)
  const state = { isLost: true, isSettled: outcome !== undefined, outcome: readOutcome(outcome) }
  return { key, owner, operation, body, startedAt, tab, isKept: true, ...state }
}

function readOutcome(stored: unknown): Outcome | undefined {
  if (!isRecord(stored)) return undefined
  const { order, refusal } = stored
  return typeof refusal === 'string' ? { refusal } : { order: typeof order === 'string' ? order : null }
}

function save(attempt: Attempt): void {
  const { key, owner, operation, body, startedAt, tab, isKept, outcome } = attempt
  if (!isKept) return
  localStorage.setItem(prefixOf(owner) + key, JSON.stringify({ operation, body, startedAt, tab, outcome }))
}

export function forget(attempt: Attempt): void {
  attempt.isSettled = true
  localStorage.removeItem(prefixOf(attempt.owner) + attempt.key)
}

/** The stored attempts of this tab and of closed tabs. */
async function listAttempts(owner: string): Promise<readonly Attempt[]> {
  const found: Attempt[] = []
  for (const name of Object.keys(localStorage).filter((each) => each.startsWith(prefixOf(owner)))) {
    const attempt = readAttempt(owner, name)
    if (attempt) found.push(attempt)
    else localStorage.removeItem(name)
  }
  const closed = await findClosed(found.map((each) => each.tab))
  return found
    .filter((each) => each.tab === thisTab || closed.includes(each.tab))
    .toSorted((a, b) => a.startedAt - b.startedAt)
}

/** The keys whose outcome a form on the page shows. */
const held = new Set<string>()

export function hold(attempt: Attempt): Attempt {
  held.add(attempt.key)
  return attempt
}

export function release(attempt: Attempt | undefined): void {
  if (attempt) held.delete(attempt.key)
}

/** The attempts that no form on the page shows: their forms were left, reloaded or closed. */
export const listLeft = async (owner: string): Promise<readonly Attempt[]> =>
  (await listAttempts(owner)).filter((each) => !held.has(each.key))

type Purchase = Pick<Attempt, 'owner' | 'operation' | 'body' | 'isKept'>

/** A request without its limit of the price: the shop compares keys without it, and a page may show a newer price. */
const writeWithoutLimit = (body: object): string => JSON.stringify({ ...body, max_price_rub: undefined })

/** The attempt of a purchase: the earlier one with its key, if the outcome of the same request is unknown. */
export async function beginAttempt(purchase: Purchase, current: Attempt | undefined): Promise<Attempt> {
  const written = writeWithoutLimit(purchase.body)
  const isSame = (each: Attempt): boolean =>
    each.operation === purchase.operation && !each.isSettled && writeWithoutLimit(each.body) === written
  const earlier = [current, ...(purchase.isKept ? await listAttempts(purchase.owner) : [])]
  const found = earlier.find((each) => each !== undefined && isSame(each))
  if (found) return { ...found, body: purchase.body, tab: thisTab }
  const state = { startedAt: Date.now(), tab: thisTab, isLost: false, isSettled: false, outcome: undefined }
  return { ...purchase, ...state, key: `console-${randomText()}` }
}

/** Whether a failure tells the outcome: that nothing was bought under the key. */
function isFinal(error: unknown, { isLost }: Attempt): boolean {
  if (error instanceof CallOffline) return !isLost
  if (!(error instanceof CallRefused) || error.charged === 'unknown') return false
  if (error.code === 'request_in_progress') return false
  // The shop may refuse a caller before it looks the key up: that tells nothing about an earlier request.
  return !isLost || !(error.status >= 500 || [401, 403, 429].includes(error.status))
}

/** Sends an attempt's request. If its form is left meanwhile, the outcome is stored for the next page. */
export async function runAttempt<Answer>(attempt: Attempt, call: () => Promise<Answer>): Promise<Answer> {
  save(attempt)
  try {
    const answer = await call()
    const order = isRecord(answer) && typeof answer['order_id'] === 'string' ? answer['order_id'] : null
    settle(attempt, { order })
    return answer
  } catch (error) {
    if (isFinal(error, attempt)) settle(attempt, { refusal: error instanceof Error ? error.message : '' })
    else if (attempt.isLost && !(error instanceof CallLost)) throw new CallLost(String(error))
    attempt.isLost = true
    throw error
  }
}

/** Ends an attempt. Its form shows the outcome; without the form it is stored. */
function settle(attempt: Attempt, outcome: Outcome): void {
  if (held.has(attempt.key)) return forget(attempt)
  attempt.isSettled = true
  // The customer may have seen the outcome already, and closed the notice.
  if (localStorage.getItem(prefixOf(attempt.owner) + attempt.key) !== null) conclude(attempt, outcome)
}

/** Stores the outcome of an attempt until the customer has seen it. */
export function conclude(attempt: Attempt, outcome: Outcome): void {
  save({ ...attempt, outcome })
}
