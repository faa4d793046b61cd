import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import { badSetting, noSuchProvider, providerNotSet } from './errors.ts'
import type { OfferedMethod, PaymentProvider, ProviderKind } from './ports.ts'
import { type MethodTerms, methodTerms, type ProviderTerms, readTermsText, toTermsText } from './providers.ts'
import { createHealth } from './service-health.ts'
import * as store from './store-operator.ts'

/** A way to pay that customers have now. */
export type Method = OfferedMethod & MethodTerms & { readonly provider: string; readonly wantsEmail: boolean }

/** A provider as it was set up. Without `connection` nobody outside is asked. */
export type Provider = {
  readonly kind: ProviderKind
  readonly terms: ProviderTerms
  readonly isEnabled: boolean
  readonly connection: PaymentProvider | undefined
}

export type ProviderWish = {
  readonly settings: ReadonlyMap<string, string>
  readonly methods: readonly string[] | undefined
  readonly min: ReadonlyMap<string, string>
  readonly max: ReadonlyMap<string, string>
  readonly fee: ReadonlyMap<string, string>
  readonly secret: string | undefined
}

export type Providers = ReturnType<typeof createProviders>

export const contextOf = (name: string): string => `payment provider ${name}`
const longestSecret = 1000

/** Through whom customers can pay: what the operator has settled, and the connections that follow from it. */
export function createProviders(deps: {
  db: Database
  vault: Vault
  clock: Clock
  customers: Pick<Customers, 'mode'>
  kinds: readonly ProviderKind[]
}) {
  const { db, kinds, vault } = deps
  /** An adapter counts what it asks, so it is kept for as long as nothing about it changes. */
  const connections = new Map<string, { readonly changedAt: bigint; readonly connection: PaymentProvider }>()
  const names = kinds.map((each) => each.name)
  const health = createHealth(deps.clock)

  function loadKind(name: string): ProviderKind {
    const kind = kinds.find((each) => each.name === name)
    if (!kind) throw noSuchProvider(names)
    return kind
  }

  function connect(kind: ProviderKind, row: store.ProviderRow): PaymentProvider | undefined {
    if (!kind.connect) return undefined
    const known = connections.get(kind.name)
    if (known?.changedAt === row.changed_at) return known.connection
    const secret = row.secret === null ? '' : vault.open(row.secret, contextOf(kind.name))
    const connection = health.listen(kind.name, kind.connect(readTermsText(row.settings).settings, secret))
    connections.set(kind.name, { changedAt: row.changed_at, connection })
    return connection
  }

  const toProvider = (kind: ProviderKind, row: store.ProviderRow): Provider => ({
    kind,
    terms: readTermsText(row.settings),
    isEnabled: row.enabled === 1n,
    connection: connect(kind, row),
  })

  /** A sandbox has its own way to pay without anybody setting it up. */
  const asShipped = (kind: ProviderKind): Provider => ({
    kind,
    terms: { settings: {}, methods: kind.methods.map((each) => ({ ...each, feeHundredths: 0 })) },
    isEnabled: true,
    connection: undefined,
  })

  async function find(name: string): Promise<Provider | undefined> {
    const kind = kinds.find((each) => each.name === name)
    if (!kind) return undefined
    const row = await store.findProvider(db, name)
    if (row) return toProvider(kind, row)
    return kind.isSandbox ? asShipped(kind) : undefined
  }

  async function load(name: string): Promise<Provider> {
    loadKind(name)
    const provider = await find(name)
    if (!provider) throw providerNotSet(name)
    return provider
  }

  const isFor = (kind: ProviderKind, mode: string | undefined): boolean => !kind.isSandbox || mode === 'sandbox'

  return {
    find,
    load,
    names,
    healthOf: health.of,

    /** Every way to pay that customers have now, in the order in which kinds are listed. */
    async methods(): Promise<readonly Method[]> {
      const [mode, rows] = [await deps.customers.mode(), await store.listProviders(db)]
      return kinds.flatMap((kind) => {
        const row = rows.find((each) => each.name === kind.name)
        const provider = row ? toProvider(kind, row) : kind.isSandbox ? asShipped(kind) : undefined
        if (!provider?.isEnabled || !isFor(kind, mode)) return []
        const wantsEmail = provider.terms.settings['receipts'] === 'on'
        return provider.terms.methods.flatMap((terms) => {
          const offered = kind.methods.find((each) => each.method === terms.method)
          return offered ? [{ ...offered, ...terms, provider: kind.name, wantsEmail }] : []
        })
      })
    },

    /** What is set up, without its secrets. */
    async list(): Promise<readonly { readonly kind: ProviderKind; readonly set: Provider | undefined }[]> {
      const rows = await store.listProviders(db)
      return kinds.map((kind) => {
        const row = rows.find((each) => each.name === kind.name)
        return { kind, set: row ? toProvider(kind, row) : kind.isSandbox ? asShipped(kind) : undefined }
      })
    },

    /** Sets a provider up, or changes what was set. It is judged whole before anything is written. */
    async set(name: string, wish: ProviderWish): Promise<Provider> {
      const kind = loadKind(name)
      const before = await store.findProvider(db, name)
      const was = before ? readTermsText(before.settings) : { settings: {}, methods: [] }
      const methods = methodTerms(kind.methods, wish, was.methods)
      if (typeof methods === 'string') throw badSetting('methods', methods)
      const row: store.ProviderRow = {
        name,
        settings: toTermsText({ settings: settingsOf(kind, wish.settings, was.settings), methods }),
        secret: wish.secret === undefined ? (before?.secret ?? null) : sealed(kind, wish.secret),
        enabled: 1n,
        changed_at: BigInt(deps.clock()),
      }
      if (kind.needsSecret && row.secret === null) throw badSetting('secret', `${name} wants a secret.`)
      if (before?.changed_at === row.changed_at) connections.delete(name)
      await db.transact(async (tx) => store.writeProvider(tx, row))
      return toProvider(kind, row)
    },

    /** Takes a provider's methods off, or brings them back. Payments that are open go on. */
    async enable(name: string, isEnabled: boolean): Promise<void> {
      const kind = loadKind(name)
      const terms = toTermsText(asShipped(kind).terms)
      const row =
        (await store.findProvider(db, name)) ?? (kind.isSandbox ? { name, settings: terms, secret: null } : null)
      if (!row) throw providerNotSet(name)
      const changed = { ...row, enabled: isEnabled ? 1n : 0n, changed_at: BigInt(deps.clock()) }
      await db.transact(async (tx) => store.writeProvider(tx, changed))
    },
  }

  function sealed(kind: ProviderKind, secret: string): Uint8Array {
    if (!kind.needsSecret) throw badSetting('secret', `${kind.name} has no secret.`)
    if (!/^[\x21-\x7e]+$/.test(secret) || secret.length > longestSecret) {
      throw badSetting('secret', `A secret is 1 to ${longestSecret} visible ASCII characters.`)
    }
    return vault.seal(secret, contextOf(kind.name))
  }
}

function settingsOf(
  kind: ProviderKind,
  said: ReadonlyMap<string, string>,
  before: Readonly<Record<string, string>>,
): Record<string, string> {
  const settings: Record<string, string> = { ...before }
  for (const [name, value] of said) {
    const setting = kind.settings.find((each) => each.name === name)
    const known = kind.settings.map((each) => each.name).join(', ')
    if (!setting) throw badSetting('settings', `${kind.name} has no setting "${name}". It has: ${known || 'none'}.`)
    if (!setting.isValid(value)) throw badSetting('settings', `${name}: ${setting.meaning}.`)
    settings[name] = value
  }
  const missing = kind.settings.find((each) => each.isRequired && settings[each.name] === undefined)
  if (missing) throw badSetting('settings', `${kind.name} wants the setting ${missing.name}: ${missing.meaning}.`)
  return settings
}
