import { bind } from '../../core/bind.ts'
import { type FieldProblem, fieldProblem } from '../../core/messages/problems.ts'
import { type Kopecks, kopecks, readRoubles, toRoubles } from '../../core/money.ts'
import { malformed, Refusal, refuseField } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import { listIn, numberIn, readPlain, textIn, valueIn } from '../orders/rules.ts'
import { type OfferedMethod, type PaymentProvider, type ProviderKind, ProviderRefused } from './ports.ts'
import * as store from './store.ts'

/** The operator's terms of one method. The fee is on top of the amount, in hundredths of a percent. */
export type MethodTerms = Pick<OfferedMethod, 'method' | 'min' | 'max'> & { readonly feeHundredths: number }

/** The settings and methods of a provider. */
export type ProviderTerms = {
  readonly settings: Readonly<Record<string, string>>
  readonly methods: readonly MethodTerms[]
}

/** A method that customers can pay by now. */
export type Method = OfferedMethod & MethodTerms & { readonly provider: string; readonly wantsEmail: boolean }

/** A provider as it was set up. Without `connection`, the operator marks payments as paid. */
type Provider = {
  readonly kind: ProviderKind
  readonly terms: ProviderTerms
  readonly isEnabled: boolean
  readonly connection: PaymentProvider | undefined
}

type ProviderInput = Readonly<Record<'settings' | 'min' | 'max' | 'fee', ReadonlyMap<string, string>>> & {
  readonly methods: readonly string[] | undefined
  readonly secret: string | undefined
}

export type Providers = ReturnType<typeof createProviders>

export const contextOf = (name: string): string => `payment provider ${name}`
const maxSecretLength = 1000

export const noSuchProvider = (known: readonly string[]): Refusal => new Refusal('provider_not_found', { known })
const providerNotSet = (name: string): Refusal => new Refusal('provider_not_configured', { name })

type ProvidersDeps = {
  readonly db: Database
  readonly vault: Vault
  readonly clock: Clock
  readonly customers: Pick<Customers, 'mode'>
  readonly kinds: readonly ProviderKind[]
  readonly health: ReturnType<typeof createHealth>
  /** A connection counts its calls, so it is kept while the provider's row does not change. */
  readonly connections: Map<string, { readonly changedAt: number; readonly connection: PaymentProvider }>
}

/** The providers that the operator has set up, and a connection to each. */
export function createProviders(given: Omit<ProvidersDeps, 'health' | 'connections'>) {
  const health = createHealth(given.clock)
  const deps: ProvidersDeps = { ...given, health, connections: new Map() }
  return {
    ...bind(deps, { find, list: listAll, load, methods: listMethods, set: setUp, enable }),
    names: given.kinds.map((each) => each.name),
    healthOf: health.of,
  }
}

/** The kinds that this shop can use: the sandbox's own one is left out in production. */
async function usableKinds({ kinds, customers }: ProvidersDeps): Promise<ProviderKind[]> {
  const isSandbox = (await customers.mode()) === 'sandbox'
  return kinds.filter((kind) => isSandbox || !kind.isSandbox)
}

async function loadKind(deps: ProvidersDeps, name: string): Promise<ProviderKind> {
  const kinds = await usableKinds(deps)
  const kind = kinds.find((each) => each.name === name)
  if (!kind) throw noSuchProvider(kinds.map((each) => each.name))
  return kind
}

function connect(deps: ProvidersDeps, kind: ProviderKind, row: store.ProviderRow): PaymentProvider | undefined {
  if (!kind.connect) return undefined
  const known = deps.connections.get(kind.name)
  if (known?.changedAt === row.changedAt) return known.connection
  const secret = row.secret === null ? '' : deps.vault.open(row.secret, contextOf(kind.name))
  const connection = deps.health.watch(kind.name, kind.connect(readTermsText(row.settings).settings, secret))
  deps.connections.set(kind.name, { changedAt: row.changedAt, connection })
  return connection
}

/** The provider of a row; without one, the sandbox's own method needs no setup. */
function toProvider(deps: ProvidersDeps, kind: ProviderKind, row: store.ProviderRow | undefined): Provider | undefined {
  if (row) {
    const terms = readTermsText(row.settings)
    return { kind, terms, isEnabled: row.isEnabled, connection: connect(deps, kind, row) }
  }
  return kind.isSandbox ? { kind, terms: shippedTerms(kind), isEnabled: true, connection: undefined } : undefined
}

async function find(deps: ProvidersDeps, name: string): Promise<Provider | undefined> {
  const kind = deps.kinds.find((each) => each.name === name)
  return kind && toProvider(deps, kind, await store.findProvider(deps.db, name))
}

