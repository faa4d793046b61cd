import { bracketed } from '../../../core/address.ts'
import { toCsvLine } from '../../../core/csv.ts'
import { compile, identifiesByPort, problemOfLineTemplate, templateOf } from '../../../core/line-template.ts'
import { malformed, refuseField } from '../../../core/refusal.ts'
import { noEntrance, noHttps } from '../../../domains/dedicated/index.ts'
import type { z } from '../../operation.ts'
import type { exportDedicated, proxy } from './shapes.ts'

type Shown = z.input<typeof proxy>
type Query = z.output<(typeof exportDedicated)['query']>

/** The form of a file: lines by a template, or one of the two formats that have none. */
type Form = { readonly format: Query['format']; readonly template?: string; readonly isHttps?: boolean }

export function readForm(query: Query): Form {
  const lone = query.format_id !== undefined && query.template !== undefined
  if (lone) throw refuseField('template', 'not_with', { others: ['format_id'] })
  const stray = (['format_id', 'template', 'protocol'] as const).find((field) => query[field] !== undefined)
  if (query.format !== 'txt' && stray) throw refuseField(stray, 'only_with', { other: 'format=txt' })
  if (query.format !== 'txt') return { format: query.format }
  const template = query.template ?? templateOf[Number(query.format_id ?? '1') as 1 | 2 | 3 | 4]
  const problem = problemOfLineTemplate(template, 'template')
  if (problem) throw malformed([problem])
  const isHttps = query.protocol === 'https'
  if (isHttps && identifiesByPort(template)) throw refuseField('protocol', 'https_needs_login')
  return { format: query.format, template, isHttps }
}

export function writeExport({ format, template = '', isHttps = false }: Form, proxies: Shown[]) {
  if (format === 'json') return { data: { proxies, count: proxies.length } }
  if (format === 'csv') return { body: toCsv(proxies), mediaType: 'text/csv', fileName: 'proxies.csv' }
  const body = isHttps ? toHttpsLines(template, proxies) : toLines(template, proxies)
  return { body, mediaType: 'text/plain', fileName: 'proxies.txt' }
}

function toLines(template: string, proxies: readonly Shown[]): string {
  const byPort = identifiesByPort(template)
  const without = byPort ? proxies.filter((each) => each.whitelist_port === null) : []
  if (without.length > 0) throw noEntrance(without.map((each) => each.id))
  const write = compile(template)
  const lines = proxies.map((each) =>
    write({
      host: bracketed(each.ip),
      port: String(byPort ? each.whitelist_port : each.port),
      login: each.username,
      password: each.password ?? '',
      protocol: each.port_type === 'socks' ? 'socks5' : 'http',
    }),
  )
  return lines.map((line) => `${line}\n`).join('')
}

function toHttpsLines(template: string, proxies: readonly Shown[]): string {
  const without = proxies.filter((each) => each.https_host === null)
  if (without.length > 0) throw noHttps(without.map((each) => each.id))
  const write = compile(template)
  return proxies
    .map(({ https_host: host, https_port: port, username: login, password }) =>
      write({ host: bracketed(host ?? ''), port: String(port), login, password: password ?? '', protocol: 'https' }),
    )
    .map((line) => `${line}\n`)
    .join('')
}

const columns = [
  'id',
  'ip',
  'port',
  'port_type',
  'username',
  'password',
  'exit_ip',
  'country_code',
  'ipv',
  'expires_at',
  'status',
  'comment',
  'whitelist_port',
  'https_host',
  'https_port',
  'browser_host',
] as const satisfies readonly (keyof Shown)[]

function toCsv(proxies: readonly Shown[]): string {
  const rows = proxies.map((each) => toCsvLine(columns.map((column) => each[column])))
  return [columns.join(','), ...rows].map((row) => `${row}\r\n`).join('')
}
