import { toChangelogPage } from './changelog-page.ts'
import { sayRussian } from './docs-russian.ts'
import type { AnswerLanguage } from './language.ts'

/** The changelog is written from `changelog.ts`. */
const changelogSource = 'changelog.md'

/** The guides, in the order of their list. Each is docs/guides/NAME.md, and docs/ru/guides/NAME.md in Russian. */
export const guides = [
  'first-purchase',
  'retries',
  'handle-errors',
  'paging',
  'limits',
  'rounding',
  'premium-logins',
  'receive-webhooks',
  'vpn-devices',
  'from-killa',
  'from-proxy6',
] as const

/** The interactive description of the API and its articles, all served by the shop itself (ADR 34). */
const pages: Readonly<Record<string, Readonly<Record<AnswerLanguage, string>>>> = {
  '/docs': { en: 'docs/page.html', ru: 'docs/page.html' },
  '/docs/login-grammar': { en: '../../docs/login-grammar.md', ru: '../../docs/ru/login-grammar.md' },
  '/docs/errors': { en: '../../docs/api/errors.md', ru: '../../docs/ru/errors.md' },
  '/docs/events': { en: '../../docs/api/events.md', ru: '../../docs/ru/events.md' },
  '/docs/webhooks': { en: '../../docs/api/webhooks.md', ru: '../../docs/ru/webhooks.md' },
  '/docs/mcp': { en: '../../docs/mcp.md', ru: '../../docs/ru/mcp.md' },
  '/docs/changelog': { en: changelogSource, ru: changelogSource },
  '/docs/guides': { en: '../../docs/guides/README.md', ru: '../../docs/ru/guides/README.md' },
  ...Object.fromEntries(
    guides.map((name) => [
      `/docs/guides/${name}`,
      { en: `../../docs/guides/${name}.md`, ru: `../../docs/ru/guides/${name}.md` },
    ]),
  ),
  '/docs/reasons': { en: '../../docs/api/reasons.md', ru: '../../docs/ru/reasons.md' },
}
const files = [
  'page.css',
  'page.js',
  'attempt.js',
  'elements.js',
  'fields.js',
  'learned.js',
  'messages.js',
  'samples.js',
  'schema.js',
  'search.js',
]

export type Article = `/docs/${string}`

/** The pages with an article, each of which is Markdown too: the path of the page and `.md`. */
export const articles = Object.keys(pages).filter((path): path is Article => path !== '/docs')

/** The files of each path, relative to this module. A page is also served with a trailing slash. */
const sources = new Map([
  ...Object.entries(pages).flatMap(([path, source]) => [[path, source] as const, [`${path}/`, source] as const]),
  ...articles.map((path) => [`${path}.md`, pages[path]] as const),
  ...files.map((name) => [`/docs/${name}`, { en: `docs/${name}`, ru: `docs/${name}` }] as const),
])

export const docsPaths = [...sources.keys()]

/** The description with Russian texts, which the page of a Russian reader shows. */
export const russianDescriptionPath = '/docs/openapi.ru.json'

/** Paths that people try first. They redirect to the description. */
export const docsEntrances = ['/api', '/api/', '/api/v1', '/api/v1/']

const types = { html: 'text/html', md: 'text/html', css: 'text/css', js: 'text/javascript' }

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** A file of `/docs`. A page has a form for each language; other files have one for both. */
export async function readDocs(
  path: string,
  language: AnswerLanguage,
  brand?: string,
): Promise<{ body: string; headers: Record<string, string> }> {
  const source = sources.get(path)?.[language]
  if (source === undefined) throw new Error(`/docs has no ${path}.`)
  const type = source.slice(source.lastIndexOf('.') + 1) as keyof typeof types
  const text = source === changelogSource ? toChangelogPage(language) : await read(source)
  if (path.endsWith('.md')) return { body: text, headers: { ...languageHeaders(language), ...markdownHeaders } }
  const body =
    type === 'md'
      ? withAnchors(toArticle(text, source, language, await read('docs/article.html')), path)
      : type === 'html'
        ? toLanguage(text, language)
        : text
  return {
    body: types[type] === 'text/html' && brand !== undefined ? withName(body, brand) : body,
    headers: {
      'Content-Type': `${types[type]}; charset=utf-8`,
      'Content-Security-Policy': policy,
      ...(types[type] === 'text/html' && languageHeaders(language)),
    },
  }
}

