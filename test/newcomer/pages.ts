import { join } from 'node:path'
import { root } from '../../tools/package/project.ts'
import { commandsOf, fencesOf } from '../harness/markdown.ts'

/** A command of a page: its machine, its text and the output that the page shows. */
export type Typed = { readonly on: string; readonly text: string; readonly shown: readonly string[] }

const textOf = (page: string): Promise<string> => Bun.file(join(root, 'docs', page)).text()

/**
 * The commands of the only fence of a page that contains `part`. The lines after a `cat` are written to its file;
 * the lines after another command are its output.
 */
export async function typedIn(page: string, part: string): Promise<Typed[]> {
  const fences = fencesOf(await textOf(page)).filter(
    ({ language, lines }) => language === 'console' && lines.join('\n').includes(part),
  )
  const [fence] = fences
  if (!fence || fences.length > 1) throw new Error(`${fences.length} fences of ${page} have ${part}`)
  const typed: { on: string; text: string; shown: string[] }[] = []
  for (const line of fence.lines) {
    const [, on = '', text] = /^([a-z0-9-]+)[#$] (.+)$/.exec(line) ?? []
    if (text !== undefined) typed.push({ on, text, shown: [] })
    else typed.at(-1)?.shown.push(line)
  }
  return typed.map(({ on, text, shown }) =>
    /\bcat >>? \S+$/.test(text)
      ? { on, text: `${text} <<'END'\n${shown.join('\n')}\nEND`, shown: [] }
      : { on, text: text.replace(/\s+# .*$/, ''), shown },
  )
}

/** Commands of a page for any machine that contain the given texts, with `turnpike` in place of `npx turnpike`. */
export async function commandsIn(page: string, ...parts: readonly string[]): Promise<string[]> {
  const all = commandsOf(await textOf(page)).map(({ text }) => text.replaceAll('npx turnpike', 'turnpike'))
  return parts.map((each) => {
    const found = all.filter((text) => text.includes(each))
    const [text] = found
    if (text === undefined || found.length > 1) throw new Error(`${found.length} commands of ${page} have ${each}`)
    return text.replace(/\s+# .*$/, '')
  })
}

/** The text of the first fence in this language. */
export async function fenceIn(page: string, language: string): Promise<string> {
  const [fence] = fencesOf(await textOf(page)).filter((each) => each.language === language)
  if (!fence) throw new Error(`${page} has no ${language}`)
  return fence.lines.join('\n')
}

/** The output that a page shows as a pattern: other numbers and ids match, and `…` matches anything. */
export function patternOf(shown: string): RegExp {
  const escaped = shown.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const loose = escaped.replace(/\b(cus|tok|ord|nod)_[a-z0-9]+|\d+|…| {2,}/g, (found, kind?: string) => {
    if (kind !== undefined) return `${kind}_[a-z0-9]+`
    return found === '…' ? '.*' : found.startsWith(' ') ? ' +' : '[\\d.]+'
  })
  return new RegExp(loose)
}
