import type { Premium } from '../domains/premium/index.ts'
import { readId } from '../kernel/ids.ts'
import { readIso, toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, table } from './command.ts'
import { type Opened, readTextFile } from './typed.ts'

/** The days of two books beside each other: what went through an exit here, and what its supplier counted. */
export function compareCommand(open: Opened<{ premium: Premium }>): Command {
  return {
    name: 'exit compare',
    operation: 'compareExit',
    summary: 'Compares what a supplier counted with what went through its exit here, by days in UTC.',
    takes: [{ name: 'EXIT', meaning: "the exit's id, ext_…" }],
    options: [
      { flag: 'from', value: 'DAY', meaning: 'the first day, like 2026-01-01' },
      { flag: 'to', value: 'DAY', meaning: 'the last day' },
      {
        flag: 'supplied',
        value: 'BYTES|FILE.csv',
        meaning: 'what the supplier counted: in all, or a file with lines of day,bytes',
      },
    ],
    run: (given) =>
      open(given, async ({ premium }) => {
        const id = readId('exit', given.words[0] ?? '')
        if (!id) throw mistyped('EXIT is an id like ext_…, as "exit list" shows it.')
        const [from, to] = [readDay(given, 'from'), readDay(given, 'to')]
        if (to < from || to - from > mostDays * dayMs) throw mistyped(`--to is at most ${mostDays} days after --from.`)
        const supplied = await readSupplied(given.flags['supplied'] ?? '', from, to)
        const { rows, carried, difference, percent } = await premium.exits.compare(id, { from, to, ...supplied })
        const dayOf = (at: number): string => toIso(at).slice(0, 10)
        return {
          json: {
            exit: id,
            carried_bytes: Number(carried),
            supplied_bytes: Number(supplied.total),
            difference_bytes: Number(difference),
            difference_percent: percent,
            days: rows.map((row) => ({
              day: dayOf(row.day),
              carried_bytes: Number(row.carried),
              supplied_bytes: row.supplied === null ? null : Number(row.supplied),
            })),
          },
          lines: [
            ...table(
              ['DAY', 'CARRIED', 'SUPPLIED', 'DIFFERENCE'],
              rows.map(({ day, carried: ours, supplied: theirs }) => [
                dayOf(day),
                String(ours),
                theirs === null ? '' : String(theirs),
                theirs === null ? '' : String(theirs - ours),
              ]),
            ),
            `In all: ${carried} bytes here, ${supplied.total} at the supplier: ${difference} bytes` +
              `${percent === null ? '' : ` (${percent} %)`} more there.`,
          ],
        }
      }),
  }
}

const dayMs = 86_400_000
const mostDays = 400

function readDay(given: Given, flag: 'from' | 'to'): number {
  const text = given.flags[flag] ?? ''
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? readIso(text) : undefined
  if (at === undefined) throw mistyped(`--${flag} is a day, like 2026-01-31.`)
  return at
}

/** A number of bytes, or a file of days. Days outside of those asked for are left out. */
async function readSupplied(
  text: string,
  from: number,
  to: number,
): Promise<{ total: bigint; byDay: ReadonlyMap<number, bigint> }> {
  if (/^\d{1,18}$/.test(text)) return { total: BigInt(text), byDay: new Map() }
  if (!text.endsWith('.csv')) throw mistyped('--supplied is a number of bytes, or a file that ends in .csv.')
  const byDay = new Map<number, bigint>()
  for (const [index, line] of (await readTextFile(text)).split(/\r?\n/).entries()) {
    const match = /^"?(\d{4}-\d{2}-\d{2})"?[,;]"?(\d{1,18})"?$/.exec(line.trim())
    if (line.trim() === '' || (!match && index === 0)) continue
    const day = match?.[1] === undefined ? undefined : readIso(match[1])
    if (day === undefined) throw mistyped(`Line ${index + 1} of ${text} is not a day and a number of bytes.`)
    if (day >= from && day <= to) byDay.set(day, (byDay.get(day) ?? 0n) + BigInt(match?.[2] ?? 0))
  }
  return { total: [...byDay.values()].reduce((sum, each) => sum + each, 0n), byDay }
}
