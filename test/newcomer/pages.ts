import { join } from 'node:path'
import { root } from '../../tools/package/place.ts'
import { commandsOf, fencesOf } from '../harness/markdown.ts'

/** A command as a page has it: on which machine, and what the page shows it to print. */
export type Typed = { readonly on: string; readonly text: string; readonly shown: readonly string[] }

const textOf = (page: string): Promise<string> => Bun.file(join(root, 'docs', page)).text()

/**
 * The commands of the one fence of a page that has these words in it. What follows a `cat` is what is written into its
 * file; what follows another command is what it prints.
 */
export async function typedIn(page: string, words: string): Promise<Typed[]> {
  const fences = fencesOf(await textOf(page)).filter(
    ({ language, lines }) => language === 'console' && lines.join('\n').includes(words),
  )
  const [fence] = fences
  if (!fence || fences.length > 1) throw new Error(`${fences.length} fences of ${page} have ${words}`)
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

/** Commands of a page that are for any machine, by the words that they have in them, as a package has the program. */
export async function commandsIn(page: string, ...words: readonly string[]): Promise<string[]> {
  const all = commandsOf(await textOf(page)).map(({ text }) => text.replaceAll('npx turnpike', 'turnpike'))
  return words.map((each) => {
    const found = all.filter((text) => text.includes(each))
    const [text] = found
    if (text === undefined || found.length > 1) throw new Error(`${found.length} commands of ${page} have ${each}`)
    return text.replace(/\s+# .*$/, '')
  })
}

/** What a fence of settings or the like has in it. */
export async function fenceIn(page: string, language: string): Promise<string> {
  const [fence] = fencesOf(await textOf(page)).filter((each) => each.language === language)
  if (!fence) throw new Error(`${page} has no ${language}`)
  return fence.lines.join('\n')
}

/** What a page shows, as what it may be in truth: other numbers, other ids, and anything for `…`. */
export function patternOf(shown: string): RegExp {
  const escaped = shown.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const loose = escaped.replace(/\b(cus|tok|ord|nod)_[a-z0-9]+|\d+|…| {2,}/g, (found, kind?: string) => {
    if (kind !== undefined) return `${kind}_[a-z0-9]+`
    return found === '…' ? '.*' : found.startsWith(' ') ? ' +' : '[\\d.]+'
  })
  return new RegExp(loose)
}
