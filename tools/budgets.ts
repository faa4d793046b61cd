/** Processor seconds of test files by path, as `test/harness/measure-files-worker.ts` measures them. */
export type FileSeconds = ReadonlyMap<string, number>

/** The budget of a file without a measured figure: most take less than a second. */
const defaultBudgetSeconds = 8

/**
 * A file fails above three times its measured figure. Processor seconds do not depend on how long a process waits, but
 * they grow by up to a half when hyperthreads and caches are shared with other work, and a slower processor may need
 * twice as many. Three times the figure is only reached by a file that does more than before.
 */
const headroom = 3

/** Reads the lines of `measure-files-worker.ts`. A file that ran on both engines has the larger of its two figures. */
export function readMeasured(lines: string, root: string): Map<string, number> {
  const seconds = new Map<string, number>()
  for (const line of lines.split('\n').filter(Boolean)) {
    const measured = JSON.parse(line) as { file: string; seconds: number }
    const file = measured.file.replace(`${root}/`, '')
    seconds.set(file, Math.max(measured.seconds, seconds.get(file) ?? 0))
  }
  return seconds
}

const inDescendingOrder = (seconds: FileSeconds): (readonly [string, number])[] =>
  [...seconds].toSorted(([, a], [, b]) => b - a)

export const findDearest = (measured: FileSeconds, count: number): string[] =>
  inDescendingOrder(measured)
    .slice(0, count)
    .map(([file, seconds]) => `cpu  ${seconds.toFixed(1)} s ${file}`)

/** One line for each file that used more than its budget. */
export const findOverBudget = (measured: FileSeconds, figures: FileSeconds): string[] =>
  inDescendingOrder(measured).flatMap(([file, seconds]) => {
    const budget = Math.max(defaultBudgetSeconds, headroom * (figures.get(file) ?? 0))
    const over = `${file}: ${seconds.toFixed(1)} processor seconds, over its budget of ${budget.toFixed(1)}`
    return seconds > budget ? [over] : []
  })

/** The table of figures: measured files above a third of the default budget, and earlier figures of all other files. */
export const toFigures = (measured: FileSeconds, earlier: FileSeconds): Record<string, number> =>
  Object.fromEntries(
    inDescendingOrder(new Map([...earlier, ...measured]))
      .filter(([, seconds]) => headroom * seconds > defaultBudgetSeconds)
      .map(([file, seconds]) => [file, Math.round(seconds * 10) / 10]),
  )
