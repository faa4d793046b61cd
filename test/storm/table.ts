import type { StormOutcome } from './storm.ts'

/** Columns as wide as their content; numbers are right-aligned. */
export function columns(rows: readonly (readonly (string | number)[])[]): string[] {
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

/** The purchases and bytes of every honest customer, and their sums. */
function honestRows({ honest: { rows } }: StormOutcome): (string | number)[][] {
  const cells = (of: (key: Exclude<keyof (typeof rows)[number], 'customer'>) => number) => [
    of('acknowledged'),
    of('lost'),
    of('doubled'),
    of('relayedMin'),
    of('relayedMax'),
    of('billedBytes'),
    of('exactBills'),
    of('boundedBills'),
  ]
  const all = cells((key) => rows.reduce((sum, row) => sum + row[key], 0))
  return [...rows.map((row) => [row.customer, ...cells((key) => row[key])]), ['all', ...all]]
}

const honestHead = 'customer,purchases,lost,doubled,relayed at least,at most,billed,bills exact,within bounds'

/** The outcome as text: attackers first, then honest customers, then the problems. */
export function toTable(outcome: StormOutcome): string {
  const { honest } = outcome
  const failed = `${honest.failedInFaults} while something was done to the processes, ${honest.failedOutside} otherwise`
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
    ...columns([honestHead.split(','), ...honestRows(outcome)]),
    '',
    `honest: ${honest.customers} customers, ${honest.orders} orders, ${honest.attempts} requests and lines, ${honest.usedBytes} bytes billed`,
    `failed: ${failed} (${rate} %), ${honest.late} too late`,
    `the machine had no time for a second or more: ${outcome.machine.lateTimes} times, ${outcome.machine.longestMs} ms at most; busy for ${outcome.machine.busySeconds} s`,
    `verify: clean ${outcome.parts.filter(({ verify }) => verify === 'clean').length} of ${outcome.parts.length} times while it went on, ${outcome.lastVerify === 'clean' ? 'clean' : 'WRONG'} at the end`,
    ...honest.failures.map((each) => `  ${each.replaceAll(/\s+/g, ' ')}`),
    `done to the processes: ${Object.entries(outcome.faults)
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
