import { type Files, findInCode, isShipped, type Violation } from './source.ts'

/** Words for a moment: what is named so is an instant, whatever it is counted in. */
const moments = '[sS]tarted|[bB]egan|[uU]ntil|[eE]xpires|[aA]sked|[hH]eard|[cC]reated|[dD]eadline|[fF]illed|[mM]issed'

/** A declaration: after `const`, `let`, `readonly`, a bracket or a comma, and before its type or its value. */
const declared = (name: string, then: string) =>
  new RegExp(`(?:\\b(?:const|let|readonly)\\s+|[({,]\\s*)${name}\\??\\s*${then}`)

const rules: readonly { readonly pattern: RegExp; readonly explanation: string }[] = [
  {
    pattern: declared(`\\w*(?:${moments}|\\b[lL]ast(?:[A-Z]\\w*)?)Ms\\b`, '[:=]'),
    explanation: 'an instant ends in At; Ms is for durations',
  },
  {
    pattern: declared('(?:timeout|delay|interval|ttl|duration|elapsed|pause)', ':\\s*number\\b'),
    explanation: 'a duration ends in its unit: Ms, Seconds, Days',
  },
  {
    pattern: declared('(?:until|since|deadline|expires|expiry|started|began)', ':\\s*number\\b'),
    explanation: 'an instant ends in At',
  },
  {
    pattern:
      /\b(?:const|let)\s+(?!\w*(?:At|Ms)\b)\w+\s*=\s*(?:Date\s*\.\s*now|performance\s*\.\s*now|(?:[\w.]+\.)?clock)\(\)/,
    explanation: 'a reading of a clock ends in At or, while it is now, in Ms',
  },
]

/** What a number means is in its name: an instant ends in `At`, a duration in `Ms`, as far as a scan can tell them. */
export function checkTimes(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) =>
    isShipped(path) ? rules.flatMap((rule) => findInCode(path, text, rule.pattern, 'time-name', rule.explanation)) : [],
  )
}
