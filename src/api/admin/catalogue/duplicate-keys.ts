/** A mapping that the scanner is inside: of one indentation, or between braces. */
type Mapping = { readonly indent: number; readonly keys: Set<string> }

/** A key and its colon at the beginning of the text. What follows a plain key shows that its colon is no part of it. */
const keyPattern =
  /^(?:("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*:|([^\s\-?:,[\]{}#&*!|>'"%@`][^\s,[\]{}#:]*|-?\d[\w.-]*)\s*:(?=[\s{["']|$))/
const quotedPattern = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/

/**
 * The first key that a mapping of a price list has twice; undefined without one. Bun's parser keeps the last value of
 * such a key, and an operator would sell at it. Covers the YAML that price lists use, and JSON.
 */
export function findDuplicateKey(text: string): string | undefined {
  const blocks: Mapping[] = []
  const braces: Set<string>[] = []
  // JSON permits the colon of a key on the next line.
  for (const line of text.replaceAll(/(["'])\s+:/g, '$1:').split('\n')) {
    const duplicate = scanLine(line, blocks, braces)
    if (duplicate !== undefined) return duplicate
  }
  return undefined
}

function scanLine(line: string, blocks: Mapping[], braces: Set<string>[]): string | undefined {
  let at = line.search(/\S/)
  if (at < 0 || line[at] === '#') return undefined
  // An item of a list begins a mapping of its own.
  while (braces.length === 0 && /^-\s+\S/.test(line.slice(at))) {
    leaveBlocks(blocks, at + 1)
    at += line.slice(at + 1).search(/\S/) + 1
  }
  let mayHaveKey = true
  while (at < line.length) {
    const rest = line.slice(at)
    const found = mayHaveKey ? keyPattern.exec(rest) : null
    if (found) {
      const key = toKey(found[1] ?? found[2] ?? '')
      const keys = braces.at(-1) ?? keysOfBlock(blocks, at)
      if (keys.has(key)) return key
      keys.add(key)
      at += found[0].length
      mayHaveKey = false
    } else if (/^\s#/.test(rest)) return undefined
    else {
      const [first = ''] = rest
      if (first === '{' || first === '[') braces.push(new Set())
      if (first === '}' || first === ']') braces.pop()
      mayHaveKey = first === '{' || first === ',' || (mayHaveKey && /\s/.test(first))
      at += quotedPattern.exec(rest)?.[0].length ?? 1
    }
  }
  return undefined
}

/** The key as the parser has it: "\u0061" is a, and 1.0 is 1. */
function toKey(written: string): string {
  try {
    return String(Bun.YAML.parse(written))
  } catch {
    return written
  }
}

/** Mappings that are indented further have ended. */
function leaveBlocks(blocks: Mapping[], indent: number): void {
  while ((blocks.at(-1)?.indent ?? -1) >= indent) blocks.pop()
}

function keysOfBlock(blocks: Mapping[], indent: number): Set<string> {
  leaveBlocks(blocks, indent + 1)
  const last = blocks.at(-1)
  if (last?.indent === indent) return last.keys
  const keys = new Set<string>()
  blocks.push({ indent, keys })
  return keys
}
