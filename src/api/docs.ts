/** The interactive description of the API and its articles, all served by the shop itself (ADR 34). */
const pages = {
  '/docs': 'docs/page.html',
  '/docs/login-grammar': '../../docs/login-grammar.md',
  '/docs/errors': '../../docs/api/errors.md',
  '/docs/events': '../../docs/api/events.md',
  '/docs/reasons': '../../docs/api/reasons.md',
}
const files = [
  'page.css',
  'page.js',
  'attempt.js',
  'elements.js',
  'fields.js',
  'learned.js',
  'messages.js',
  'schema.js',
  'search.js',
]

/** The file of each path, relative to this module. A page is also served with a trailing slash. */
const sources = new Map([
  ...Object.entries(pages).flatMap(([path, source]) => [[path, source] as const, [`${path}/`, source] as const]),
  ...files.map((name) => [`/docs/${name}`, `docs/${name}`] as const),
])

export const docsPaths = [...sources.keys()]

/** Paths that people try first. They redirect to the description. */
export const docsEntrances = ['/api', '/api/', '/api/v1', '/api/v1/']

const types = { html: 'text/html', md: 'text/html', css: 'text/css', js: 'text/javascript' }

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export async function readDocs(path: string): Promise<{ body: string; headers: Record<string, string> }> {
  const source = sources.get(path)
  if (source === undefined) throw new Error(`/docs has no ${path}.`)
  const text = await read(source)
  const type = source.slice(source.lastIndexOf('.') + 1) as keyof typeof types
  return {
    body: type === 'md' ? await toArticle(text) : text,
    headers: { 'Content-Type': `${types[type]}; charset=utf-8`, 'Content-Security-Policy': policy },
  }
}

const read = (source: string): Promise<string> => Bun.file(new URL(source, import.meta.url)).text()

/** An article as a page. Its text is part of the program, so its markup is trusted. */
async function toArticle(text: string): Promise<string> {
  const title = /^# (.+)$/m.exec(text)?.[1] ?? ''
  const parts = { title: Bun.escapeHTML(title), text: Bun.markdown.html(text) }
  const frame = await read('docs/article.html')
  return frame.replace(/<!-- (title|text) -->/g, (_, part: keyof typeof parts) => parts[part])
}
