/** Seals secrets that must be shown again. A sealed text opens only under the `context` it was sealed for. */
export type Vault = {
  /** Identifies the key without revealing it. */
  readonly fingerprint: Uint8Array
  /** A key for a purpose, 32 bytes, the same in each process. It does not reveal the vault's key. */
  derive(purpose: string): Uint8Array
  seal(text: string, context: string): Uint8Array
  open(sealed: Uint8Array, context: string): string
}
