/** The second book that the database keeps of rows, as far as it tells of a customer. */
export type HistoryEraser = {
  /** Blanks what earlier versions of his rows said; tells how many. A refusal where it was tampered with before. */
  readonly erase: (customer: string, nowMs: number, newName: () => string) => Promise<number>
}
