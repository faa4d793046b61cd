import type { RequestNote } from '../../api/answers.ts'
import { nodeBase } from '../../api/node/http.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { Clock } from '../../core/time.ts'
import { isReachable, soonEnough } from '../../db/open.ts'
import type { StandbyReads } from '../../db/read-standby.ts'
import { type Replication, readReplication } from '../../db/replication.ts'
import { countUnstamped } from '../../db/row-history.ts'
import { listRewinds } from '../../db/timeline.ts'
import { boundOf, bytesPerMegabit } from '../../domains/fleet/rules.ts'
import { findTime } from '../../jobs/backups.ts'
import type { JobRun } from '../../jobs/jobs.ts'
import type { Config } from '../settings/config.ts'
import type { Services } from '../shop/services.ts'

const bounds = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export type ShopRecorder = ReturnType<typeof createShopMetrics>

/** The shop's metrics. Nodes are labels, because there are few; customers never are. */
export function createShopMetrics(metrics: Metrics, clock: Clock) {
  const requests = metrics.counter('turnpike_http_requests_total', 'HTTP requests, by caller and status.')
  const took = metrics.histogram('turnpike_http_request_duration_seconds', 'Duration of HTTP requests.', bounds)
  const sales = metrics.counter('turnpike_sales_total', 'Purchases that were charged, each once, by operation.')
  const faults = metrics.counter('turnpike_faults_total', 'Requests that failed with internal_error.')
  faults.add({}, 0)
  const runs = metrics.counter('turnpike_job_runs_total', 'Finished runs of periodic jobs, by job and outcome.')
  const lastRuns = new Map<string, number>()
  const failures = new Map<string, number>()
  metrics.gauge('turnpike_job_failures', 'Failed runs of a job in a row; 0 after a success.', () =>
    [...failures].map(([job, count]) => ({ labels: { name: job }, value: count })),
  )
  metrics.gauge(
    'turnpike_job_last_success_timestamp_seconds',
    'Time of the last success of a job, in seconds since 1970.',
    () => [...lastRuns].map(([job, at]) => ({ labels: { name: job }, value: at / 1000 })),
  )
  return {
    request(note: RequestNote): void {
      const area = note.path.startsWith(nodeBase) ? 'node' : 'customer'
      requests.add({ area, status: String(note.status) })
      // A node waits for changes on purpose.
      if (note.path !== `${nodeBase}state`) took.observe({ area }, note.tookMs / 1000)
      if (note.isSale) sales.add({ operation: note.path })
      if (note.status === 500) faults.add()
    },
    job: ({ name, outcome }: JobRun): void => {
      failures.set(name, outcome === 'failed' ? (failures.get(name) ?? 0) + 1 : 0)
      if (outcome !== 'elsewhere') runs.add({ name, outcome })
      if (outcome === 'done') lastRuns.set(name, clock())
    },
  }
}

export function addShopGauges(
  metrics: Metrics,
  services: Services,
  pending: () => number,
  reads: StandbyReads | undefined,
): void {
  const { db, ledgerAudit } = services
  metrics.gauge('turnpike_database_up', 'Whether the database answers.', async () => ((await isReachable(db)) ? 1 : 0))
  metrics.gauge('turnpike_http_requests_pending', 'Requests in progress, including long polls of nodes.', pending)
  metrics.gauge('turnpike_checkpoint_timestamp_seconds', 'Time of the newest checkpoint, in seconds since 1970.', () =>
    soonEnough(ledgerAudit.newest()).then((newest) => newest && newest.madeAt / 1000),
  )
  metrics.gauge(
    'turnpike_history_unstamped_versions',
    'Versions of rows that no checkpoint covers yet; 200000 means 200000 or more.',
    () => soonEnough(countUnstamped(db)),
  )
  metrics.gauge(
    'turnpike_rewinds',
    'How often the database was found to have gone back in time within the last day.',
    async () => (await soonEnough(listRewinds(db, Date.now() - dayMs))).length,
  )
  if (db.engine === 'postgres') addReplicationGauges(metrics, services)
  if (reads) {
    metrics.total('turnpike_database_wide_reads_total', 'Lists, reports and snapshots, by the server that read.', () =>
      Object.entries(reads).map(([server, value]) => ({ labels: { server }, value })),
    )
  }
  addNodeGauges(metrics, services)
}

