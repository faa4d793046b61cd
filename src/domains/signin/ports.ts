/** Keeps passwords so that they cannot be read back. Only so many are worked on at once: each takes memory and time. */
export type Passwords = {
  /** Undefined when too many wait already. */
  hash(password: string): Promise<string | undefined>
  /** Takes as long for a password that there is none of. Undefined when too many wait already. */
  isRight(password: string, kept: string | undefined): Promise<boolean | undefined>
}

/** Codes that change every half minute (RFC 6238). */
export type Codes = {
  makeSecret(): string
  /** What a telephone reads, as text. */
  toUri(secret: string, login: string): string
  /** Which half minute a code is of, if it is of one near now. */
  findStep(secret: string, code: string, nowMs: number): number | undefined
}

export type Letter = { readonly to: string; readonly subject: string; readonly text: string }

/** Sends letters by and by; one that cannot be sent is in the log. */
export type Mail = { post(letter: Letter): void }
