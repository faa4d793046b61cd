import { type Engine, engineName } from '../stage.ts'
import { type Figures, type MeasureName, measures } from './measure.ts'

/** The figures of one engine by the number of postings, smallest first; 0 is an empty shop. */
export type Grown = { readonly engine: Engine; readonly sizes: readonly { postings: number; figures: Figures }[] }

/** The number of postings to which the largest measured size is reckoned. */
const reckonedTimes = 10

export const sizeName = (postings: number): string =>
  postings === 0 ? 'empty' : postings % 1e6 === 0 ? `${postings / 1e6} m` : `${postings / 1000} k`

function write(value: number | undefined, unit: string): string {
  if (value === undefined || Number.isNaN(value)) return '–'
  if (unit === 'ms' && value >= 10_000) return write(value / 1000, 's')
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  return `${value.toFixed(digits)} ${unit}`
}

/** A line through the two largest sizes, for what reads every posting; the largest for all else. */
function reckon(name: MeasureName, sizes: Grown['sizes']): number | undefined {
  const measured = sizes.flatMap(({ postings, figures }) => {
    const value = figures[name]
    return postings > 0 && value !== undefined ? [{ postings, value }] : []
  })
  const [before, last] = [measured.at(-2), measured.at(-1)]
  if (!last) return undefined
  if (measures[name].grows === 'flat') return last.value
  const to = (sizes.at(-1)?.postings ?? 0) * reckonedTimes
  const from = before ?? { postings: 0, value: 0 }
  const slope = (last.value - from.value) / (last.postings - from.postings)
  return Math.max(last.value, last.value + slope * (to - last.postings))
}

/** The table of docs/performance.md: one for each engine. */
export function toGrowthTable(all: readonly Grown[], head: readonly string[]): string {
  const tables = all.map(({ engine, sizes }) => {
    const largest = sizes.at(-1)?.postings ?? 0
    const heads = [engineName[engine], ...sizes.map(({ postings }) => sizeName(postings))]
    heads.push(`${sizeName(largest * reckonedTimes)}, reckoned`)
    const rows = (Object.keys(measures) as MeasureName[])
      .filter((name) => sizes.some(({ figures }) => figures[name] !== undefined))
      .map((name) => {
        const { unit } = measures[name]
        const cells = sizes.map(({ figures }) => write(figures[name], unit))
        return [name, ...cells, write(reckon(name, sizes), unit)]
      })
    return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  })
  return [...head.map((line) => `- ${line}`), '', tables.join('\n\n')].join('\n')
}
