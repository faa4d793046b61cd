/** Runs steps in order. A failed step is reported and the following ones still run. */
export type Steps = {
  step(name: string, work: () => Promise<string | undefined>): Promise<void>
  /** Reports a step that this machine cannot run; it is not counted. */
  leaveOut(name: string, reason: string): void
  readonly failed: () => number
  readonly passed: () => number
}

export function createSteps(print: (line: string) => void): Steps {
  let [passed, failed] = [0, 0]
  return {
    async step(name, work) {
      const startedMs = performance.now()
      const took = () => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`
      try {
        const remark = await work()
        passed += 1
        print(`ok   ${name} (${took()})${remark === undefined ? '' : `: ${remark}`}`)
      } catch (error) {
        failed += 1
        print(`FAIL ${name} (${took()})\n${error instanceof Error ? error.message : String(error)}`)
      }
    },
    leaveOut: (name, reason) => print(`not tried: ${name}, because ${reason}`),
    passed: () => passed,
    failed: () => failed,
  }
}

export function expectSame(what: string, found: unknown, wanted: unknown): void {
  if (Bun.deepEquals(found, wanted)) return
  throw new Error(`${what}: ${JSON.stringify(found)} in place of ${JSON.stringify(wanted)}`)
}

export function expectMatch(what: string, text: string, wanted: RegExp): RegExpExecArray {
  const found = wanted.exec(text)
  if (!found) throw new Error(`${what}: nothing like ${String(wanted)} in\n${text.trim().slice(-3000)}`)
  return found
}
