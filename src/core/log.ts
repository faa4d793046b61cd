type Note = (event: string, fields?: Record<string, unknown>) => void

/** What a process writes down for its operator. Whoever writes takes the levels that it needs. */
export type Log = {
  readonly error: Note
  readonly warn: Note
  readonly info: Note
  readonly debug: Note
}