/** All usable kinds, with what is set up of them. */
async function listAll(deps: ProvidersDeps) {
  const rows = new Map((await store.listProviders(deps.db)).map((row) => [row.name, row]))
  return (await usableKinds(deps)).map((kind) => ({ kind, set: toProvider(deps, kind, rows.get(kind.name)) }))
}

function sealed(deps: ProvidersDeps, kind: ProviderKind, secret: string): Uint8Array {
  if (!kind.needsSecret) throw refuseField('secret', 'provider_without_secret', { provider: kind.name })
  if (!/^[\x21-\x7e]+$/.test(secret) || secret.length > maxSecretLength) {
    throw refuseField('secret', 'visible', { from: 1, to: maxSecretLength })
  }
  return deps.vault.seal(secret, contextOf(kind.name))
}

async function load(deps: ProvidersDeps, name: string): Promise<Provider> {
  await loadKind(deps, name)
  const provider = await find(deps, name)
  if (!provider) throw providerNotSet(name)
  return provider
}

/** Every method that customers have now, in the order of the kinds. */
async function listMethods(deps: ProvidersDeps): Promise<readonly Method[]> {
  return (await listAll(deps)).flatMap(({ kind, set }) => {
    if (!set?.isEnabled) return []
    const wantsEmail = set.terms.settings['receipts'] === 'on'
    return set.terms.methods.flatMap((terms) => {
      const offered = kind.methods.find((each) => each.method === terms.method)
      return offered ? [{ ...offered, ...terms, provider: kind.name, wantsEmail }] : []
    })
  })
}

/** Sets a provider up, or changes it. The whole input is checked before anything is written. */
async function setUp(deps: ProvidersDeps, name: string, input: ProviderInput): Promise<Provider | undefined> {
  const kind = await loadKind(deps, name)
  const before = await store.findProvider(deps.db, name)
  const was = before ? readTermsText(before.settings) : { settings: {}, methods: [] }
  const methods = methodTerms(kind.methods, input, was.methods)
  if ('reason' in methods) throw malformed([methods])
  const row: store.ProviderRow = {
    name,
    settings: toTermsText({ settings: settingsOf(kind, input.settings, was.settings), methods }),
    secret: input.secret === undefined ? (before?.secret ?? null) : sealed(deps, kind, input.secret),
    isEnabled: true,
    changedAt: deps.clock(),
  }
  if (kind.needsSecret && row.secret === null) throw refuseField('secret', 'required_by', { provider: name })
  if (before?.changedAt === row.changedAt) deps.connections.delete(name)
  await deps.db.transact(async (tx) => store.writeProvider(tx, row))
  return toProvider(deps, kind, row)
}

/** Takes a provider's methods off sale, or brings them back. Open payments are not affected. */
async function enable(deps: ProvidersDeps, name: string, isEnabled: boolean): Promise<void> {
  const kind = await loadKind(deps, name)
  const shipped = kind.isSandbox ? { name, settings: toTermsText(shippedTerms(kind)), secret: null } : undefined
  const row = (await store.findProvider(deps.db, name)) ?? shipped
  if (!row) throw providerNotSet(name)
  await deps.db.transact(async (tx) => store.writeProvider(tx, { ...row, isEnabled, changedAt: deps.clock() }))
}

const shippedTerms = (kind: ProviderKind): ProviderTerms => ({
  settings: {},
  methods: kind.methods.map((each) => ({ ...each, feeHundredths: 0 })),
})

function settingsOf(
  kind: ProviderKind,
  given: ReadonlyMap<string, string>,
  before: Readonly<Record<string, string>>,
): Record<string, string> {
  const settings: Record<string, string> = { ...before }
  for (const [name, value] of given) {
    const setting = kind.settings.find((each) => each.name === name)
    const known = kind.settings.map((each) => each.name)
    if (!setting) throw refuseField('settings', 'setting_unknown', { provider: kind.name, name, known })
    if (!setting.isValid(value)) throw refuseField('settings', 'setting_wrong', { name, meaning: setting.meaning })
    settings[name] = value
  }
  const missing = kind.settings.find((each) => each.isRequired && settings[each.name] === undefined)
  if (!missing) return settings
  const { name, meaning } = missing
  throw refuseField('settings', 'setting_missing', { provider: kind.name, name, meaning })
}

const toTermsText = ({ settings, methods }: ProviderTerms): string =>
  JSON.stringify({ settings, methods: methods.map((each) => ({ ...each, min: `${each.min}`, max: `${each.max}` })) })

