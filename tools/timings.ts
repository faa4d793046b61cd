/** Durations of test files in ms, as the runner keeps them: it begins with the longest. */
export type Timings = { readonly version: number; readonly files: Readonly<Record<string, number>> }

/** The runner begins files without a duration last. A new file that takes long would then run alone at the end. */
const unmeasuredMs = 30_000

/** Adds a duration for each file that no run has measured. */
export const withUnmeasured = (timings: Timings, files: readonly string[]): Timings => ({
  ...timings,
  files: { ...Object.fromEntries(files.map((file) => [file, unmeasuredMs])), ...timings.files },
})
