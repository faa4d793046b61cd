/** Draws a text as a QR code. */
export type Drawing = {
  /** A picture that any size is sharp at. */
  svg(text: string): string
  png(text: string): Uint8Array
  /** Lines of block characters, for a terminal with light letters on a dark ground. */
  terminal(text: string): string
}
