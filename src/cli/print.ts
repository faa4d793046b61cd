import { resolve } from 'node:path'
import { type CsvCell, toCsvLine } from '../core/csv.ts'
import { mistyped, type Outcome, table, toPrintable } from './command.ts'

/** What a command prints. */
export const toText = (outcome: Outcome, json: boolean): string =>
  json && outcome.json !== null
    ? `${JSON.stringify(outcome.json)}\n`
    : outcome.lines.map((line) => `${toPrintable(line)}\n`).join('')

type Item = Readonly<Record<string, unknown>>

export function toLines(data: unknown, columns: readonly string[] = []): string[] {
  const { items, next_cursor: next } = Object(data) as { items?: readonly Item[]; next_cursor?: string | null }
  if (!Array.isArray(items)) return [Bun.YAML.stringify(data, null, 2)]
  return [...rows(items, columns), ...(next ? [`More: --cursor ${next}`] : [])]
}

/** A table of items. A field's name says how its value is shown. */
export function rows(items: readonly object[], chosen: readonly string[] = []): string[] {
  if (items.length === 0) return ['None.']
  const columns = chosen.length > 0 ? chosen : Object.keys(items[0] ?? {})
  const heading = columns.map((field) =>
    field
      .replace(/_(?:rub|id|at|bytes)$/, '')
      .replaceAll('_', ' ')
      .toUpperCase(),
  )
  return table(
    heading,
    items.map((item) => columns.map((field) => toCell(field, (item as Item)[field]))),
  )
}

export const csvOption = { flag: 'csv', meaning: 'Write CSV.' }

/** Items as CSV: these columns, then one line for each item. A value that is no cell is written as JSON. */
export function csvLines(items: readonly object[], columns: readonly string[]): string[] {
  const cellOf = (value: unknown): CsvCell =>
    value === undefined || value === null
      ? null
      : typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? value
        : JSON.stringify(value)
  return [columns.join(','), ...items.map((item) => toCsvLine(columns.map((each) => cellOf((item as Item)[each]))))]
}

function toCell(field: string, value: unknown): string {
  if (value === null || value === undefined) return field === 'last_seen_at' ? 'never' : ''
  if (typeof value === 'number' && field.endsWith('_rub')) return rub(value)
  if (typeof value === 'number' && field.endsWith('_bytes')) return `${(value / 1e6).toFixed(1)} MB`
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*Z$/.test(value)) return local(value)
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(', ')
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** Begins a sentence about an action that was done before, under the same idempotency key. */
export const doneBefore = (isRepeat: boolean | undefined, isDryRun: boolean | undefined = false): string =>
  isDryRun ? 'Dry run, nothing changed: ' : isRepeat ? 'Already done with this key, nothing changed now: ' : ''

export const rub = (amount: number): string => amount.toFixed(2)

/** Swedish writes a moment as YYYY-MM-DD HH:MM:SS. */
export const local = (iso: string | null): string => (iso === null ? '' : new Date(iso).toLocaleString('sv'))

/** A secret on its own line, for scripts, and a note about it. */
export const secret = (text: string, ...more: readonly string[]): string[] => [
  text,
  `It is shown only now. ${more.join(' ')}`.trimEnd(),
]

/** Reads a file that an argument names; `-` is the standard input. */
export async function readTextFile(path: string, besides = ''): Promise<string> {
  if (path === '-') return Bun.stdin.text()
  try {
    return await Bun.file(path).text()
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : undefined
    if (reason === 'ENOENT' || reason === 'ENOTDIR') throw mistyped(`There is no file ${resolve(path)}.${besides}`)
    if (reason === 'EISDIR') throw mistyped(`${resolve(path)} is a folder.`)
    if (reason !== 'EACCES' && reason !== 'EPERM') throw error
    throw mistyped(`This user may not read ${resolve(path)}. Use - in its place and redirect: < ${path}`)
  }
}

/** A verdict with its sentences, from this process or from a remote shop. */
type PrintedVerdict = {
  readonly ok: boolean
  readonly found: number
  readonly covered: Readonly<Record<string, number>>
  readonly notes: readonly string[]
  readonly findings: readonly Readonly<Record<'promise' | 'where' | 'problem' | 'advice', string>>[]
}

export function verdictLines({ findings, notes, ok, found, covered }: PrintedVerdict): string[] {
  const counts = Object.entries(covered)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
  return [
    ...findings.map((each) => `WRONG  ${each.promise}: ${each.where}: ${each.problem}`),
    ...[...new Set(findings.map((each) => each.advice))].map((advice) => `TO DO  ${advice}.`),
    ...notes.map((note) => `NOTE   ${note}`),
    ok ? `No problem found. Checked: ${counts}.` : `Problems found: ${found}. Checked: ${counts}.`,
  ]
}

export function showProgress(name: string): { readonly tell: (done: number) => void; readonly end: () => void } {
  if (!process.stderr.isTTY) return { tell: () => {}, end: () => {} }
  const write = (text: string): void => void process.stderr.write(`\r\x1b[K${text}`)
  write(`${name} …`)
  return { tell: (done) => write(`${name} … ${done}`), end: () => write('') }
}
