import type { Address } from '../core/address.ts'
import { Refusal } from '../core/refusal.ts'
import type { Brands } from '../domains/brand/index.ts'
import { type Brand, shadesOf, usualAccent } from '../domains/brand/rules.ts'
import { plainHeaders } from './answers.ts'
import type { RateLimitState } from './rate.ts'
import { isAccepted } from './respond.ts'

/** A page of the web console, or a file that it names. They were built when Turnpike was installed. */
export type ConsoleRoute = {
  readonly path: string
  readonly answer: (request: Request, visit?: Visit) => Promise<Response>
}

/** The client's address, and the state of a limit on strangers. */
type Visit = { readonly from: Address | undefined; rateLimit?: RateLimitState | undefined }

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Nothing from anywhere else; no script but its own files; no style but its own file and what bears the nonce. */
const policyWith = (nonce: string): string =>
  `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; connect-src 'self'; ` +
  "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Endings of the compressed forms, smallest first, and how they are called in HTTP. */
const forms = [
  ['br', 'br'],
  ['gz', 'gzip'],
] as const

/** The page with the brand, which its script reads. The shipped accent has shades of its own. */
function withBrand(html: string, { name, accent, logo, icon, announcement }: Brand): string {
  const shades = accent === usualAccent ? undefined : shadesOf(accent)
  const told = Bun.escapeHTML(JSON.stringify({ name, logo, shades, announcement }))
  const titled = html.replace(
    '<title>Turnpike</title>',
    () => `<meta name="brand" content="${told}"><title>${Bun.escapeHTML(name)}</title>`,
  )
  return icon === undefined ? titled : titled.replace(/<link rel="icon"[^>]*>/, `<link rel="icon" href="${icon}">`)
}

const notBuilt = 'The console is not built. Run "npm run console". The API is described at /docs.\n'

export function openConsole(
  folder: URL,
  random: (bytes: number) => Uint8Array,
  brands?: Pick<Brands, 'current'>,
): readonly ConsoleRoute[] {
  const at = (name: string) => Bun.file(new URL(name, folder))

  /** With another nonce each time, for the styles that the page makes while it runs. */
  async function answerPage(): Promise<Response> {
    const page = at('page.html')
    if (!(await page.exists())) {
      return new Response(notBuilt, { status: 503, headers: { ...plainHeaders, 'Content-Type': 'text/plain' } })
    }
    const nonce = random(16).toBase64()
    const brand = await brands?.current().catch(() => undefined)
    const text = (await page.text()).replace('{nonce}', nonce)
    return new Response(brand ? withBrand(text, brand) : text, {
      headers: {
        ...plainHeaders,
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': policyWith(nonce),
        'Cross-Origin-Opener-Policy': 'same-origin',
      },
    })
  }

  /** In the smallest form that the browser takes. A name is one of ours before it is looked for. */
  async function answerFile(request: Request): Promise<Response> {
    const name = new URL(request.url).pathname.split('/').at(-1) ?? ''
    const type = /^[\w-]+\.(js|css|svg)$/.exec(name)?.[1]
    if (type === undefined || !(await at(name).exists())) throw new Refusal('file_not_found')
    const form = forms.find(([, coding]) => isAccepted(request.headers.get('accept-encoding') ?? '', coding))
    return new Response(at(form ? `${name}.${form[0]}` : name), {
      headers: {
        ...plainHeaders,
        'Content-Type': types[type] ?? '',
        // A name holds a digest of its content.
        'Cache-Control': 'public, max-age=31536000, immutable',
        Vary: 'Accept-Encoding',
        ...(form && { 'Content-Encoding': form[1] }),
      },
    })
  }

  // The same page loads the customers' part or the operators' part.
  const pages = ['/', '/account', '/operator'].map((path) => ({ path, answer: answerPage }))
  return [...pages, { path: '/console/:name', answer: answerFile }]
}
