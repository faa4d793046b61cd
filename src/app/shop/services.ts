import { AsyncLocalStorage } from 'node:async_hooks'
import { join } from 'node:path'
import { createCheckpointKeeper } from '../../adapters/checkpoint-keeper.ts'
import { codes as secondFactors } from '../../adapters/codes.ts'
import { hmacSha256, publicKeyOf, randomBytes, sha224, sha256 } from '../../adapters/crypto.ts'
import { createMailSender } from '../../adapters/mail-sender.ts'
import { createNoticeMail } from '../../adapters/notice-mail.ts'
import { createPace } from '../../adapters/pace.ts'
import { createPasswords, type PasswordCost } from '../../adapters/passwords.ts'
import { providerKinds } from '../../adapters/payments/kinds.ts'
import { createSenders } from '../../adapters/webhook-sender.ts'
import { apiVersions } from '../../api/versions.ts'
import type { Contact } from '../../core/contact.ts'
import type { Verifier } from '../../core/finding.ts'
import type { RandomBytes } from '../../core/ids.ts'
import { noStalls, type Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import { createCounter, nextNumber } from '../../db/counter.ts'
import { guarded } from '../../db/guarded.ts'
import { createIntegrityVerifier, createSchemaVerifier } from '../../db/integrity.ts'
import { onStandby } from '../../db/read-standby.ts'
import { createRowErasure, HistoryDiffers } from '../../db/row-erasure.ts'
import { createHistoryVerifier, createRowHistory } from '../../db/row-history.ts'
import { Timeline } from '../../db/timeline.ts'
import { openTokenBuckets } from '../../db/token-buckets.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import { createSchemaCheck } from '../../db/whole-schema.ts'
import { createAlerts, toAlertLetter } from '../../domains/alerts/index.ts'
import { type Brands, createBrands } from '../../domains/brand/index.ts'
import { usualName } from '../../domains/brand/rules.ts'
import { createBlocking, createCustomers, createShopVerifier } from '../../domains/customers/index.ts'
import { createDedicated } from '../../domains/dedicated/index.ts'
import { createEvents, createEventsVerifier } from '../../domains/events/index.ts'
import {
  createEndpointChange,
  createEntryPorts,
  createExitChange,
  createFleet,
  createFleetVerifier,
  createForgetting,
  createGatewaySide,
  createReach,
  createRemoval,
  type NodeSide,
  type PublicHosts,
} from '../../domains/fleet/index.ts'
import { createLedger, createLedgerAudit, createLedgerReports, createLedgerWalks } from '../../domains/ledger/index.ts'
import { createMetadata } from '../../domains/metadata/index.ts'
import { createNotices } from '../../domains/notices/index.ts'
import { type Acting, createActing, createOperators, createOperatorsVerifier } from '../../domains/operators/index.ts'
import {
  createCreations,
  createDaysVerifier,
  createDeliveries,
  createMoneyVerifier,
  createOnce,
  createOrders,
  createRefunds,
  createStories,
} from '../../domains/orders/index.ts'
import { createPayments, createPaymentsVerifier, type EndedPurchase } from '../../domains/payments/index.ts'
import { createAccessVerifier, createPremium, createPremiumVerifier } from '../../domains/premium/index.ts'
import { type PremiumTerms, shippedTerms } from '../../domains/premium/rules.ts'
import { createPricing } from '../../domains/pricing/index.ts'
import { createErasing, createExporting, createRetaining, historyDiffers, traces } from '../../domains/privacy/index.ts'
import { type Retention, shippedRetention } from '../../domains/privacy/rules.ts'
import { createRequestLog } from '../../domains/requests/index.ts'
import {
  createIdentities,
  createPasswordWork,
  createRegistration,
  createSignIn,
  createSignInVerifier,
  type Letter,
  type Mail,
} from '../../domains/signin/index.ts'
import { createStock, createStockOperator } from '../../domains/stock/index.ts'
import { createTraffic, createTrafficVerifier } from '../../domains/traffic/index.ts'
import { createVpn, type VpnSettings } from '../../domains/vpn/index.ts'
import { createWebhooks, createWebhooksVerifier } from '../../domains/webhooks/index.ts'
import type { OpenSender } from '../../domains/webhooks/ports.ts'
import { isMail } from '../../domains/webhooks/rules.ts'
import { repairLostTime } from '../backup/after-restore.ts'
import { type Config, shopUrl } from '../settings/config.ts'
import { shippedVpn, vpnSettingsOf } from '../settings/vpn.ts'
import { readMigrations } from './database.ts'

/** Time, randomness and hash of every domain. Tests pass their own. */
export type Runtime = {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  /** The shop measures its own; a command has none. */
  readonly stalls?: Stalls
  /** Lower in tests that store no real password. */
  readonly passwordCost?: PasswordCost
}

export const realRuntime: Runtime = { clock: Date.now, random: randomBytes, sha256 }

/** Configuration of the domains; absent fields have defaults. */
export type ShopConfig = {
  readonly vault: Vault
  /** The version of the API in which answers are written; the latest by default. */
  readonly apiVersion?: string
  readonly gateway: { readonly host: string; readonly address?: string | undefined; readonly port: number }
  readonly vpn?: VpnSettings
  /** Whether gateways may ask for VPN devices and report their bytes; off by default. */
  readonly gatewayVpn?: boolean
  readonly premium?: PremiumTerms
  /** How many open tokens a customer may have. */
  readonly maxTokens?: number
  /** Hosts that customers connect to, checked before a sale; unchecked by default. */
  readonly publicHosts?: PublicHosts
  /** Where the parts of `verify` keep their position. */
  readonly verifyFile?: string
  /** Where checkpoints are written besides the database. */
  readonly checkpoints?: { readonly file: string | undefined; readonly url: string | undefined }
  readonly retention?: Retention
  /** How customers write to the seller while the brand has no contact. */
  readonly contact?: Contact | undefined
  /** Called for each purchase of a payment that is over; for the log. */
  readonly onPurchase?: (ended: EndedPurchase) => void
  /** Sends webhooks; tests replace it. */
  readonly openSender?: OpenSender
  /** The shop sends e-mail; a process without `joining.mail` leaves its letters to it. */
  readonly hasMail?: boolean
  /** Notices that a customer gets by e-mail in a day, at most. */
  readonly lettersPerDay?: number
  /** Self-registration and mail; off by default. */
  readonly joining?: { readonly isOpen: boolean; readonly mail: Mail | undefined; readonly siteUrl: () => string }
}

export const shopConfigOf = (config: Config, vault: Vault): ShopConfig => ({
  vault,
  gateway: { host: config.gatewayHost, address: config.gatewayAddress, port: config.gatewayPort },
  premium: {
    ...shippedTerms,
    leaseBytes: BigInt(config.premiumLeaseBytes),
    maxWhitelisted: config.premiumWhitelist,
    hostDays: config.premiumHostDays,
    ports: config.premiumPorts,
  },
  vpn: vpnSettingsOf(config),
  gatewayVpn: config.gatewayVpn,
  maxTokens: config.customerTokens,
  hasMail: config.smtpUrl !== undefined,
  lettersPerDay: config.noticesPerDay,
  publicHosts: {
    gateway: config.gatewayHost,
    vpn: config.vpnHost,
    shop: URL.parse(shopUrl(config))?.hostname ?? config.host,
  },
  contact: config.contact,
  verifyFile: join(config.folder, 'verify.json'),
  checkpoints: { file: config.checkpointFile, url: config.checkpointUrl },
  retention: {
    sessionDays: config.keepSessionDays,
    sourceDays: config.keepSourceDays,
    hourDays: config.keepHourDays,
  },
})

const shippedLettersPerDay = 5

/** Messages of webhooks that one shop sends in a second: 10,000 in 50 s, in a twentieth of a core. */
const messagesPerSecond = 200

export type Services = ReturnType<typeof createServices>

export function createServices(plainDb: Database, given: Runtime, config: ShopConfig) {
  const runtime = { stalls: noStalls, ...given, vault: config.vault }
  const acting = createActing({ db: plainDb, ...runtime, along: createAlong<Acting>() })
  const { db } = acting
  const isWhole = createSchemaCheck(plainDb.engine, readMigrations)
  const onRewind = (tx: Tx) => repairLostTime(tx, runtime.clock())
  const timeline = new Timeline({ ...runtime, db: plainDb, isWhole, onRewind })
  const base = { db, ...runtime }
  const ofAccess = { ...base, db: guarded(db, timeline) }
  const apiVersion = config.apiVersion ?? apiVersions.latest
  const ledger = createLedger(base)
  const history = createRowHistory(runtime)
  const ledgerAudit = createLedgerAudit({ ...base, history })
  const customers = createCustomers({ ledger, ...ofAccess, ...config, apiVersion })
  const fleet = createFleet({ ...base, publicKeyOf, hmac: hmacSha256 })
  timeline.onChange(() => fleet.forget())
  const reach = createReach({ customers, fleet, hosts: config.publicHosts })
  const events = createEvents(base)
  const orders = createOrders({
    ...base,
    ledger,
    customers,
    events,
    timeline,
    apiVersion,
    findObstacle: (sale) => reach.findObjection(sale),
  })
  const pricing = createPricing(base)
  const terms = config.premium ?? shippedTerms
  const ports = createEntryPorts({ ...runtime, fleet, range: terms.ports })
  const traffic = createTraffic({ ...base, terms, fleet })
  const shared = { ...base, ledger, customers, events, orders, pricing, traffic }
  const createIds = (name: string) => createCounter(plainDb, name, timeline.life, () => timeline.cover())
  const stockIds = { slotIds: createIds('slot'), rangeIds: createIds('range') }
  const stock = createStock({ ...base, ...stockIds, life: timeline.life, fleet, customers })
  const stockOperator = createStockOperator({ ...base, numbers: nextNumber, fleet, stock })
  const once = createOnce(ofAccess)
  const proxyIds = createIds('proxy')
  const dedicated = createDedicated({
    ...shared,
    fleet,
    stock,
    stockOperator,
    ports,
    once,
    proxyIds,
    numbers: nextNumber,
  })
  const hashes = { sha224, hmac: hmacSha256 }
  const vpn = createVpn({ ...shared, ...hashes, ledgerAudit, fleet, publicKeyOf, settings: config.vpn ?? shippedVpn })
  const gateway = { ...config.gateway, address: config.gateway.address ?? config.gateway.host }
  const premium = createPremium({ ...shared, gateway, terms, ports, stock, fleet })
  const metadata = createMetadata({
    ...base,
    ledger,
    owned: {
      order: orders.findOwned,
      proxy: dedicated.findOwned,
      subuser: premium.subusers.findOwned,
      vpn: vpn.findOwned,
    },
  })
  const endings = [dedicated.operator.ending, premium.traffic.ending, vpn.ending]
  const refunds = createRefunds({ ...shared, once, endings })
  const deliveredOf = createDeliveries({
    dedicated: dedicated.operator.delivered,
    premium: premium.traffic.delivered,
    vpn: vpn.delivered,
  })
  const storyOf = createStories({ db, ledger, events, deliveredOf })
  const buyers = [dedicated.buyer, premium.traffic.buyer, vpn.buyer]
  const paid = createPayments({ ...shared, once, kinds: providerKinds, buyers, onPurchase: config.onPurchase })
  const ofRows: readonly Verifier[] = [
    createShopVerifier(base),
    createMoneyVerifier({
      ...base,
      ledger: ledgerAudit,
      ledgerWalks: createLedgerWalks({ ...base, history }),
      customers,
    }),
    createDaysVerifier(base),
    dedicated.verifier,
    vpn.verifier,
    createTrafficVerifier(base),
    createPremiumVerifier(shared),
    createAccessVerifier({ ...shared, terms }),
    createPaymentsVerifier({ ...base, ledgerAudit }),
    createEventsVerifier(base),
    createWebhooksVerifier(base),
    createFleetVerifier({ ...base, publicKeyOf }),
    createOperatorsVerifier(base),
    createSignInVerifier(base),
    createHistoryVerifier({ db }),
  ]
  const verifiers: readonly Verifier[] = [
    ...ofRows.map((each): Verifier => ({ ...each, verify: (note) => onStandby(() => each.verify(note)) })),
    // The tables of the primary, and unlogged ones, which a standby does not have.
    createSchemaVerifier({ db, migrations: readMigrations }),
    createIntegrityVerifier({ db, migrations: readMigrations }),
  ]
  /** Asked about an unknown credential in this order. */
  const gateways = createGatewaySide({ ...base, usualEndpoint: config.gateway })
  const nodeSides: readonly NodeSide[] = [
    dedicated.nodes,
    premium.nodes,
    vpn.nodes,
    ...(config.gatewayVpn === true ? [vpn.gateways] : []),
    stock.nodes,
    gateways,
  ]
  const forgetUsage = createForgetting({ fleet, nodeSides })
  const removeNode = createRemoval({ fleet, nodeSides })
  const setEndpoint = createEndpointChange({ fleet, nodeSides })
  const setExit = createExitChange({ fleet, nodeSides })
  const blocking = createBlocking({ db, customers, touched: nodeSides })
  const operators = createOperators(ofAccess)
  const brands = createBrands({ ...base, contact: config.contact })
  const alerts = createAlerts({ ...base, events })
  const openSender = config.openSender ?? createSenders()
  const webhooks = createWebhooks({
    ...base,
    customers,
    events,
    openSender: (url) => (isMail(url) ? createMailSender(config.joining?.mail, toAlertLetter) : openSender(url)),
    pace: createPace(messagesPerSecond),
  })
  const passwords = createPasswordWork({ passwords: createPasswords(runtime.passwordCost), clock: runtime.clock })
  const buckets = openTokenBuckets(db, runtime.clock)
  const signInDeps = {
    ...ofAccess,
    buckets,
    passwords,
    codes: secondFactors,
    customers,
    operators,
    events,
    noteAction: acting.note,
  }
  const signIn = createSignIn(signInDeps)
  const identities = createIdentities({ ...signInDeps, signIn })
  const mail = config.joining?.mail && signMail(config.joining.mail, brands)
  const notices = createNotices({
    ...base,
    events,
    ledger,
    identities,
    mail: createNoticeMail(mail, config.joining?.siteUrl),
    isOn: mail !== undefined || config.hasMail === true,
    siteUrl: () => config.joining?.siteUrl() ?? '',
    lettersPerDay: config.lettersPerDay ?? shippedLettersPerDay,
  })
  const erasing = createErasing({
    ...base,
    ledger,
    customers,
    operators,
    history: historyEraserOn(plainDb, history),
    block: blocking.within,
    onErased: () => signIn.forget(),
  })
  const registration = createRegistration({
    ...signInDeps,
    ...(config.joining ?? { isOpen: false, siteUrl: () => '' }),
    mail,
    signIn,
    identities,
    ledger,
    erasing,
    referrals: paid.referrals,
  })
  return {
    db,
    timeline,
    buckets,
    ledger,
    ledgerAudit,
    keepCheckpoint: createCheckpointKeeper(config.checkpoints ?? { file: undefined, url: undefined }),
    customers,
    events,
    webhooks,
    requests: createRequestLog(base),
    alerts,
    notices,
    metadata,
    brands,
    orders,
    pricing,
    traffic,
    stock,
    stockOperator,
    dedicated,
    dedicatedUpkeep: dedicated.upkeep,
    outages: dedicated.outages,
    outageWatch: dedicated.outageWatch,
    proxyOperator: dedicated.operator,
    rangeOperator: dedicated.ranges,
    refunds,
    deliveredOf,
    storyOf,
    ...paid,
    ledgerReports: createLedgerReports({ db }),
    fleet,
    reach,
    vpn,
    premium,
    nodeSides,
    forgetUsage,
    removeNode,
    setEndpoint,
    setExit,
    setBlocked: blocking.setBlocked,
    erasing,
    exporting: createExporting({ db, customers }),
    retaining: createRetaining({ ...base, retention: config.retention ?? shippedRetention }),
    acting,
    creations: createCreations(base),
    operators,
    signIn,
    identities,
    registration,
    config,
    verifiers,
  }
}

/** Letters to customers, in the shop's name. */
const signMail = (mail: Mail, brands: Brands): Mail => {
  const sign = async (letter: Letter): Promise<Letter> => {
    const brand = await brands.current().catch(() => undefined)
    if (!brand || brand.name === usualName) return letter
    return { ...letter, fromName: brand.name, text: `${letter.text}\n-- \n${brand.name}\n` }
  }
  return {
    post: (letter) => void sign(letter).then((signed) => mail.post(signed)),
    send: async (letter) => mail.send(await sign(letter)),
  }
}

/** Erases the history of a customer's rows. Tampered history is a refusal for the operator, not a fault. */
const historyEraserOn = (db: Database, history: ReturnType<typeof createRowHistory>) => {
  const rows = createRowErasure({ db, history })
  return {
    erase: (customer: string, nowMs: number, newName: () => string) =>
      rows.erase(traces, customer, nowMs, newName).catch((error: unknown) => {
        throw error instanceof HistoryDiffers ? historyDiffers(error.checkpoint) : error
      }),
  }
}

/** Typed AsyncLocalStorage. */
function createAlong<Context>() {
  const storage = new AsyncLocalStorage<Context>()
  return {
    run: <Result>(context: Context, work: () => Promise<Result>): Promise<Result> => storage.run(context, work),
    get: (): Context | undefined => storage.getStore(),
  }
}
