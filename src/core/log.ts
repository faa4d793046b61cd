type Note = (event: string, fields?: Record<string, unknown>) => void

/** Structured log. A module takes only the levels that it needs. */
export type Log = {
  readonly error: Note
  readonly warn: Note
  readonly info: Note
  readonly debug: Note
}
