type Note = (event: string, fields?: Record<string, unknown>) => void

/** Structured log. A module takes only the levels that it needs. */
export type Log = Readonly<Record<'error' | 'warn' | 'info' | 'debug', Note>>
