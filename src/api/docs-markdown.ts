import { type Article, articles, languageHeaders } from './docs.ts'
import type { DescribedOperation, ExampleSource } from './docs-examples.ts'
import { isForTokens, toCurlExample, toPythonExample, toTypeScriptExample } from './docs-examples.ts'
import type { AnswerLanguage } from './language.ts'
import { z } from './operation.ts'

/** The index of the docs for programs with a language model (llmstxt.org). */
export const llmsPath = '/llms.txt'

/** The Markdown page of an operation: its text, and its example in curl, TypeScript and Python. */
export const operationPagePath = (id: string): string => `/docs/operations/${id}.md`

type Description = {
  readonly info: { readonly title: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>
}

const operationsOf = ({ paths }: Description): ExampleSource[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  )

/** Files that are made from the description of the API: `/llms.txt`, and the Markdown page of each operation. */
export type DescriptionFiles = (
  path: string,
) => Promise<{ readonly body: string; readonly headers: Readonly<Record<string, string>> }>

/** The shop wrote it. */
const ownDescription = z.custom<Description>()

/** Makes the files again only when the description has changed: reading it takes milliseconds. */
export function createDescriptionFiles(
  readDescription: () => Promise<string>,
  readTitle: (article: Article) => Promise<string>,
  language: AnswerLanguage,
): DescriptionFiles {
  let made: { readonly from: string; readonly files: ReadonlyMap<string, string> } | undefined
  return async (path) => {
    const from = await readDescription()
    if (made?.from !== from) {
      const description = ownDescription.parse(JSON.parse(from))
      const pages = operationsOf(description).map(
        (each) => [operationPagePath(each.operation.operationId), toPage(each, language)] as const,
      )
      made = { from, files: new Map([[llmsPath, await toLlmsText(description, readTitle)], ...pages]) }
    }
    const type = path === llmsPath ? 'text/plain; charset=utf-8' : 'text/markdown; charset=utf-8'
    const headers = { 'Content-Type': type, ...(path !== llmsPath && languageHeaders(language)) }
    return { body: made.files.get(path) ?? '', headers }
  }
}

const toFence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``

const words = {
  en: {
    path: 'path',
    query: 'query',
    header: 'header',
    required: 'required',
    more: 'Fields of the body, the answer and the refusals',
  },
  ru: {
    path: 'в пути',
    query: 'в строке запроса',
    header: 'в заголовке',
    required: 'обязательно',
    more: 'Поля тела, ответа и отказов',
  },
} as const

function toPage(source: ExampleSource, language: AnswerLanguage): string {
  const say = words[language]
  const placeOf = (place: string): string => (place === 'path' || place === 'query' ? say[place] : say.header)
  const { method, path, operation } = source
  const parameters = (operation.parameters ?? []).map(
    (each) =>
      `- \`${each.name}\` (${placeOf(each.in)}${each.required ? `, ${say.required}` : ''}): ${each.description ?? ''}`,
  )
  const parts = [
    `# ${operation.summary}`,
    `\`${method.toUpperCase()} /api/v1${path}\` (\`${operation.operationId}\`)`,
    operation.description,
    parameters.length > 0 && parameters.join('\n'),
    toFence('sh', toCurlExample(source)),
    isForTokens(operation) && toFence('ts', toTypeScriptExample(source)),
    isForTokens(operation) && toFence('python', toPythonExample(source)),
    `${say.more}: \`/api/v1/openapi.json\`, [\`/docs\`](/docs?lang=${language}#${operation.operationId}).`,
  ]
  return `${parts.filter((each) => typeof each === 'string' && each !== '').join('\n\n')}\n`
}

const toLink = (text: string, path: string): string => `- [${text}](${path})`

/** `/llms.txt`: every page of the docs as a link to its Markdown. */
async function toLlmsText(read: Description, readTitle: (article: Article) => Promise<string>): Promise<string> {
  const titled = await Promise.all(
    articles.map(async (article) => ({ article, link: toLink(await readTitle(article), `${article}.md`) })),
  )
  const isGuide = (path: string) => path.startsWith('/docs/guides')
  const operations = operationsOf(read).map(
    ({ method, path, operation }) =>
      `${toLink(operation.summary, operationPagePath(operation.operationId))}: \`${method.toUpperCase()} ${path}\``,
  )
  return `# ${read.info.title} API

> HTTP API that sells dedicated proxies, premium proxy traffic and VPN. Prices are in roubles. Every request needs
> \`Authorization: Bearer TOKEN\`, and every POST that charges an \`Idempotency-Key\`.

The description for programs is \`/api/v1/openapi.json\`; hosts of language models use \`/mcp\`. \`?lang=ru\` gives
articles and operations in Russian.

## Guides

${titled.flatMap(({ article, link }) => (isGuide(article) ? [link] : [])).join('\n')}

## Reference

${titled.flatMap(({ article, link }) => (isGuide(article) ? [] : [link])).join('\n')}

## Operations

${operations.join('\n')}
`
}
