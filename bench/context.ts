import type { Row } from './report.ts'
import type { Stage } from './stage.ts'

/**
 * Parameters of a bench. Each peer is measured for `seconds` in each of `rounds`; `minutes` is for long observations.
 */
export type Context = {
  readonly stage: Stage
  readonly seconds: number
  readonly rounds: number
  readonly minutes: number
  readonly say: (text: string) => void
}

export type Bench = {
  readonly name: string
  readonly about: string
  readonly run: (context: Context) => Promise<Row[]>
}
