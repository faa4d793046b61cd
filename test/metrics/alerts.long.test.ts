import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages, run } from '../harness/apt.ts'

const rules = join(import.meta.dir, '../../docs/operate/alerts.yml')
const folder = mkdtempSync(join(tmpdir(), 'turnpike-alerts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The fault, as series with one value per minute, and the alert that must fire after an hour of it. */
const faults: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  TurnpikeDown: { 'up{job="turnpike",instance="shop"}': '0x60' },
  TurnpikeDatabaseDown: { 'turnpike_database_up{instance="shop"}': '0x60' },
  TurnpikeFaults: { 'turnpike_faults_total{instance="shop"}': '0+1x60' },
  TurnpikeSlow: {
    'turnpike_http_request_duration_seconds_bucket{area="customer",le="1"}': '0+1x60',
    'turnpike_http_request_duration_seconds_bucket{area="customer",le="5"}': '0+9x60',
    'turnpike_http_request_duration_seconds_bucket{area="customer",le="+Inf"}': '0+9x60',
  },
  TurnpikeNodeSilent: {
    'turnpike_node_last_seen_timestamp_seconds{node="gw",kind="gateway"}': '0x60',
    'turnpike_node_open{node="gw",kind="gateway"}': '1x60',
  },
  TurnpikeNodeLag: { 'turnpike_node_lag_seconds{node="gw",kind="gateway"}': '60x60' },
  TurnpikeNodeLinkFull: {
    'turnpike_node_carried_bytes_total{node="gw",kind="gateway"}': '0+63000000000x60',
    'turnpike_node_link_bytes_per_second{node="gw",kind="gateway"}': '1250000000x60',
  },
  TurnpikeNodeClaims: { 'turnpike_node_refused_bytes_total{node="gw"}': '0+1000x60' },
  TurnpikeNodeHolds: { 'turnpike_node_accounts_at_limit{node="gw"}': '3x60' },
  TurnpikeNodeFewPorts: {
    'turnpike_node_most_ports{node="gw",kind="gateway"}': '200x60',
    'turnpike_node_most_ports{node="other",kind="gateway"}': '2000x60',
  },
  TurnpikeRangesNotProven: { 'turnpike_node_unproven_ranges{node="gw"}': '2x60' },
  TurnpikeJobFails: { 'turnpike_job_failures{name="back up"}': '0+1x60' },
  TurnpikeBackupOld: {
    'turnpike_backup_last_timestamp_seconds{instance="shop"}': '0x60',
    'turnpike_backup_interval_seconds{instance="shop"}': '600x60',
  },
  TurnpikeDatabaseWentBack: { 'turnpike_rewinds{instance="shop"}': '1x60' },
  TurnpikeCheckpointOld: { 'turnpike_checkpoint_timestamp_seconds{instance="shop"}': '-20000x60' },
  TurnpikeHistoryBehind: { 'turnpike_history_unstamped_versions{instance="shop"}': '200000x60' },
  TurnpikeDiskLow: {
    'turnpike_disk_free_bytes{instance="shop"}': '5x60',
    'turnpike_disk_size_bytes{instance="shop"}': '100x60',
  },
  TurnpikeFilesLow: {
    'process_open_fds{job="turnpike",instance="gw"}': '90x60',
    'process_max_fds{job="turnpike",instance="gw"}': '100x60',
  },
  TurnpikeGatewayFull: {
    'turnpike_gateway_turned_away_total{instance="gw"}': '0+1x60',
    'turnpike_gateway_starved_total{instance="gw"}': '0x60',
  },
  TurnpikeExitsDown: { 'turnpike_gateway_exits{instance="gw",state="down"}': '1x60' },
  TurnpikeResolverFails: {
    'turnpike_gateway_lookups_total{instance="gw",outcome="answered"}': '0+9x60',
    'turnpike_gateway_lookups_total{instance="gw",outcome="failed"}': '0+10x60',
  },
  TurnpikeShopAway: { 'turnpike_shop_contact_age_seconds{instance="gw"}': '90x60' },
  TurnpikeClockOff: { 'turnpike_clock_skew_seconds{instance="gw"}': '-9x60' },
  TurnpikeCertificateEnds: {
    'turnpike_tls_certificate_expires_timestamp_seconds{instance="shop"}': '86400x60',
    'turnpike_tls_certificate_begins_timestamp_seconds{instance="shop"}': '-7000000x60',
  },
  TurnpikeCertificateRefused: { 'turnpike_acme_failures{instance="shop"}': '3x60' },
  TurnpikeStalls: { 'turnpike_event_loop_lag_seconds{instance="shop"}': '3x60' },
}

/** A healthy shop: the same series with good values fire no alert. */
const health: Readonly<Record<string, string>> = {
  'up{job="turnpike",instance="shop"}': '1x60',
  'turnpike_database_up{instance="shop"}': '1x60',
  'turnpike_faults_total{instance="shop"}': '7x60',
  // A short-lived certificate, of which most is left.
  'turnpike_tls_certificate_expires_timestamp_seconds{instance="shop"}': '500000x60',
  'turnpike_tls_certificate_begins_timestamp_seconds{instance="shop"}': '0x60',
  'turnpike_acme_failures{instance="shop"}': '1x60',
  'turnpike_http_request_duration_seconds_bucket{area="customer",le="1"}': '0+9x60',
  'turnpike_http_request_duration_seconds_bucket{area="customer",le="+Inf"}': '0+9x60',
  'turnpike_node_last_seen_timestamp_seconds{node="gw",kind="gateway"}': '0+60x60',
  'turnpike_node_open{node="gw",kind="gateway"}': '1x60',
  'turnpike_node_last_seen_timestamp_seconds{node="closed",kind="gateway"}': '0x60',
  'turnpike_node_open{node="closed",kind="gateway"}': '0x60',
  'turnpike_node_carried_bytes_total{node="gw",kind="gateway"}': '0+57000000000x60',
  'turnpike_node_link_bytes_per_second{node="gw",kind="gateway"}': '1250000000x60',
  'turnpike_node_refused_bytes_total{node="gw"}': '1000x60',
  'turnpike_node_accounts_at_limit{node="gw"}': '0x60',
  'turnpike_node_most_ports{node="gw",kind="gateway"}': '2000x60',
  'turnpike_node_most_ports{node="other",kind="gateway"}': '2000x60',
  'turnpike_node_unproven_ranges{node="gw"}': '0x60',
  'turnpike_backup_last_timestamp_seconds{instance="shop"}': '0x60',
  'turnpike_backup_interval_seconds{instance="shop"}': '86400x60',
  'turnpike_history_unstamped_versions{instance="shop"}': '20000x60',
  'turnpike_disk_free_bytes{instance="shop"}': '50x60',
  'turnpike_disk_size_bytes{instance="shop"}': '100x60',
  'turnpike_gateway_turned_away_total{instance="gw"}': '3x60',
  'turnpike_gateway_starved_total{instance="gw"}': '0x60',
  'turnpike_gateway_exits{instance="gw",state="down"}': '0x60',
  // Customers ask for names whose own servers are broken.
  'turnpike_gateway_lookups_total{instance="gw",outcome="answered"}': '0+50x60',
  'turnpike_gateway_lookups_total{instance="gw",outcome="failed"}': '0+10x60',
  'turnpike_shop_contact_age_seconds{instance="gw"}': '1x60',
}

/** The values after the hour of the fault. Series that are not here keep their last value: counters do not grow. */
const recovery: Readonly<Record<string, string>> = {
  'up{job="turnpike",instance="shop"}': '1x60',
  'turnpike_database_up{instance="shop"}': '1x60',
  'turnpike_http_request_duration_seconds_bucket{area="customer",le="1"}': '60+9x60',
  'turnpike_http_request_duration_seconds_bucket{area="customer",le="5"}': '540+9x60',
  'turnpike_http_request_duration_seconds_bucket{area="customer",le="+Inf"}': '540+9x60',
  'turnpike_node_last_seen_timestamp_seconds{node="gw",kind="gateway"}': '3660+60x60',
  'turnpike_node_lag_seconds{node="gw",kind="gateway"}': '0x60',
  'turnpike_node_accounts_at_limit{node="gw"}': '0x60',
  'turnpike_node_most_ports{node="gw",kind="gateway"}': '2000x60',
  'turnpike_node_unproven_ranges{node="gw"}': '0x60',
  'turnpike_job_failures{name="back up"}': '0x60',
  'turnpike_backup_last_timestamp_seconds{instance="shop"}': '3660+60x60',
  'turnpike_checkpoint_timestamp_seconds{instance="shop"}': '3660x60',
  'turnpike_history_unstamped_versions{instance="shop"}': '0x60',
  'turnpike_disk_free_bytes{instance="shop"}': '50x60',
  'process_open_fds{job="turnpike",instance="gw"}': '10x60',
  'turnpike_gateway_exits{instance="gw",state="down"}': '0x60',
  'turnpike_shop_contact_age_seconds{instance="gw"}': '1x60',
  'turnpike_clock_skew_seconds{instance="gw"}': '0x60',
  'turnpike_tls_certificate_expires_timestamp_seconds{instance="shop"}': '9000000x60',
  'turnpike_acme_failures{instance="shop"}': '0x60',
  'turnpike_rewinds{instance="shop"}': '0x60',
  'turnpike_event_loop_lag_seconds{instance="shop"}': '0x60',
}

/** The last value of a series like `0+9x60` or `200x60`. */
function lastOf(values: string): number {
  const [, first = '0', step = '0', count = '0'] = /^(-?\d+)(?:\+(\d+))?x(\d+)$/.exec(values) ?? []
  return Number(first) + Number(step) * Number(count)
}

const withRecovery = (series: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(series).map(([name, values]) => [name, `${values} ${recovery[name] ?? `${lastOf(values)}x60`}`]),
  )

type AlertTest = {
  readonly name: string
  readonly series: Readonly<Record<string, string>>
  /** The alerts that fire at each time; no other does. */
  readonly firing: Readonly<Record<string, readonly string[]>>
  readonly interval?: string
}

/** promtool compares labels and annotations exactly; this counts only whether an alert fires. */
const toUnit = ({ name, series, firing, interval = '1m' }: AlertTest) => ({
  name,
  interval,
  input_series: Object.entries(series).map(([each, values]) => ({ series: each, values })),
  promql_expr_test: Object.entries(firing).flatMap(([at, alerts]) =>
    names.map((alert) => ({
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) by (alertname)`,
      eval_time: at,
      exp_samples: alerts.includes(alert) ? [{ labels: `{alertname="${alert}"}`, value: 1 }] : [],
    })),
  ),
})

async function runTests(tests: readonly AlertTest[], every: string): Promise<void> {
  const file = join(folder, 'alerts-test.yml')
  writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: every, tests: tests.map(toUnit) }))
  const tested = await run(['promtool', 'test', 'rules', file])
  expect(tested.err + tested.out).toContain('SUCCESS')
  expect(tested.code).toBe(0)
}

const names = [...readFileSync(rules, 'utf8').matchAll(/- alert: (\w+)/g)].map((match) => match[1] ?? '')

beforeAll(async () => {
  if (Bun.which('promtool') === null) expect(await installPackages(['prometheus'])).toBeUndefined()
})

test('each alert fires for its own fault and no other, is over 15 minutes after it, and none fires for a healthy shop', async () => {
  expect(Object.keys(faults).toSorted()).toEqual(names.toSorted())
  expect(await run(['promtool', 'check', 'rules', rules])).toMatchObject({ code: 0 })
  const tests = Object.entries(faults).map(([alert, series]) => ({
    name: alert,
    series: withRecovery(series),
    firing: { '55m': [alert], '76m': [] },
  }))
  await runTests([{ name: 'all is well', series: health, firing: { '55m': [] } }, ...tests], '1m')
})

test('a job that fails for 16 s every second raises no alert, and one that fails for 5 minutes raises one until its first success', async () => {
  const job = (name: string) => `turnpike_job_failures{instance="shop",name="${name}"}`
  const outage = {
    'turnpike_database_up{instance="shop"}': '1x12 0x3 1x300',
    ...Object.fromEntries(['renew', 'prune', 'report', 'expire'].map((name) => [job(name), '0x12 5 10 15 0x300'])),
  }
  const quiet = Object.fromEntries(['65s', '80s', '2m', '3m', '5m', '10m', '16m'].map((at) => [at, []]))
  const firing = { '2m': [], '4m': ['TurnpikeJobFails'], '370s': [], '10m': [] }
  const tests = [
    { name: 'an outage of 16 s', series: outage, firing: quiet, interval: '5s' },
    { name: 'a job fails for 5 minutes', series: { [job('renew')]: '0x12 5+5x59 0x300' }, firing, interval: '5s' },
  ]
  await runTests(tests, '5s')
})
