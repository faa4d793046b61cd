/** What was tried, one after the other; a step that fails says what was there instead, and the rest goes on. */
export type Steps = {
  step(name: string, work: () => Promise<string | undefined>): Promise<void>
  /** Something that this machine does not allow, said and not counted. */
  leaveOut(name: string, reason: string): void
  readonly failed: () => number
  readonly passed: () => number
}

export function createSteps(say: (line: string) => void): Steps {
  let [passed, failed] = [0, 0]
  return {
    async step(name, work) {
      const startedMs = performance.now()
      const took = () => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`
      try {
        const remark = await work()
        passed += 1
        say(`ok   ${name} (${took()})${remark === undefined ? '' : `: ${remark}`}`)
      } catch (error) {
        failed += 1
        say(`FAIL ${name} (${took()})\n${error instanceof Error ? error.message : String(error)}`)
      }
    },
    leaveOut: (name, reason) => say(`not tried: ${name}, because ${reason}`),
    passed: () => passed,
    failed: () => failed,
  }
}

export function expectSame(what: string, found: unknown, wanted: unknown): void {
  if (Bun.deepEquals(found, wanted)) return
  throw new Error(`${what}: ${JSON.stringify(found)} in place of ${JSON.stringify(wanted)}`)
}

export function expectTold(what: string, text: string, wanted: RegExp): RegExpExecArray {
  const found = wanted.exec(text)
  if (!found) throw new Error(`${what}: nothing like ${String(wanted)} in\n${text.trim().slice(-3000)}`)
  return found
}
