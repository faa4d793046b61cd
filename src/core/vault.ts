/** Seals secrets that must be shown again. A sealed text opens only under the `context` it was sealed for. */
export type Vault = {
  /** Tells one key from another, and nothing of either. */
  readonly fingerprint: Uint8Array
  seal(text: string, context: string): Uint8Array
  open(sealed: Uint8Array, context: string): string
}
