import type { StormOutcome } from './storm.ts'

/** Columns as wide as what is in them; numbers to the right. */
function columns(rows: readonly (readonly (string | number)[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => String(row[at] ?? '').length)))
  return rows.map((row) =>
    row
      .map((cell, at) =>
        typeof cell === 'number' ? String(cell).padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
}

/** The outcome for a reader: attackers first, then how honest customers fared, then what was wrong. */
export function toTable(outcome: StormOutcome): string {
  const { honest } = outcome
  const failed = `${honest.failedInTrouble} while something was done to the processes, ${honest.failedOutside} otherwise`
  const rate = ((100 * honest.failedOutside) / Math.max(1, honest.attempts)).toFixed(3)
  return [
    `${outcome.engine}, ${outcome.minutes} minutes, seed ${outcome.seed}`,
    '',
    ...columns([
      ['attacker', 'tried', 'gained', 'bound', '', 'in'],
      ...outcome.attackers.map((row) => [
        row.attacker,
        row.tried,
        row.gained,
        row.bound,
        row.gained > row.bound ? 'BEYOND' : '',
        `${row.unit}${row.note === '' ? '' : ` (${row.note})`}`,
      ]),
    ]),
    '',
    `honest: ${honest.customers} customers, ${honest.orders} orders, ${honest.attempts} requests and lines, ${honest.usedBytes} bytes billed`,
    `failed: ${failed} (${rate} %)`,
    ...honest.failures.map((each) => `  ${each.replaceAll(/\s+/g, ' ')}`),
    `done to the processes: ${Object.entries(outcome.troubles)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ')}`,
    `errors logged: ${Object.values(outcome.logged).reduce((sum, each) => sum + each, 0)}`,
    ...Object.entries(outcome.logged).map(([what, count]) => `  ${count} × ${what}`),
    ...outcome.attackers.flatMap((row) =>
      row.errors.map((each) => `  an attempt failed by itself, ${row.attacker}: ${each}`),
    ),
    '',
    ...outcome.problems.map((each) => `WRONG  ${each}`),
    outcome.problems.length === 0 ? 'All within bounds.' : `${outcome.problems.length} beyond bounds.`,
  ].join('\n')
}
