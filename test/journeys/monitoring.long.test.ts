import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages, run } from '../harness/apt.ts'
import { prepareFolder } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { fencesOf } from '../harness/markdown.ts'
import { alertRules, dashboardQueries, type Prometheus, readDashboard, startPrometheus } from '../harness/prometheus.ts'
import { endStarted, type Running, runtimeCommand, startTurnpike, untilTrue } from '../harness/turnpike.ts'
import { until } from '../harness/until.ts'

const docs = join(import.meta.dir, '../../docs/operate')
const token = 'sandbox-token-under-watch'
const client = '127.0.0.7'
const daemons = `${process.env['PATH'] ?? ''}:/usr/sbin`

/** The root folder into which the documented commands install. */
const root = mkdtempSync(join(tmpdir(), 'turnpike-monitoring-'))
const installed = (path: string): string => join(root, path)
const yamlOf = (path: string): unknown => Bun.YAML.parse(readFileSync(installed(path), 'utf8'))

/** The path of a Debian program, which is installed if it is missing. */
async function findProgram(name: string, packageName = name): Promise<string> {
  const find = (): string | null => Bun.which(name, { PATH: daemons })
  if (find() === null) expect(await installPackages([packageName])).toBeUndefined()
  return find() ?? name
}

/** Runs the commands of the page that change files, below `root`. */
async function installDocumented(): Promise<void> {
  await findProgram('prometheus')
  mkdirSync(installed('etc/default'), { recursive: true })
  copyFileSync('/etc/default/prometheus', installed('etc/default/prometheus'))
  const lines = fencesOf(readFileSync(join(docs, 'monitoring.md'), 'utf8'))
    .filter(({ language }) => language === 'console')
    .flatMap((fence) => fence.lines.map((line) => line.replace(/^server# /, '')))
    .filter((line) => /^(cd|install|sed) /.test(line))
  expect(lines.length).toBeGreaterThan(8)
  const script = lines.join('\n').replaceAll('/usr/share/doc/turnpike/operate', docs)
  const { code, err } = await run(['sh', '-ec', script.replaceAll(/ \/(etc|var)\//g, ` ${root}/$1/`)])
  expect({ code, err }).toEqual({ code: 0, err: '' })
}

/** Fields of https://grafana.com/docs/grafana/latest/administration/provisioning/ */
const sourceFields = ['name', 'type', 'access', 'orgId', 'uid', 'url', 'isDefault', 'jsonData', 'version', 'editable']
const providerFields = [
  'name',
  'orgId',
  'folder',
  'folderUid',
  'type',
  'disableDeletion',
  'updateIntervalSeconds',
  'allowUiUpdates',
  'options',
]

beforeAll(installDocumented)
afterAll(() => rmSync(root, { recursive: true, force: true }))

const [port, gatewayPort, metricsPort] = [freePort(), freePort(), freePort()]
const log = installed('var/log/turnpike/shop.log')
const logText = (): string => readFileSync(log, 'utf8')

/** Series that a shop has only after a failure of a job, or an hour after its first sale. */
const absentSeries = ['turnpike_job_runs_total{outcome="failed"}', 'turnpike_checkpoint_timestamp_seconds']

test('promtool accepts the installed prometheus.yml with its rules, also with targets on other machines', async () => {
  const file = installed('etc/prometheus/prometheus.yml')
  const text = readFileSync(file, 'utf8')
  const whole = installed('etc/prometheus/whole.yml')
  expect(text).toContain('# - targets')
  writeFileSync(whole, text.replace('# - targets', '- targets'))
  const rules = `SUCCESS: ${alertRules().length} rules found`
  for (const each of [file, whole]) {
    expect(await run(['promtool', 'check', 'config', each])).toMatchObject({
      code: 0,
      out: expect.stringContaining(rules),
    })
  }
  expect(await run(['promtool', 'check', 'rules', installed('etc/prometheus/alerts.yml')])).toMatchObject({
    code: 0,
    out: expect.stringContaining(rules),
  })
})

test('the Grafana files have documented fields only, load the dashboard, and give it the data source that it selects', () => {
  type Fields = Readonly<Record<string, unknown>>
  const sources = yamlOf('etc/grafana/provisioning/datasources/turnpike.yml') as { datasources: Fields[] }
  const providers = yamlOf('etc/grafana/provisioning/dashboards/turnpike.yml') as { providers: Fields[] }
  const [source = {}] = sources.datasources
  const [provider = {}] = providers.providers
  expect([Object.keys(sources), Object.keys(providers)]).toEqual([
    ['apiVersion', 'datasources'],
    ['apiVersion', 'providers'],
  ])
  expect([sources.datasources.length, providers.providers.length]).toEqual([1, 1])
  for (const field of Object.keys(source)) expect(sourceFields).toContain(field)
  for (const field of Object.keys(provider)) expect(providerFields).toContain(field)
  const prometheusSettings = yamlOf('etc/prometheus/prometheus.yml') as { global: { scrape_interval: string } }
  expect(source).toMatchObject({
    type: 'prometheus',
    access: 'proxy',
    url: 'http://127.0.0.1:9090',
    jsonData: { timeInterval: prometheusSettings.global.scrape_interval },
  })
  const defaults = readFileSync(installed('etc/default/prometheus'), 'utf8')
  expect(defaults).toMatch(/^ARGS="--web\.listen-address=127\.0\.0\.1:9090"$/m)
  const { path } = provider['options'] as { path: string }
  expect(readdirSync(installed(path))).toEqual(['grafana.json'])
  const dashboard = readDashboard()
  expect(dashboard.templating.list).toMatchObject([
    {
      name: 'source',
      type: 'datasource',
      query: 'prometheus',
      current: { text: source['name'], value: source['uid'] },
    },
  ])
  for (const user of dashboard.panels.flatMap((panel) => [panel, ...panel.targets])) {
    expect(user.datasource).toEqual({ type: 'prometheus', uid: expect.stringMatching(/^\$\{source\}$/) })
  }
})

test('systemd reads the journald drop-in, and knows its settings and times', async () => {
  const analyze = await findProgram('systemd-analyze', 'systemd')
  const file = installed('etc/systemd/journald.conf.d/turnpike.conf')
  const shipped = readFileSync('/etc/systemd/journald.conf', 'utf8')
  writeFileSync(installed('etc/systemd/journald.conf'), shipped)
  const { out } = await run([analyze, `--root=${root}`, 'cat-config', 'systemd/journald.conf'])
  expect(out).toContain(readFileSync(file, 'utf8').trim())
  const known = [...shipped.matchAll(/^#?(\w+)=/gm)].map(([, name]) => name)
  for (const [, name, value = ''] of readFileSync(file, 'utf8').matchAll(/^(\w+)=(.+)$/gm)) {
    expect(known).toContain(name)
    if (name?.endsWith('Sec')) expect(await run([analyze, 'timespan', value])).toMatchObject({ code: 0 })
  }
})

describe('a shop and a gateway under the documented monitoring', () => {
  const env = {
    TURNPIKE_PORT: String(port),
    TURNPIKE_GATEWAY_PORT: String(gatewayPort),
    TURNPIKE_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
    TURNPIKE_LOCAL_NODES: 'gateway',
    TURNPIKE_SANDBOX_TOKEN: token,
    TURNPIKE_LOG: 'debug',
  }
  const targets = { shop: `127.0.0.1:${metricsPort}`, gateway: `127.0.0.1:${metricsPort + 1}` }
  let gateway: Running
  let prometheus: Prometheus

  async function startGateway(): Promise<void> {
    gateway = startTurnpike(['gateway'], { ...env, TURNPIKE_DATA: installed('data') })
    await gateway.until(/gateway open/)
  }

  beforeAll(async () => {
    const appending = ['sh', '-c', `exec "$@" 2>>'${log}'`, 'sh', ...runtimeCommand]
    const shop = startTurnpike(
      ['shop'],
      {
        ...env,
        TURNPIKE_DATA: prepareFolder(installed('data'), 'stocked'),
        TURNPIKE_BACKUP_FOLDER: installed('backups'),
      },
      appending,
    )
    await shop.until(/open at/)
    await startGateway()
    const settings = installed('etc/prometheus/prometheus.yml')
    const changed = readFileSync(settings, 'utf8')
      .replaceAll('127.0.0.1:9464', targets.shop)
      .replaceAll('127.0.0.1:9465', targets.gateway)
      .replaceAll('127.0.0.1:9093', `127.0.0.1:${freePort()}`)
      .replaceAll('_interval: 15s', '_interval: 1s')
    writeFileSync(installed('etc/prometheus/changed.yml'), changed)
    prometheus = await startPrometheus(installed('etc/prometheus/changed.yml'), installed('series'))
  })
  afterAll(async () => {
    await prometheus?.stop()
    await endStarted()
  })

  const request = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })

  test('Prometheus with the documented file reaches the shop and the gateway and evaluates every rule', async () => {
    type Targets = { activeTargets: { labels: Record<string, string>; health: string }[] }
    const upTargets = async (): Promise<string[]> => {
      const { activeTargets } = await prometheus.get<Targets>('/targets')
      const up = activeTargets.filter(({ health, labels }) => health === 'up' && labels['job'] === 'turnpike')
      return up.map(({ labels }) => labels['instance'] ?? '').toSorted()
    }
    const expected = Object.values(targets).toSorted()
    expect(await untilTrue(async () => (await upTargets().catch(() => [])).length === expected.length)).toBe(true)
    expect(await upTargets()).toEqual(expected)
    type Groups = { groups: { rules: { name: string; health: string }[] }[] }
    const rules = async () => (await prometheus.get<Groups>('/rules')).groups.flatMap((group) => group.rules)
    expect(await untilTrue(async () => (await rules()).every(({ health }) => health !== 'unknown'))).toBe(true)
    const healthy = alertRules().map(({ alert }) => ({ name: alert, health: 'ok' }))
    expect((await rules()).map(({ name, health }) => ({ name, health }))).toEqual(healthy)
  })

  test('Prometheus accepts every query of the dashboard and returns data for all whose series exist', async () => {
    const body = JSON.stringify({ pool_type: 'residential', gb: 1 })
    expect((await request('/premium/traffic/buy', { method: 'POST', body })).status).toBe(200)
    const hasData = async (query: string): Promise<boolean> => (await prometheus.query(query)).found > 0
    const lacking: string[] = []
    for (const query of dashboardQueries()) {
      expect({ query, ...(await prometheus.query(query)) }).toMatchObject({ status: 'success' })
      const isAbsent = absentSeries.some((series) => query.includes(series))
      if (!isAbsent && !(await untilTrue(() => hasData(query)))) lacking.push(query)
    }
    expect(lacking).toEqual([])
  })

  test('a killed gateway raises TurnpikeDown and TurnpikeNodeSilent, and its restart ends both', async () => {
    type Alerts = { alerts: { state: string; labels: Record<string, string> }[] }
    const raised = [`TurnpikeDown ${targets.gateway}`, 'TurnpikeNodeSilent local-gateway']
    const countFiring = async (): Promise<number> => {
      const { alerts } = await prometheus.get<Alerts>('/alerts')
      const firing = alerts.filter(({ state }) => state === 'firing')
      const names = firing.map(({ labels }) => `${labels['alertname']} ${labels['node'] ?? labels['instance']}`)
      return raised.filter((name) => names.includes(name)).length
    }
    expect(await countFiring()).toBe(0)
    gateway.kill('SIGKILL')
    await gateway.exited
    expect(await untilTrue(async () => (await countFiring()) === raised.length)).toBe(true)
    await startGateway()
    expect(await untilTrue(async () => (await countFiring()) === 0)).toBe(true)
  })

  test('the logs at level debug have no address of a client that sent a wrong token, a wrong password and a wrong proxy password', async () => {
    const shop = `http://127.0.0.1:${port}`
    const ask = async (...args: string[]): Promise<string[]> => {
      const shown = ['-s', '-o', '/dev/null', '-w', '%{http_code} %header{x-request-id}', '--interface', client]
      return (await run(['curl', ...shown, ...args])).out.split(' ')
    }
    const wrong = JSON.stringify({ login: 'anna@example.net', password: 'a-wrong-password' })
    const answers = {
      token: await ask('-H', 'Authorization: Bearer tp_test_wrong', `${shop}/api/v1/balance`),
      password: await ask('-H', 'Content-Type: application/json', '-d', wrong, `${shop}/auth/v1/customer/sign-in`),
      proxy: await ask('-x', `http://anna:wrong@127.0.0.1:${gatewayPort}`, `${shop}/healthz`),
    }
    expect([answers.token[0], answers.password[0], answers.proxy[0]]).toEqual(['401', '401', '407'])
    for (const [, id = ''] of [answers.token, answers.password]) await until(() => id !== '' && logText().includes(id))
    expect(logText() + gateway.err()).not.toMatch(/127\.0\.0\.7|anna/)
  })

  test('logrotate with the documented file moves the lines of a running shop to shop.log.1, and shop.log continues with whole lines', async () => {
    const logrotate = await findProgram('logrotate')
    const settings = installed('logrotate.conf')
    const text = readFileSync(installed('etc/logrotate.d/turnpike'), 'utf8')
    writeFileSync(settings, text.replace('/var/log/', installed('var/log/')), { mode: 0o644 })
    const logOne = async (): Promise<string> => {
      const id = (await request('/balance')).headers.get('x-request-id') ?? ''
      await until(() => id !== '' && logText().includes(`"${id}"`))
      return id
    }
    const before = await logOne()
    expect(await run([logrotate, '--debug', settings])).toMatchObject({ code: 0 })
    const rotating = { isOver: false }
    const writing = untilTrue(async () => {
      await request('/balance')
      return rotating.isOver
    }, 1)
    const rotated = await run([logrotate, '--force', '--state', installed('logrotate.state'), settings])
    rotating.isOver = true
    await writing
    expect(rotated).toEqual({ code: 0, out: '', err: '' })
    const after = await logOne()
    expect(readFileSync(`${log}.1`, 'utf8')).toContain(before)
    const lines = logText().split('\n').slice(0, -1)
    const ids = lines.map((line) => (JSON.parse(line) as { id?: string }).id)
    expect([ids.includes(before), ids.includes(after)]).toEqual([false, true])
  })
})
