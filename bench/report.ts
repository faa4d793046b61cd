import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Machine, toLines } from './machine.ts'
import { median } from './statistics.ts'

/** One line of the table. Without a target it is for comparison. The figure is the median of `rounds`. */
export type Row = {
  readonly what: string
  readonly figure: string
  readonly target?: string
  readonly met?: boolean
  readonly rounds: readonly number[]
  /** One of the few rows that README shows too. */
  readonly isHeadline?: boolean
}

export type Outcome = { readonly bench: string; readonly about: string; readonly rows: readonly Row[] }

const whole = (value: number): string => Math.round(value).toLocaleString('en-US')

const milliseconds = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(1)} ms`

/** A median, and the range of the rounds. */
function spread(values: readonly number[], write: (value: number) => string): string {
  if (values.length < 2) return write(median(values))
  return `${write(median(values))} (${write(Math.min(...values))}–${write(Math.max(...values))})`
}

export const rateRow = (what: string, rates: readonly number[], target?: { min: number }): Row => ({
  what,
  figure: `${spread(rates, whole)}/s`,
  rounds: rates,
  ...(target && { target: `≥ ${whole(target.min)}/s`, met: median(rates) >= target.min }),
})

/** Without values, because a peer could not run here, the target is shown without a result. */
export const ratioRow = (what: string, ratios: readonly number[], target?: { min: number } | { max: number }): Row => {
  const figure = ratios.length === 0 ? 'not measured' : `${spread(ratios, (value) => value.toFixed(2))} ×`
  if (!target) return { what, figure, rounds: ratios }
  const isMin = 'min' in target
  const shown = isMin ? `≥ ${target.min} ×` : `≤ ${target.max} ×`
  if (ratios.length === 0) return { what, figure, rounds: ratios, target: shown }
  const met = isMin ? median(ratios) >= target.min : median(ratios) <= target.max
  return { what, figure, rounds: ratios, target: shown, met }
}

export const timeRow = (what: string, times: readonly number[], maxMs?: number): Row => ({
  what,
  figure: spread(times, milliseconds),
  rounds: times,
  ...(maxMs !== undefined && { target: `< ${maxMs} ms`, met: median(times) < maxMs }),
})

/** For figures that are neither a rate, a ratio nor a time. */
export const amountRow = (what: string, amounts: readonly number[], unit: string, digits = 0): Row => ({
  what,
  figure: `${spread(amounts, (value) => (digits === 0 ? whole(value) : value.toFixed(digits)))}${unit}`,
  rounds: amounts,
})

const headings = ['Bench', 'Measure', 'Figure', 'Target', 'Met']

const metText = (row: Row): string => (row.met === undefined ? '' : row.met ? 'yes' : 'NO')

const cellsOf = (outcomes: readonly Outcome[]): string[][] =>
  outcomes.flatMap((outcome) =>
    outcome.rows.map((row) => [outcome.bench, row.what, row.figure, row.target ?? '', metText(row)]),
  )

/** For a terminal. */
export function toTable(outcomes: readonly Outcome[]): string {
  const rows = [headings, ...cellsOf(outcomes)]
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '))
  return `${lines.join('\n')}\n`
}

/** The benches on the page: the rows of each, and the command that measured them. */
type Kept = Map<string, { readonly command: string; readonly rows: readonly string[] }>

function toMarkdown(kept: Kept, order: readonly string[], machine: Machine): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const names = [...kept.keys()].toSorted((a, b) => order.indexOf(a) - order.indexOf(b))
  const byCommand = Map.groupBy(names, (name) => kept.get(name)?.command ?? '')
  return [
    ...toLines(machine).map((line) => `- ${line}`),
    ...[...byCommand].map(([command, benches]) => `- \`${command}\`: ${benches.join(', ')}`),
    '',
    row(headings),
    row(headings.map(() => '---')),
    ...names.flatMap((name) => kept.get(name)?.rows ?? []),
  ].join('\n')
}

/** Parses the output of toMarkdown. */
function readKept(markdown: string): Kept {
  const kept: Kept = new Map()
  for (const [, command = '', benches = ''] of markdown.matchAll(/^- `(npm run bench[^`]*)`: (.+)$/gm)) {
    for (const bench of benches.split(', ')) {
      const rows = markdown.split('\n').filter((line) => line.startsWith(`| ${bench} |`))
      kept.set(bench, { command, rows })
    }
  }
  return kept
}

const pathOf = (...names: string[]): string => join(import.meta.dir, '..', ...names)
const page = pathOf('docs', 'performance.md')
const readme = pathOf('README.md')

/** Replaces the text between the marks of a page. */
function writeBetweenMarks(path: string, write: (before: string) => string, name = 'bench'): void {
  const [beginMark, endMark] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`]
  const text = readFileSync(path, 'utf8')
  const begin = text.indexOf(beginMark)
  const end = text.indexOf(endMark)
  if (begin < 0 || end < begin) throw new Error(`${path} has no ${beginMark} … ${endMark}`)
  const markdown = write(text.slice(begin, end))
  writeFileSync(path, `${text.slice(0, begin + beginMark.length)}\n\n${markdown}\n\n${text.slice(end)}`)
}

/** Replaces another table of docs/performance.md. */
export function writeTable(name: string, markdown: string): void {
  writeBetweenMarks(page, () => markdown, name)
  Bun.spawnSync([pathOf('node_modules', '.bin', 'biome'), 'format', '--write', page])
}

/** README shows eight rows, and docs/performance.md all of them. */
const maxHeadlines = 8

/** The rows for README, and their machine. */
function toHeadlines(rows: readonly Row[], machine: Machine): string {
  const cells = rows.map((row) => `| ${row.what} | ${row.figure} | ${row.target ?? ''} |`)
  return [
    ...toLines(machine).map((line) => `- ${line}`),
    '',
    '| Measure | Figure | Target |',
    '| --- | --- | --- |',
    ...cells,
  ].join('\n')
}

/**
 * Writes the figures into docs/performance.md, replacing earlier ones of the same benches, and their headlines, if any,
 * into README.
 */
export function writePages(
  outcomes: readonly Outcome[],
  order: readonly string[],
  machine: Machine,
  command: string,
): void {
  writeBetweenMarks(page, (before) => {
    const kept = readKept(before)
    for (const outcome of outcomes) {
      kept.set(outcome.bench, { command, rows: cellsOf([outcome]).map((cells) => `| ${cells.join(' | ')} |`) })
    }
    return toMarkdown(kept, order, machine)
  })
  const headlines = outcomes.flatMap(({ rows }) => rows.filter(({ isHeadline }) => isHeadline)).slice(0, maxHeadlines)
  if (headlines.length > 0) writeBetweenMarks(readme, () => toHeadlines(headlines, machine))
  Bun.spawnSync([pathOf('node_modules', '.bin', 'biome'), 'format', '--write', page, readme])
}
