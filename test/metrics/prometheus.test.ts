import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/db/open.ts'
import { run } from '../harness/apt.ts'
import { HandClock } from '../harness/clock.ts'
import { prepareFolder } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { alertRules, dashboardQueries, type Prometheus, startPrometheus } from '../harness/prometheus.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { endStarted, type Running, startTurnpike, untilTrue } from '../harness/turnpike.ts'
import { wire } from '../harness/wired.ts'

const docs = join(import.meta.dir, '../../docs/operate')
const token = 'sandbox-token-of-a-test'
const trusting: object = { tls: { ca: selfSigned.cert } }

/** Every query of the dashboard and the alerts. */
const questions = (): string[] => [...dashboardQueries(), ...alertRules().map((rule) => rule.expr)]

/** The metrics that a query names. */
const figuresOf = (question: string): string[] => question.match(/\b(?:turnpike|process)_[a-z_]+\b|\bup\b(?=\{)/g) ?? []

describe('Prometheus from Debian', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-prometheus-'))
  const [port, gatewayPort, metricsPort] = [freePort(), freePort(), freePort()]
  let up: Running
  let prometheus: Prometheus

  beforeAll(async () => {
    writeFileSync(join(folder, 'tls.crt'), selfSigned.cert)
    writeFileSync(join(folder, 'tls.key'), selfSigned.key)
    up = startTurnpike(['up'], {
      TURNPIKE_DATA: prepareFolder(join(folder, 'data'), 'stocked'),
      TURNPIKE_PORT: String(port),
      TURNPIKE_GATEWAY_PORT: String(gatewayPort),
      TURNPIKE_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
      TURNPIKE_SANDBOX_TOKEN: token,
      TURNPIKE_BACKUP_FOLDER: join(folder, 'backups'),
      TURNPIKE_TLS_CERT: join(folder, 'tls.crt'),
      TURNPIKE_TLS_KEY: join(folder, 'tls.key'),
    })
    const targets = `['127.0.0.1:${metricsPort}', '127.0.0.1:${metricsPort + 1}']`
    const settings = join(folder, 'prometheus.yml')
    writeFileSync(
      settings,
      `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: ['${join(docs, 'alerts.yml')}']
scrape_configs: [{ job_name: turnpike, static_configs: [{ targets: ${targets} }] }]
`,
    )
    await up.until(/Turnpike is open at/)
    prometheus = await startPrometheus(settings, join(folder, 'series'))
  })
  afterAll(async () => {
    await prometheus?.stop()
    await endStarted()
    rmSync(folder, { recursive: true, force: true })
  })

  const figures = async (at: number): Promise<string> => (await fetch(`http://127.0.0.1:${at}/metrics`)).text()

  const ask = (question: string) => prometheus.query(question)

  test('Prometheus finds every metric that the dashboard and the alerts query, after one sale', async () => {
    const bought = await fetch(`https://127.0.0.1:${port}/api/v1/vpn/buy`, {
      ...trusting,
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"period":1}',
    })
    expect(bought.status).toBe(200)
    const db = openDatabase(join(folder, 'data/turnpike.db'))
    await wire(db, new HandClock(Date.now() + 3_600_000)).ledgerAudit.makeCheckpoint()
    await db.close()
    const isUp = () =>
      ask('count(up{job="turnpike"} == 1) == 2').then(
        ({ found }) => found === 1,
        () => false,
      )
    expect(await untilTrue(isUp)).toBeTrue()
    const names = new Set(questions().flatMap(figuresOf))
    expect(names.size).toBeGreaterThan(35)
    const missing: string[] = []
    for (const name of names) {
      if (!(await untilTrue(async () => (await ask(`{__name__="${name}"}`)).found > 0))) missing.push(name)
    }
    expect(missing).toEqual([])
    for (const question of questions())
      expect({ question, ...(await ask(question)) }).toMatchObject({ status: 'success' })
  })

  test('GET /metrics of the shop has turnpike_shop_tls_spared_total', async () => {
    expect(await figures(metricsPort)).toContain('turnpike_shop_tls_spared_total{state="handshake"} 0')
  })

  test('promtool accepts the metrics, which contain no customer, and only GET /metrics on the metrics port serves them', async () => {
    for (const at of [metricsPort, metricsPort + 1]) {
      const text = await figures(at)
      const { code, out, err } = await run(['promtool', 'check', 'metrics'], text)
      expect({ out, err }).toEqual({ out: '', err: '' })
      expect(code).toBe(0)
      expect(text).not.toMatch(/cus_|tok_|sub_|127\.0\.0\.1/)
    }
    expect((await fetch(`http://127.0.0.1:${metricsPort}/`)).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${metricsPort}/metrics`, { method: 'POST' })).status).toBe(405)
    // The customer port does not serve them.
    expect((await fetch(`https://127.0.0.1:${port}/metrics`, trusting)).status).toBe(404)
  })
})
