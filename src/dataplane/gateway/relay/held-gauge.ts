/** The most that was held for one peer that does not take it: what such a peer costs, and a promise to the operator. */
export function createHeldGauge() {
  let mostHeld = 0
  return {
    note: (bytes: number): void => {
      if (bytes > mostHeld) mostHeld = bytes
    },
    get mostHeld(): number {
      return mostHeld
    },
  }
}
