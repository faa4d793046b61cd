/**
 * The interactive description of the API, and what is to be read beside it: pages of our own. All of it comes from this
 * server, and the policy forbids the browser to ask anybody else for anything.
 */
const files = {
  '/docs': 'page.html',
  '/docs/': 'page.html',
  '/docs/page.css': 'page.css',
  '/docs/page.js': 'page.js',
  '/docs/attempt.js': 'attempt.js',
  '/docs/elements.js': 'elements.js',
  '/docs/fields.js': 'fields.js',
  '/docs/learned.js': 'learned.js',
  '/docs/schema.js': 'schema.js',
} as const

/** Written in Markdown for whoever has the source, and served as pages to whoever has not. */
const articles = {
  '/docs/login-grammar': '../../docs/login-grammar.md',
  '/docs/login-grammar/': '../../docs/login-grammar.md',
  '/docs/errors': '../../docs/api/errors.md',
  '/docs/errors/': '../../docs/api/errors.md',
  '/docs/events': '../../docs/api/events.md',
  '/docs/events/': '../../docs/api/events.md',
} as const

export type DocsPath = keyof typeof files | keyof typeof articles

/** Where people look first. They are sent on to the description. */
export const docsEntrances = ['/api', '/api/', '/api/v1', '/api/v1/']

export const docsPaths = [...Object.keys(files), ...Object.keys(articles)] as DocsPath[]

const types = { html: 'text/html', css: 'text/css', js: 'text/javascript' }

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type DocsFile = { readonly body: Blob | string; readonly headers: Record<string, string> }

const headersOf = (type: string) => ({
  'Content-Type': `${type}; charset=utf-8`,
  'Content-Security-Policy': policy,
  'Cache-Control': 'no-cache',
})

const isArticle = (path: DocsPath): path is keyof typeof articles => path in articles

/** A page or one of its files, with its headers. It is found beside this module, whatever the working directory is. */
export async function readDocs(path: DocsPath): Promise<DocsFile> {
  if (isArticle(path)) return { body: await readArticle(articles[path]), headers: headersOf(types.html) }
  const name = files[path]
  const type = types[name.slice(name.lastIndexOf('.') + 1) as keyof typeof types]
  return { body: Bun.file(new URL(`docs/${name}`, import.meta.url)), headers: headersOf(type) }
}

/** An article in the frame that the description has too. The text is ours, so what it holds is markup that we wrote. */
async function readArticle(source: string): Promise<string> {
  const [frame, text] = await Promise.all([
    Bun.file(new URL('docs/article.html', import.meta.url)).text(),
    Bun.file(new URL(source, import.meta.url)).text(),
  ])
  const title = /^# (.+)$/m.exec(text)?.[1] ?? ''
  const parts = { title: Bun.escapeHTML(title), text: Bun.markdown.html(text) }
  return frame.replace(/<!-- (title|text) -->/g, (_, part: keyof typeof parts) => parts[part])
}
