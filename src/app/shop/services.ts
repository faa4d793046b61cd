import { createAlong } from '../../adapters/along.ts'
import { createCheckpointKeeper } from '../../adapters/checkpoint-keeper.ts'
import { codes as secondFactors } from '../../adapters/codes.ts'
import { createPasswords, type PasswordCost } from '../../adapters/passwords.ts'
import { providerKinds } from '../../adapters/payments/kinds.ts'
import { randomBytes } from '../../adapters/random.ts'
import { sha256 } from '../../adapters/sha256.ts'
import { publicKeyOf } from '../../adapters/wireguard-keys.ts'
import type { Verifier } from '../../core/finding.ts'
import type { RandomBytes } from '../../core/ids.ts'
import { noStalls, type Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import { createCounter, nextNumber } from '../../db/counter.ts'
import { createIntegrityVerifier, createSchemaVerifier } from '../../db/integrity.ts'
import { createRowErasure, HistoryDiffers } from '../../db/row-erasure.ts'
import { createHistoryVerifier, createRowHistory } from '../../db/row-history.ts'
import { openTokenBuckets } from '../../db/token-buckets.ts'
import type { Database } from '../../db/transaction.ts'
import { createBlocking, createCustomers, createShopVerifier } from '../../domains/customers/index.ts'
import {
  createDedicated,
  createDedicatedUpkeep,
  createDedicatedVerifier,
  createOutages,
  createOutageWatch,
  createProxyOperator,
  createRangeOperator,
} from '../../domains/dedicated/index.ts'
import { createEvents, createEventsVerifier } from '../../domains/events/index.ts'
import {
  createFleet,
  createFleetVerifier,
  createForgetting,
  createGatewaySide,
  createPorts,
  createReach,
  type NodeSide,
  type Places,
} from '../../domains/fleet/index.ts'
import { createLedger, createLedgerAudit, createLedgerReports } from '../../domains/ledger/index.ts'
import { type Acting, createActing, createOperators, createOperatorsVerifier } from '../../domains/operators/index.ts'
import {
  createMoneyVerifier,
  createOnce,
  createOrders,
  createRefunds,
  createStories,
} from '../../domains/orders/index.ts'
import { createPayments, createPaymentsVerifier } from '../../domains/payments/index.ts'
import { createAccessVerifier, createPremium, createPremiumVerifier } from '../../domains/premium/index.ts'
import { type PremiumTerms, shippedTerms } from '../../domains/premium/rules.ts'
import { createPricing } from '../../domains/pricing/index.ts'
import { createErasing, createExporting, createRetaining, historyDiffers, traces } from '../../domains/privacy/index.ts'
import { type Retention, shippedRetention } from '../../domains/privacy/rules.ts'
import {
  createIdentities,
  createPasswordWork,
  createRegistration,
  createSignIn,
  createSignInVerifier,
  type Mail,
} from '../../domains/signin/index.ts'
import { createStock, createStockOperator } from '../../domains/stock/index.ts'
import { createTraffic, createTrafficVerifier } from '../../domains/traffic/index.ts'
import { createVpn, createVpnVerifier, type VpnArrangement } from '../../domains/vpn/index.ts'
import { type Config, shopUrl } from '../settings/config.ts'
import { shippedVpn, vpnArrangementOf } from '../settings/vpn.ts'
import { buyersOf } from './buyers.ts'
import { readMigrations } from './database.ts'

/** What the outside gives to every domain: time, chance and a hash. A test hands in its own. */
export type Surroundings = {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  /** The shop measures its own unless a test hands in others; a tool has none. */
  readonly stalls?: Stalls
  /** As shipped, unless a test that stores no real password hands in a lower one. */
  readonly passwordCost?: PasswordCost
}

export const realSurroundings: Surroundings = { clock: Date.now, random: randomBytes, sha256 }

/** What an operator has settled that domains need to know. */
export type Arrangements = {
  readonly vault: Vault
  /** Where customers reach the gateway. */
  readonly gateway: { readonly host: string; readonly address?: string; readonly port: number }
  /** As shipped, unless said. */
  readonly vpn?: VpnArrangement
  readonly premium?: PremiumTerms
  /** How many open tokens a customer may have; as shipped unless said. */
  readonly mostTokens?: number
  /** Where customers are told to go, to be looked at before something is sold; not looked at unless said. */
  readonly places?: Places
  /** Where checkpoints are written down besides the database; nowhere unless said. */
  readonly checkpoints?: { readonly file: string | undefined; readonly url: string | undefined }
  /** How long what tells of customers' doings is kept; as shipped unless said. */
  readonly retention?: Retention
  /** How customers come by themselves; they do not, and no letter is sent, unless said. */
  readonly joining?: { readonly isOpen: boolean; readonly mail: Mail | undefined; readonly siteUrl: () => string }
}

export const arrangementsOf = (config: Config, vault: Vault): Arrangements => ({
  vault,
  gateway: { host: config.gatewayHost, address: config.gatewayAddress, port: config.gatewayPort },
  premium: {
    ...shippedTerms,
    leaseBytes: BigInt(config.premiumLeaseBytes),
    mostWhitelisted: config.premiumWhitelist,
    hostDays: config.premiumHostDays,
    ports: config.premiumPorts,
  },
  vpn: vpnArrangementOf(config),
  mostTokens: config.customerTokens,
  places: {
    gateway: config.gatewayHost,
    vpn: config.vpnHost,
    shop: URL.parse(shopUrl(config))?.hostname ?? config.host,
  },
  checkpoints: { file: config.checkpointFile, url: config.checkpointUrl },
  retention: {
    sessionDays: config.keepSessionDays,
    sourceDays: config.keepSourceDays,
    hourDays: config.keepHourDays,
  },
})

/** All domains, wired to one database. */
export type Services = ReturnType<typeof createServices>

export function createServices(plainDb: Database, surroundings: Surroundings, arranged: Arrangements) {
  const around = { stalls: noStalls, ...surroundings }
  const acting = createActing({ db: plainDb, ...around, along: createAlong<Acting>() })
  const { db } = acting
  const ledger = createLedger({ db, ...around })
  const history = createRowHistory(around)
  const ledgerAudit = createLedgerAudit({ db, ...around, history })
  const customers = createCustomers({ db, ledger, ...around, ...arranged })
  const fleet = createFleet({ db, ...around, vault: arranged.vault, publicKeyOf })
  const reach = createReach({ customers, fleet, places: arranged.places })
  const events = createEvents({ db, ...around })
  const orders = createOrders({
    db,
    ledger,
    customers,
    events,
    findObstacle: (asked) => reach.findObjection(asked),
    vault: arranged.vault,
    ...around,
  })
  const pricing = createPricing({ db, ...around })
  const terms = arranged.premium ?? shippedTerms
  const ports = createPorts({ ...around, fleet, range: terms.ports })
  const traffic = createTraffic({ db, ...around, terms, fleet })
  const stockIds = { placeIds: createCounter(plainDb, 'place'), rangeIds: createCounter(plainDb, 'range') }
  const stock = createStock({ db, ...around, ...stockIds, fleet, customers })
  const stockOperator = createStockOperator({ db, ...around, numbers: nextNumber, fleet, stock })
  const outageDeps = { db, ledger, orders, events, pricing, ...around }
  const outages = createOutages(outageDeps)
  const outageWatch = createOutageWatch({ ...outageDeps, stock, outages })
  const dedicated = createDedicated({
    db,
    outages,
    ledger,
    customers,
    events,
    orders,
    pricing,
    stock,
    traffic,
    ports,
    ...around,
    vault: arranged.vault,
    proxyIds: createCounter(plainDb, 'proxy'),
  })
  const dedicatedUpkeep = createDedicatedUpkeep({ db, stock, ports, dedicated, customers, ...around })
  const once = createOnce({ db, ...around })
  const proxyOperator = createProxyOperator({
    db,
    ledger,
    orders,
    stock,
    stockOperator,
    events,
    traffic,
    once,
    ports,
    outages,
    ...around,
  })
  const rangeOperator = createRangeOperator({
    db,
    fleet,
    ledger,
    orders,
    stock,
    stockOperator,
    outages,
    proxyOperator,
    ...around,
  })
  const vpnDeps = {
    db,
    ledger,
    orders,
    customers,
    pricing,
    fleet,
    traffic,
    ...around,
    vault: arranged.vault,
    publicKeyOf,
    arranged: arranged.vpn ?? shippedVpn,
  }
  const vpn = createVpn(vpnDeps)
  const premiumDeps = { db, ledger, customers, orders, pricing, traffic, ...around }
  const premium = createPremium({
    ...premiumDeps,
    vault: arranged.vault,
    gateway: { address: arranged.gateway.host, ...arranged.gateway },
    terms,
    ports,
    stock,
  })
  const refunds = createRefunds({ orders, once, endings: [proxyOperator.ending, premium.traffic.ending, vpn.ending] })
  const storyOf = createStories({
    orders,
    ledger,
    events,
    deliveries: [
      { product: 'dedicated', delivered: (order) => proxyOperator.delivered(order) },
      { product: 'premium', delivered: (order) => premium.traffic.delivered(order) },
      { product: 'vpn', delivered: (order) => vpn.delivered(order) },
    ],
  })
  const paid = createPayments({
    db,
    ledger,
    customers,
    events,
    orders,
    pricing,
    once,
    vault: arranged.vault,
    kinds: providerKinds,
    buyers: buyersOf({ dedicated, premium, vpn }),
    ...around,
  })
  const verifiers: readonly Verifier[] = [
    createShopVerifier({ db, vault: arranged.vault }),
    createMoneyVerifier({ db, ledger: ledgerAudit, customers, vault: arranged.vault }),
    createDedicatedVerifier({
      db,
      outages,
      orders,
      pricing,
      stockOperator,
      traffic,
      ...around,
      vault: arranged.vault,
      numbers: nextNumber,
    }),
    createVpnVerifier({ ...vpnDeps, ledgerAudit }),
    createTrafficVerifier({ db, ...around }),
    createPremiumVerifier(premiumDeps),
    createAccessVerifier({ ...premiumDeps, vault: arranged.vault, terms }),
    createPaymentsVerifier({ db, ledgerAudit, vault: arranged.vault }),
    createEventsVerifier({ db, ...around }),
    createFleetVerifier({ db, vault: arranged.vault, publicKeyOf }),
    createOperatorsVerifier({ db, ...around }),
    createSignInVerifier({ db, ...around, vault: arranged.vault }),
    createSchemaVerifier({ db, migrations: readMigrations }),
    createIntegrityVerifier({ db, migrations: readMigrations }),
    createHistoryVerifier({ db }),
  ]
  /** Asked about an unknown credential in this order. */
  const gateways = createGatewaySide({ db, ...around, usualEndpoint: arranged.gateway })
  const nodeSides: readonly NodeSide[] = [dedicated.nodes, premium.nodes, vpn.nodes, stock.nodes, gateways]
  const forgetUsage = createForgetting({ fleet, nodeSides })
  const blocking = createBlocking({ db, customers, touched: nodeSides })
  const operators = createOperators({ db, ...around })
  const passwords = createPasswordWork({ passwords: createPasswords(around.passwordCost), clock: around.clock })
  const buckets = openTokenBuckets(db, around.clock)
  const signInDeps = {
    db,
    ...around,
    buckets,
    vault: arranged.vault,
    passwords,
    codes: secondFactors,
    customers,
    operators,
  }
  const signIn = createSignIn(signInDeps)
  const identities = createIdentities({ ...signInDeps, signIn })
  const erasing = createErasing({
    db,
    ...around,
    ledger,
    customers,
    operators,
    history: historyEraserOn(plainDb, history),
    block: blocking.within,
    onErased: () => signIn.forget(),
  })
  const registration = createRegistration({
    ...signInDeps,
    ...(arranged.joining ?? { isOpen: false, mail: undefined, siteUrl: () => '' }),
    signIn,
    identities,
    ledger,
    erasing,
    referrals: paid.referrals,
  })
  return {
    db,
    buckets,
    ledger,
    ledgerAudit,
    keepCheckpoint: createCheckpointKeeper(arranged.checkpoints ?? { file: undefined, url: undefined }),
    customers,
    events,
    orders,
    pricing,
    traffic,
    stock,
    stockOperator,
    dedicated,
    dedicatedUpkeep,
    outages,
    outageWatch,
    proxyOperator,
    rangeOperator,
    refunds,
    storyOf,
    ...paid,
    ledgerReports: createLedgerReports({ db }),
    fleet,
    reach,
    vpn,
    premium,
    nodeSides,
    forgetUsage,
    setBlocked: blocking.setBlocked,
    erasing,
    exporting: createExporting({ db, customers }),
    retaining: createRetaining({ db, ...around, retention: arranged.retention ?? shippedRetention }),
    acting,
    operators,
    signIn,
    identities,
    registration,
    arranged,
    verifiers,
  }
}

/** Blanks the history of a customer's rows. What was tampered with is for the operator to look at, and no fault. */
const historyEraserOn = (db: Database, history: ReturnType<typeof createRowHistory>) => {
  const rows = createRowErasure({ db, history })
  return {
    erase: (customer: string, nowMs: number, newName: () => string) =>
      rows.erase(traces, customer, nowMs, newName).catch((error: unknown) => {
        throw error instanceof HistoryDiffers ? historyDiffers(error.checkpoint) : error
      }),
  }
}
