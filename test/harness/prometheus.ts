import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages } from './apt.ts'
import { freePort } from './gateway.ts'

const docs = join(import.meta.dir, '../../docs/operate')

type Dashboard = {
  readonly templating: { readonly list: readonly Readonly<Record<string, unknown>>[] }
  readonly panels: readonly {
    readonly datasource: object
    readonly targets: readonly { readonly expr: string; readonly datasource: object }[]
  }[]
}

export const readDashboard = (): Dashboard => JSON.parse(readFileSync(join(docs, 'grafana.json'), 'utf8')) as Dashboard

/** Every query of the dashboard. */
export const dashboardQueries = (): string[] =>
  readDashboard().panels.flatMap((panel) => panel.targets.map((target) => target.expr))

/** The documented alert rules. */
export function alertRules(): { readonly alert: string; readonly expr: string }[] {
  const { groups } = Bun.YAML.parse(readFileSync(join(docs, 'alerts.yml'), 'utf8')) as {
    groups: { rules: { alert: string; expr: string }[] }[]
  }
  return groups.flatMap((group) => group.rules)
}

/** Debian's Prometheus, with its settings in a file and its series in a folder. */
export async function startPrometheus(settings: string, series: string) {
  const problem = Bun.which('prometheus') === null ? await installPackages(['prometheus']) : undefined
  if (problem !== undefined) throw new Error(`prometheus is missing: ${problem}`)
  const port = freePort()
  const child = Bun.spawn(
    [
      'prometheus',
      `--config.file=${settings}`,
      `--storage.tsdb.path=${series}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdout: 'ignore', stderr: 'ignore' },
  )
  const api = `http://127.0.0.1:${port}/api/v1`
  return {
    /** The `data` of an answer of the HTTP API. */
    async get<Data>(path: string): Promise<Data> {
      const { data } = (await (await fetch(`${api}${path}`)).json()) as { data: Data }
      return data
    },
    async query(text: string): Promise<{ status: string; found: number; problem?: string }> {
      const answer = await fetch(`${api}/query`, { method: 'POST', body: new URLSearchParams({ query: text }) })
      const { status, data, error } = (await answer.json()) as {
        status: string
        data?: { result: unknown[] }
        error?: string
      }
      return { status, found: data?.result.length ?? 0, ...(error !== undefined && { problem: error }) }
    },
    async stop(): Promise<void> {
      child.kill('SIGTERM')
      await child.exited
    },
  }
}

export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>
