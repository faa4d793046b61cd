/**
 * The interactive description of the API: a page of our own. All of it comes from this server, and the policy forbids the
 * browser to ask anybody else for anything.
 */
const files = {
  '/docs': 'page.html',
  '/docs/page.css': 'page.css',
  '/docs/page.js': 'page.js',
  '/docs/attempt.js': 'attempt.js',
  '/docs/elements.js': 'elements.js',
  '/docs/fields.js': 'fields.js',
  '/docs/schema.js': 'schema.js',
} as const

export type DocsPath = keyof typeof files

export const docsPaths = Object.keys(files) as DocsPath[]

const types = { html: 'text/html', css: 'text/css', js: 'text/javascript' }

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** A file of the page with its headers. It is found beside this module, whatever the working directory is. */
export function docsFile(path: DocsPath): { readonly body: Blob; readonly headers: Record<string, string> } {
  const name = files[path]
  const type = types[name.slice(name.lastIndexOf('.') + 1) as keyof typeof types]
  return {
    body: Bun.file(new URL(`docs/${name}`, import.meta.url)),
    headers: {
      'Content-Type': `${type}; charset=utf-8`,
      'Content-Security-Policy': policy,
      'Cache-Control': 'no-cache',
    },
  }
}
