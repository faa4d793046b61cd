/** The row history, as far as it is about a customer. */
export type HistoryEraser = {
  /** Blanks earlier versions of the customer's rows; returns how many. Refuses if the history was tampered with. */
  readonly erase: (customer: string, nowMs: number, newName: () => string) => Promise<number>
}
