/**
 * Keeps what must be shown again but not lie open in the database. `context` names what the secret belongs to; a sealed
 * text that was moved to another place does not open there.
 */
export type Vault = {
  /** Tells one key from another, and nothing of either. */
  readonly fingerprint: Uint8Array
  seal(text: string, context: string): Uint8Array
  open(sealed: Uint8Array, context: string): string
}
