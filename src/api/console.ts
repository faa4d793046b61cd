import { plainHeaders } from './answers.ts'

/** The web console: a page, and the files that it names. They were built when Turnpike was installed. */
export type ConsoleFiles = {
  /** The page, with a nonce for the styles that it makes while it runs. */
  readonly page: () => Promise<Response>
  /** One of its files, in the smallest form that the browser takes; undefined when there is none of this name. */
  readonly file: (name: string, accepted: string) => Promise<Response | undefined>
}

/** The customers' part and the operators' part: the same page, which loads one of them. */
export const consolePages = ['/', '/operator']
export const consoleFile = '/console/:name'

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** A name holds a digest of its content, so what was fetched once never changes. */
const forEver = 'public, max-age=31536000, immutable'

/** Nothing from anywhere else; no script but its own files; no style but its own file and what bears the nonce. */
const policyWith = (nonce: string): string =>
  `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; connect-src 'self'; ` +
  "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Endings of the compressed forms, smallest first, and how they are called in HTTP. */
const forms = [
  ['br', 'br'],
  ['gz', 'gzip'],
] as const

/** Whether an encoding is among the accepted ones, and not with the weight of nothing (RFC 9110, 12.5.3). */
const isAccepted = (accepted: string, coding: string): boolean =>
  accepted.split(',').some((each) => {
    const [name, weight = ''] = each.split(';')
    return name?.trim() === coding && !/^\s*q=0(?:\.0*)?\s*$/.test(weight)
  })

const notBuilt = 'The console has not been built: run npm install. The API is at /docs.\n'

export function openConsole(folder: URL, random: (bytes: number) => Uint8Array): ConsoleFiles {
  const at = (name: string) => Bun.file(new URL(name, folder))
  return {
    async page() {
      const page = at('page.html')
      if (!(await page.exists())) {
        return new Response(notBuilt, { status: 503, headers: { ...plainHeaders, 'Content-Type': 'text/plain' } })
      }
      const nonce = random(16).toBase64()
      return new Response((await page.text()).replace('{nonce}', nonce), {
        headers: {
          ...plainHeaders,
          'Content-Type': 'text/html; charset=utf-8',
          'Content-Security-Policy': policyWith(nonce),
          'Cross-Origin-Opener-Policy': 'same-origin',
        },
      })
    },

    async file(name, accepted) {
      const type = /^[\w-]+(?:\.[\w-]+)*\.(js|css|svg)$/.exec(name)?.[1]
      if (type === undefined || !(await at(name).exists())) return undefined
      const form = forms.find(([, coding]) => isAccepted(accepted, coding))
      return new Response(at(form ? `${name}.${form[0]}` : name), {
        headers: {
          ...plainHeaders,
          'Content-Type': types[type] ?? '',
          'Cache-Control': forEver,
          Vary: 'Accept-Encoding',
          ...(form && { 'Content-Encoding': form[1] }),
        },
      })
    },
  }
}
