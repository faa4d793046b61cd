const elements = new Set(
  (
    'svg g path rect circle ellipse line polyline polygon text tspan defs linearGradient radialGradient stop ' +
    'clipPath mask title desc use symbol'
  )
    .split(' ')
    .map((name) => name.toLowerCase()),
)

/** Functions of CSS and of `transform` that load nothing. `url()` has a check of its own. */
const functions = new Set(
  (
    'url rgb rgba hsl hsla calc matrix matrix3d translate translateX translateY translate3d scale scaleX scaleY ' +
    'rotate rotateX rotateY rotateZ skew skewX skewY'
  )
    .split(' ')
    .map((name) => name.toLowerCase()),
)

/** What a browser draws of an image, with the copies that `<use>`, masks and clips make: many would hold it. */
const maxDrawn = 20_000

const maxDepth = 200

type Element = { readonly children: Element[]; readonly refersTo: string[]; drawn: number | undefined }

const declaration = /^<\?xml version\s*=\s*["']1\.[01]["'](?:\s+encoding\s*=\s*["']([\w.-]+)["'])?[^<>?]*\?>/

/** The text of an image that may be an SVG; undefined if a browser could read other characters than these. */
export function readUtf8(content: Uint8Array): string | undefined {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content)
  } catch {
    return undefined
  }
  const [whole = '', encoding = 'utf-8'] = declaration.exec(text) ?? []
  // A declared encoding with escape sequences would show a browser other elements than this filter sees.
  if (encoding.toLowerCase() !== 'utf-8' || /[^\P{Cc}\t\n\r]/u.test(text)) return undefined
  return text.slice(whole.length)
}

/** The text without comments, in one pass: a pattern for them would search the rest once for each beginning. */
function withoutComments(text: string): string {
  const parts: string[] = []
  for (let from = 0; ; ) {
    const begin = text.indexOf('<!--', from)
    const end = begin < 0 ? -1 : text.indexOf('-->', begin + 4)
    if (end < 0) return parts.join('') + text.slice(from)
    parts.push(text.slice(from, begin))
    from = end + 3
  }
}

/** Whether the first element of a text without its declaration is `<svg>`. */
export const isSvg = (text: string): boolean => /^<svg[\s>]/.test(withoutComments(text).trimStart())

/** A tag of XML. Each part ends where the next can begin, and none contains `<`, so a search takes one pass. */
const tag = /<(\/?)([^\s/<>]+)((?:\s+[^\s=<>"'/]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/g
const attribute = /([^\s=<>"'/]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/g

/** What an SVG contains besides shapes and texts: scripts, styles, links elsewhere. Undefined if there is nothing. */
export function findUnsafe(svg: string): string | undefined {
  const text = withoutComments(svg)
  const special = /<[!?][^\s>]*/.exec(text)?.[0]
  if (special !== undefined) return special
  for (const [, name = ''] of text.matchAll(/<\/?\s*([^\s/<>]*)/g)) {
    if (!elements.has(name.toLowerCase())) return `<${name.slice(0, 40)}>`
  }
  // An entity could spell any of these.
  if (/&(?!amp;|lt;|gt;|quot;|apos;)/.test(text)) return '&'
  if (text.replace(tag, '').includes('<')) return '<'
  const root: Element = { children: [], refersTo: [], drawn: undefined }
  const open = [root]
  const targets = new Map<string, Element[]>()
  for (const [, closing, , attributes = '', empty] of text.matchAll(tag)) {
    if (closing) {
      open.pop()
      continue
    }
    const element: Element = { children: [], refersTo: [], drawn: undefined }
    open.at(-1)?.children.push(element)
    if (!empty) open.push(element)
    for (const [, written = '', double, single] of attributes.matchAll(attribute)) {
      const [name, value] = [written.toLowerCase(), double ?? single ?? '']
      const unsafe = findUnsafeIn(name, value)
      if (unsafe !== undefined) return unsafe
      if (name === 'id') targets.set(value, [...(targets.get(value) ?? []), element])
      for (const link of linksIn(name, value)) {
        // A link with an escape or an entity could name another id than it seems to.
        if (!/^\s*#[\p{L}\p{N}_.:-]+\s*$/u.test(link)) return isLink(name) ? 'href' : 'url()'
        element.refersTo.push(link.trim().slice(1))
      }
    }
  }
  return countDrawn(root, targets, 0) > maxDrawn ? '<use>' : undefined
}

function findUnsafeIn(name: string, value: string): string | undefined {
  if (name.startsWith('on')) return name
  // CSS could spell a function with escapes.
  if (value.includes('\\')) return name
  if (name === 'id' || name === 'class' || /^(?:aria|data)-/.test(name)) return undefined
  for (const [, called = ''] of value.matchAll(/([\w-]+)\s*\(/g)) {
    if (!functions.has(called.toLowerCase())) return `${called.slice(0, 40)}()`
  }
  return undefined
}

const isLink = (name: string): boolean => /(?:^|:)href$/.test(name)

const linksIn = (name: string, value: string): readonly string[] =>
  isLink(name)
    ? [value]
    : [...value.matchAll(/url\s*\(\s*(?:"([^"]*)|'([^']*)|([^)]*))/gi)].map(([, ...parts]) => parts.join(''))

/** Elements that a browser draws for one, with all that it refers to. A circle or a deep chain is without end. */
function countDrawn(element: Element, targets: ReadonlyMap<string, readonly Element[]>, depth: number): number {
  if (element.drawn !== undefined) return element.drawn
  if (depth > maxDepth) return Number.POSITIVE_INFINITY
  element.drawn = Number.POSITIVE_INFINITY
  const parts = [...element.children, ...element.refersTo.flatMap((id) => targets.get(id) ?? [])]
  element.drawn = parts.reduce((sum, part) => sum + countDrawn(part, targets, depth + 1), 1)
  return element.drawn
}