/** The replication of the database. A role without the rights of `pg_monitor` sees no states and no lag. */
function addReplicationGauges(metrics: Metrics, { db }: Services): void {
  let reading: Promise<Replication> | undefined
  /** One read for all gauges of a scrape. */
  const read = (): Promise<Replication> => {
    reading ??= soonEnough(readReplication(db)).finally(() => {
      reading = undefined
    })
    return reading
  }
  const gauge = (name: string, help: string, of: (found: Replication) => ReturnType<Parameters<Metrics['gauge']>[2]>) =>
    metrics.gauge(name, help, async () => of(await read()))
  gauge('turnpike_database_synchronous', 'Whether commits wait for a standby.', ({ isSynchronous }) =>
    isSynchronous ? 1 : 0,
  )
  gauge('turnpike_database_commits_waiting', 'Commits that wait for a standby now.', (found) => found.waitingCommits)
  gauge('turnpike_database_standbys', 'Connected standbys, by whether a commit waits for them.', ({ standbys }) =>
    ['sync', 'quorum', 'potential', 'async', 'hidden'].map((state) => ({
      labels: { state },
      value: standbys.filter((each) => (each.state ?? 'hidden') === state).length,
    })),
  )
  gauge('turnpike_database_standby_lag_bytes', 'Log of changes that a standby has not on its disk.', ({ standbys }) =>
    [...new Map(standbys.map((each) => [each.name, each.lagBytes]))].flatMap(([standby, lagBytes]) =>
      lagBytes === null ? [] : [{ labels: { standby }, value: lagBytes }],
    ),
  )
  gauge('turnpike_database_slot_kept_bytes', 'Log of changes that a replication slot keeps.', ({ slots }) =>
    slots.map(({ name, keptBytes }) => ({ labels: { slot: name }, value: keptBytes })),
  )
}

const dayMs = 86_400_000

/** Series with a value of each joined node. */
function createNodeSeries({ fleet }: Services) {
  const nodes = async () => (await soonEnough(Promise.all([fleet.nodes('gateway'), fleet.nodes('vpn')]))).flat()
  const each = (read: (node: Awaited<ReturnType<typeof nodes>>[number]) => number | undefined) => async () =>
    (await nodes()).flatMap((node) => {
      const value = node.joinedAt === null ? undefined : read(node)
      return value === undefined ? [] : [{ labels: { node: node.name, kind: node.kind }, value }]
    })
  /** Adds the figures of earlier processes of a node. */
  const overBoots = (name: 'tunnels' | 'totalBytes') => async () => {
    const earlier = await soonEnough(fleet.earlierFigures())
    return each((node) => (node.health ? node.health[name] + (earlier.get(node.id)?.[name] ?? 0) : undefined))()
  }
  return { nodes, each, overBoots }
}

function addNodeGauges(metrics: Metrics, services: Services): void {
  const { stock, traffic } = services
  const { nodes, each, overBoots } = createNodeSeries(services)
  metrics.gauge(
    'turnpike_node_open',
    '1 if the joined node is open, 0 if it is closed.',
    each((node) => (node.state === 'open' ? 1 : 0)),
  )
  metrics.gauge(
    'turnpike_node_last_seen_timestamp_seconds',
    'Time of the last report of a node, in seconds since 1970.',
    each((node) => (node.lastSeenAt === null ? undefined : node.lastSeenAt / 1000)),
  )
  metrics.gauge(
    'turnpike_node_lag_seconds',
    'Seconds since the node last had the complete state of the shop, as it reported.',
    each((node) => (node.health ? node.health.lagMs / 1000 : undefined)),
  )
  metrics.gauge(
    'turnpike_node_tunnels',
    'Open tunnels or connected devices of a node, as it reported.',
    overBoots('tunnels'),
  )
  metrics.gauge(
    'turnpike_node_most_ports',
    'Maximum of ports for whitelisted addresses on a gateway, as it reported.',
    each((node) => node.health?.maxPorts ?? undefined),
  )
  metrics.gauge(
    'turnpike_node_link_bytes_per_second',
    'Bandwidth of a node, both directions together; bytes that it reports beyond it are not billed.',
    each((node) => boundOf(node.linkMegabits, node.health?.interfaceMegabits) * bytesPerMegabit),
  )
  metrics.total(
    'turnpike_node_carried_bytes_total',
    'Bytes that a node has reported as relayed.',
    overBoots('totalBytes'),
  )
  const byNode = (read: () => Promise<ReadonlyMap<string, number>>) => async () => {
    const values = await soonEnough(read())
    return (await nodes()).map((node) => ({ labels: { node: node.name }, value: values.get(node.id) ?? 0 }))
  }
  metrics.total(
    'turnpike_node_refused_bytes_total',
    'Bytes that a node has reported beyond its bandwidth; they were not billed.',
    byNode(async () => new Map((await traffic.counts.refusals()).map((one) => [one.node, Number(one.bytes)]))),
  )
  metrics.gauge(
    'turnpike_node_accounts_at_limit',
    'Traffic accounts of which a node has leased its maximum.',
    byNode(async () => new Map([...(await traffic.leases.held())].map(([id, held]) => [id, held.accountsAtLimit]))),
  )
  metrics.gauge(
    'turnpike_node_unproven_ranges',
    'Unassigned ranges that a gateway claims and has not proven.',
    byNode(stock.ranges.unproven),
  )
}

export function addBackupMetrics(
  metrics: Metrics,
  config: Pick<Config, 'backupFolder' | 'backupHours'>,
  list: () => readonly string[],
): void {
  if (config.backupFolder === undefined) return
  metrics.gauge(
    'turnpike_backup_interval_seconds',
    'Configured seconds between two backups.',
    () => config.backupHours * 3600,
  )
  metrics.gauge(
    'turnpike_backup_last_timestamp_seconds',
    'Start time of the newest backup, in seconds since 1970; 0 if there is none.',
    () => Math.max(0, ...list().map((name) => findTime(name) ?? 0)) / 1000,
  )
}
