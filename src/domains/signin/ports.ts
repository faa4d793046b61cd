/** Password hashing, with a bounded queue. */
export type Passwords = {
  /** Undefined if the queue is full. */
  hash(password: string): Promise<string | undefined>
  /** Takes as long without a stored hash. Undefined if the queue is full. */
  isRight(password: string, kept: string | undefined): Promise<boolean | undefined>
}

/** How long a code of the second factor is valid. */
export const factorPeriodMs = 30_000

/** Time-based one-time passwords (RFC 6238). */
export type Codes = {
  makeSecret(): string
  /** The `otpauth:` URI. */
  toUri(secret: string, login: string): string
  /** The time step of a code, if it is near now. */
  findStep(secret: string, code: string, nowMs: number): number | undefined
}

export type Letter = {
  /** What the letter is, for the log. Its subject may have a customer's balance or things. */
  readonly kind: string
  /** The row of a notice. */
  readonly id?: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The name beside the sender's address. */
  readonly fromName?: string
  readonly messageId?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Queues letters. A letter that cannot be sent is logged. */
export type Mail = {
  post(letter: Letter): void
  /** Tries once, ahead of the queue. A letter that is `refused` would be refused again. */
  send(letter: Letter): Promise<'taken' | 'refused' | 'later'>
}
