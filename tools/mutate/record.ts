import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Mutant, nameOf } from './draw.ts'
import type { Outcome } from './trial.ts'

export type Record = Pick<Mutant, 'path' | 'line' | 'kind' | 'before' | 'after'> & Outcome

/** A survivor that a maintainer reviewed: it has no visible effect, or a small one, with the reason. */
export type Explained = {
  readonly path: string
  readonly before: string
  readonly after: string
  readonly effect: 'none' | 'small'
  readonly reason: string
}

/** Reads the file that has one line for each finished trial. A stopped run resumes from it. */
export function readRecords(file: string): Map<string, Record> {
  if (!existsSync(file)) return new Map()
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return new Map(lines.map((line) => JSON.parse(line) as Record).map((record) => [nameOf(record), record]))
}

export function addRecord(file: string, record: Record): void {
  mkdirSync(dirname(file), { recursive: true })
  appendFileSync(file, `${JSON.stringify(record)}\n`)
}

/** `noticed 91 of 100`, and how many of the others have an explanation. */
export function toSummary(records: readonly Record[], explained: readonly Explained[]): string {
  const noticed = records.filter(({ outcome }) => outcome === 'noticed')
  const survivors = records.filter(({ outcome }) => outcome === 'survived')
  const reasons = new Map(explained.map((each) => [nameOf(each), each]))
  const count = (effect: Explained['effect']) =>
    survivors.filter((each) => reasons.get(nameOf(each))?.effect === effect)
  const byTypes = noticed.filter(({ by }) => by === 'types').length
  const none = count('none').length
  const small = count('small').length
  return [
    `noticed ${noticed.length} of ${records.length} (${byTypes} by types alone)`,
    `${survivors.length} survived: ${none} without effect, ${small} explained, ${survivors.length - none - small} open`,
  ].join('; ')
}

/** Writes the survivors as Markdown: path, line, diff and the known reason. */
export function writeSurvivors(file: string, records: readonly Record[], explained: readonly Explained[]): void {
  const reasons = new Map(explained.map((each) => [nameOf(each), each]))
  const survivors = records.filter(({ outcome }) => outcome === 'survived')
  const parts = survivors.map((each) => {
    const known = reasons.get(nameOf(each))
    const reason = known ? `${known.effect === 'none' ? 'No effect' : 'Small'}: ${known.reason}` : 'No reason is known.'
    const diff = ['```diff', `- ${each.before}`, `+ ${each.after}`, '```'].join('\n')
    return `## ${each.path}:${each.line}, ${each.kind}\n\n${diff}\n\n${reason} Passed: ${each.by}.\n`
  })
  writeFileSync(file, [`# Survivors\n\n${toSummary(records, explained)}\n`, ...parts].join('\n'))
}