/** Parses what `toTermsText` wrote. Throws if a field is missing. */
export function readTermsText(text: string): ProviderTerms {
  const kept = readPlain(text)
  const settings = required('settings', valueIn(kept, 'settings'))
  return {
    settings: Object.fromEntries(
      Object.keys(settings ?? {}).map((name) => [name, required(name, textIn(settings, name))]),
    ),
    methods: required('methods', listIn(kept, 'methods')).map((each) => ({
      method: required('method', textIn(each, 'method')),
      min: kopecks(BigInt(required('min', textIn(each, 'min')))),
      max: kopecks(BigInt(required('max', textIn(each, 'max')))),
      feeHundredths: required('feeHundredths', numberIn(each, 'feeHundredths')),
    })),
  }
}

function required<Value>(name: string, value: Value | undefined): Value {
  if (value === undefined) throw new TypeError(`the stored terms of a provider have no ${name}`)
  return value
}

/** A percentage with at most two decimals, below 100, in hundredths. */
export function readPercent(text: string): number | undefined {
  const value = readRoubles(text)
  return value !== undefined && value < 10_000n ? Number(value) : undefined
}

/** The terms of each offered method: the given ones, else those before, else the provider's bounds; or a problem. */
export function methodTerms(
  bounds: readonly Omit<MethodTerms, 'feeHundredths'>[],
  given: Pick<ProviderInput, 'methods' | 'min' | 'max' | 'fee'>,
  before: readonly MethodTerms[],
): readonly MethodTerms[] | FieldProblem {
  const known = bounds.map((each) => each.method)
  const wanted = given.methods ?? (before.length > 0 ? before.map((each) => each.method) : known)
  for (const name of [...wanted, ...given.min.keys(), ...given.max.keys(), ...given.fee.keys()]) {
    if (!known.includes(name)) return fieldProblem('methods', 'one_of', { allowed: known })
  }
  const terms: MethodTerms[] = []
  for (const bound of bounds.filter((each) => wanted.includes(each.method))) {
    const was = before.find((each) => each.method === bound.method)
    const read = (from: ReadonlyMap<string, string>, unless: Kopecks) => {
      const text = from.get(bound.method)
      return text === undefined ? unless : readRoubles(text)
    }
    const [min, max] = [read(given.min, was?.min ?? bound.min), read(given.max, was?.max ?? bound.max)]
    const fee = given.fee.get(bound.method)
    const feeHundredths = fee === undefined ? (was?.feeHundredths ?? 0) : readPercent(fee)
    if (min === undefined || max === undefined || min < bound.min || max > bound.max || min > max) {
      const [from, to] = [toRoubles(bound.min), toRoubles(bound.max)]
      return fieldProblem('methods', 'method_bounds', { method: bound.method, from_rub: from, to_rub: to })
    }
    if (feeHundredths === undefined) return fieldProblem('methods', 'method_fee')
    terms.push({ method: bound.method, min, max, feeHundredths })
  }
  return terms
}

/** How a provider has answered this process. A refusal is an answer too, and one to look at. */
type ProviderHealth = {
  readonly answeredAt: number | null
  readonly failedAt: number | null
  readonly failure: 'refused' | 'unavailable' | null
}

/** Records for every call to a provider whether it was answered. */
function createHealth(clock: Clock) {
  const known = new Map<string, ProviderHealth>()
  const of = (name: string): ProviderHealth => known.get(name) ?? { answeredAt: null, failedAt: null, failure: null }
  const noteAnswer = (name: string) => void known.set(name, { ...of(name), answeredAt: clock() })

  const noteFailure = (name: string, error: unknown): never => {
    const failure = error instanceof ProviderRefused ? 'refused' : 'unavailable'
    known.set(name, { ...of(name), failedAt: clock(), failure })
    throw error
  }

  async function observed<Answer>(name: string, ask: () => Promise<Answer>): Promise<Answer> {
    const answer = await ask().catch((error: unknown) => noteFailure(name, error))
    noteAnswer(name)
    return answer
  }

  async function* listed<Each>(name: string, all: AsyncIterable<Each>): AsyncGenerator<Each> {
    try {
      yield* all
    } catch (error) {
      noteFailure(name, error)
    }
    noteAnswer(name)
  }

  return {
    of,

    /** The same provider, with its calls recorded. */
    watch(name: string, connection: PaymentProvider): PaymentProvider {
      const refund = connection.refund?.bind(connection)
      const list = connection.list?.bind(connection)
      return {
        ...connection,
        open: (request) => observed(name, () => connection.open(request)),
        findOpened: (payment, createdAt) => observed(name, () => connection.findOpened(payment, createdAt)),
        find: (providerId, purpose) => observed(name, () => connection.find(providerId, purpose)),
        ...(refund && { refund: (request) => observed(name, () => refund(request)) }),
        ...(list && { list: (fromAt, toAt) => listed(name, list(fromAt, toAt)) }),
      }
    },
  }
}