/** The title of an article. */
export const readTitle = async (article: Article): Promise<string> =>
  /^# (.+)$/m.exec((await readDocs(`${article}.md`, 'en')).body)?.[1] ?? article

const markdownHeaders = { 'Content-Type': 'text/markdown; charset=utf-8', 'Content-Security-Policy': policy }

export const languageHeaders = (language: AnswerLanguage) => ({
  'Content-Language': language,
  Vary: 'Accept-Language, Accept-Encoding',
})

/** A page with the shop's name in place of the program's, in its title and its head. */
const withName = (html: string, name: string): string =>
  html.replace(
    /(<title>(?:[^<]*[^\w<])?|<span>)Turnpike(?=[^\w])/g,
    (_, before: string) => before + Bun.escapeHTML(name),
  )

const read = (source: string): Promise<string> => Bun.file(new URL(source, import.meta.url)).text()

/** The texts of a page's markup. */
const framed = /( data-message>| aria-label="| name="description" content=")([^<"]+)/g

/** A page in a language. Its links to other pages of `/docs` keep the language. */
const toLanguage = (html: string, language: AnswerLanguage): string =>
  html
    .replace('<html lang="en">', `<html lang="${language}">`)
    .replace(framed, (_, before: string, text: string) => before + (language === 'ru' ? sayRussian(text) : text))
    .replace(/ href="(\/docs(?:\/[\w-]+)?)"/g, ` href="$1?lang=${language}"`)

/** An article as a page. Its text is part of the program, so its markup is trusted. */
function toArticle(text: string, source: string, language: AnswerLanguage, frame: string): string {
  const title = /^# (.+)$/m.exec(text)?.[1] ?? ''
  const html = toScrollable(Bun.markdown.html(text))
  const parts = { title: Bun.escapeHTML(title), text: linkPages(html, source, language) }
  return toLanguage(frame, language).replace(/<!-- (title|text) -->/g, (_, part: keyof typeof parts) => parts[part])
}

/** Each row of the page of reasons is the target of a `doc_url` (`docUrlOf`). */
const withAnchors = (html: string, path: string): string =>
  path.startsWith('/docs/reasons')
    ? html.replace(/<tr>((?:<td>[^<]*(?:<code>\w+<\/code>)?<\/td>){2}<td><code>(\w+)<)/g, '<tr id="$2">$1')
    : html

/** A table or a listing that is wider than a phone scrolls, so the keyboard must reach it (WCAG 2.1.1). */
const toScrollable = (html: string): string => html.replace(/<(table|pre)>/g, '<$1 tabindex="0">')

/** Pages of the articles by file, as a path below the root of the sources. */
const pageOfFile = new Map(
  Object.entries(pages).flatMap(([path, source]) =>
    Object.entries(source).map(([language, file]) => [toRooted(file, language), { path, language }] as const),
  ),
)

/** A file as a path below the root of the sources. The changelog has no file: links name it beside other articles. */
function toRooted(source: string, language: string): string {
  if (source === changelogSource) return language === 'ru' ? '/docs/ru/changelog.md' : '/docs/api/changelog.md'
  return new URL(source, 'file:///src/api/').pathname
}

/** Links between the files of the articles become links between their pages. */
const linkPages = (html: string, source: string, language: AnswerLanguage): string =>
  html.replace(/ href="([./\w-]+\.md)/g, (link, file: string) => {
    const page = pageOfFile.get(new URL(file, `file://${toRooted(source, language)}`).pathname)
    return page === undefined ? link : ` href="${page.path}?lang=${page.language}"`
  })
