/** A command in a document, as a reader would paste it. */
export type DocCommand = { readonly line: number; readonly text: string }

/** The fenced blocks of a document: language, first line, and lines. */
export function fencesOf(text: string): { language: string; line: number; lines: string[] }[] {
  const fences: { language: string; line: number; lines: string[] }[] = []
  let open: (typeof fences)[number] | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^```(\S*)$/.exec(line)
    if (!fence) open?.lines.push(line)
    else if (open) open = undefined
    else fences.push((open = { language: fence[1] ?? '', line: index + 1, lines: [] }))
  }
  return fences
}

/** The commands of all `sh` fences, in order; a line that ends in a backslash continues in the next. */
export function commandsOf(text: string): DocCommand[] {
  return fencesOf(text)
    .filter((fence) => fence.language === 'sh')
    .flatMap(({ line, lines }) => {
      const commands: { line: number; text: string }[] = []
      let isOpen = false
      for (const [index, each] of lines.entries()) {
        const last = commands.at(-1)
        if (isOpen && last) last.text += `\n${each}`
        else if (each.trim() !== '') commands.push({ line: line + index + 1, text: each })
        isOpen = each.endsWith('\\')
      }
      return commands
    })
}

/** Inline code, outside of fences. */
export function inlineCodeOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '')
  return [...prose.matchAll(/`([^`]+)`/g)].map((found) => (found[1] ?? '').replaceAll('\n', ' '))
}
