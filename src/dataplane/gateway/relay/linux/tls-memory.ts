/** Two numbers and three flags. */
const memoryBytes = 32

export const makeTlsMemory = (): SharedArrayBuffer => new SharedArrayBuffer(memoryBytes)

export type TlsMemory = ReturnType<typeof viewTlsMemory>

/** What the two threads tell one another of a connection over TLS: the one that speaks TLS, and the reactor. */
export function viewTlsMemory(memory: SharedArrayBuffer) {
  const bytes = new Float64Array(memory, 0, 2)
  const flags = new Int32Array(memory, 16, 3)
  return {
    /** Of what was meant for the customer: what his machine has acknowledged, and what has gone out. */
    get acknowledged(): number {
      return bytes[0] ?? 0
    },
    get sent(): number {
      return bytes[1] ?? 0
    },
    note(acknowledged: number, sent: number): void {
      bytes[0] = acknowledged
      bytes[1] = sent
    },
    /** What was not acknowledged by now never will be. */
    get isOver(): boolean {
      return Atomics.load(flags, 0) === 1
    },
    set isOver(yes: boolean) {
      Atomics.store(flags, 0, yes ? 1 : 0)
    },
    /** The customer has gone. */
    get isGone(): boolean {
      return Atomics.load(flags, 1) === 1
    },
    set isGone(yes: boolean) {
      Atomics.store(flags, 1, yes ? 1 : 0)
    },
    /** The reactor wants it to end at once, with whatever is still under way. */
    get isCut(): boolean {
      return Atomics.load(flags, 2) === 1
    },
    set isCut(yes: boolean) {
      Atomics.store(flags, 2, yes ? 1 : 0)
    },
  }
}
