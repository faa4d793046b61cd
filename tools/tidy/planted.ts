import type { Files, Violation } from './source.ts'

/** The rules that one file alone breaks. */
export function rulesBroken(check: (files: Files) => Violation[], path: string, text: string): string[] {
  return check(new Map([[path, text]])).map((violation) => violation.rule)
}
