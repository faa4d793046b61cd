import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Brands } from '../../domains/brand/index.ts'
import type { Brand } from '../../domains/brand/rules.ts'
import type { Registration } from '../../domains/signin/index.ts'
import { plainHeaders, rateLimited } from '../answers.ts'
import type { ConsoleRoute } from '../console.ts'
import type { PublicCatalogue } from '../customer/catalogue/public-catalogue.ts'
import { type AnswerLanguage, pageLanguageOf } from '../language.ts'
import { createStrangerLimit } from '../public-api.ts'
import { createSharedAnswer } from '../respond.ts'
import { readAsked, writePrice } from './calculator.ts'
import { policyOf, type Site, textIn, writeFront, writeTextPage } from './page.ts'
import { keepReferral, readReferral } from './referral.ts'
import { findSignedIn, type SignedInDeps } from './signed-in.ts'
import { createWriter } from './writer.ts'

export type FrontDeps = SignedInDeps & {
  readonly readCatalogue: () => Promise<PublicCatalogue>
  readonly brands: Pick<Brands, 'current'>
  readonly drawPicture: (accent: string) => Uint8Array
  readonly icon: () => Promise<string>
  /** Whether visitors buy by e-mail; otherwise they sign in first. */
  readonly sellsToVisitors: boolean
  readonly registration: Pick<Registration, 'offers'>
  readonly clock: Clock
}

/** Pages per minute of a client prefix: many visitors of a mobile network share an address. */
const perMinute = 600

/** A page's text with all that it depends on: the same objects give the same text. */
type Made = { readonly catalogue: PublicCatalogue; readonly brand: Brand; readonly text: string }

export const htmlHeaders = (brand: Brand, language: AnswerLanguage): Record<string, string> => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': policyOf(brand),
  'Content-Language': language,
  'Referrer-Policy': 'strict-origin-when-cross-origin',
  Vary: 'Accept-Encoding, Accept-Language, Cookie',
})

const typed = (type: string, body: string | Uint8Array<ArrayBuffer>, seconds: number): Response =>
  new Response(body, {
    headers: { ...plainHeaders, 'Content-Type': type, 'Cache-Control': `public, max-age=${seconds}` },
  })

const hourSeconds = 3600

/** The pages for visitors. `/` stays the console's for a browser that has a session. */
export function frontRoutes(deps: FrontDeps, consoleRoutes: readonly ConsoleRoute[]): readonly ConsoleRoute[] {
  const limit = createStrangerLimit(deps.clock, perMinute)
  const atRoot = consoleRoutes.find(({ path }) => path === '/')
  const limited = (path: string, answer: (request: Request) => Promise<Response>): ConsoleRoute => ({
    path,
    async answer(request, visit) {
      if (visit) visit.rateLimit = await limit(visit.from)
      if (visit?.rateLimit?.retryAfterSeconds) throw rateLimited(visit.rateLimit)
      return answer(request)
    },
  })
  const front = createFront(deps)
  const own = [
    limited('/', (request) => front(request)),
    limited('/price', (request) => answerPrice(deps, request)),
    limited('/terms', (request) => answerText(deps, request, 'terms')),
    limited('/privacy', (request) => answerText(deps, request, 'privacy')),
    limited('/robots.txt', async () => typed('text/plain; charset=utf-8', writeRobots(deps.publicUrl()), hourSeconds)),
    limited('/sitemap.xml', () => answerSitemap(deps)),
    limited('/front/icon.svg', async () => typed('image/svg+xml', await deps.icon(), hourSeconds)),
    limited('/front/picture.png', createPicture(deps)),
  ]
  const [home, ...others] = own
  const root: ConsoleRoute = {
    path: '/',
    async answer(request, visit) {
      // While the database does not answer, the console says so.
      const isSignedIn = await findSignedIn(deps, request).then(Boolean, () => true)
      return (isSignedIn ? atRoot : home)?.answer(request, visit) ?? Promise.reject(new Refusal('path_not_found'))
    },
  }
  return [root, ...others, ...consoleRoutes.filter(({ path }) => path !== '/')]
}

export const siteOf = (
  deps: Pick<FrontDeps, 'publicUrl' | 'sellsToVisitors' | 'registration'>,
  brand: Brand,
  isNamed = true,
): Site => ({
  isNamed,
  url: deps.publicUrl(),
  sellsToVisitors: deps.sellsToVisitors,
  hasRegistration: deps.registration.offers.registration,
  hasTerms: textIn(brand, 'terms', 'en') !== undefined,
  hasPrivacy: textIn(brand, 'privacy', 'en') !== undefined,
})

export async function readShown({ readCatalogue, brands }: Pick<FrontDeps, 'readCatalogue' | 'brands'>) {
  const [catalogue, brand] = await Promise.all([readCatalogue(), brands.current()])
  return { catalogue, brand }
}

export const languageOfUrl = (request: Request, url: URL): AnswerLanguage =>
  pageLanguageOf(url.searchParams.get('lang') ?? undefined, request.headers)

/** The page without a calculator's order is written and packed once while prices, stock and brand stay the same. */
function createFront(deps: FrontDeps) {
  const serving = (language: AnswerLanguage, isNamed: boolean) => {
    let made: Made | undefined
    return createSharedAnswer(async () => {
      const { catalogue, brand } = await readShown(deps)
      if (made?.catalogue !== catalogue || made.brand !== brand) {
        const asked = readAsked(new URLSearchParams(), catalogue)
        made = { catalogue, brand, text: writeFront(catalogue, brand, language, siteOf(deps, brand, isNamed), asked) }
      }
      return { body: made.text, headers: htmlHeaders(brand, language) }
    })
  }
  const named = { en: serving('en', true), ru: serving('ru', true) }
  const unnamed = { en: serving('en', false), ru: serving('ru', false) }
  return async (request: Request): Promise<Response> => {
    const url = new URL(request.url)
    const language = languageOfUrl(request, url)
    const referral = readReferral(url.searchParams)
    if (!url.searchParams.has('kind') && referral === undefined)
      return (url.searchParams.has('lang') ? named : unnamed)[language](request)
    const { catalogue, brand } = await readShown(deps)
    const asked = readAsked(url.searchParams, catalogue)
    const text = writeFront(catalogue, brand, language, siteOf(deps, brand), asked)
    const shown = referral === undefined ? text : keepReferral(text, referral)
    return new Response(shown, { headers: { ...plainHeaders, ...htmlHeaders(brand, language) } })
  }
}

/** The result of the calculator alone, for its script. */
async function answerPrice(deps: FrontDeps, request: Request): Promise<Response> {
  const url = new URL(request.url)
  const { catalogue, brand } = await readShown(deps)
  const writer = createWriter(languageOfUrl(request, url), brand, catalogue.shown, deps.sellsToVisitors)
  const asked = readAsked(url.searchParams, catalogue)
  if (!asked) throw new Refusal('no_prices')
  const headers = { ...plainHeaders, 'Content-Type': 'text/html; charset=utf-8', 'X-Robots-Tag': 'noindex' }
  const policy = { 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'" }
  return new Response(writePrice(writer, catalogue.priceList, asked), { headers: { ...headers, ...policy } })
}

async function answerText(deps: FrontDeps, request: Request, name: 'terms' | 'privacy'): Promise<Response> {
  const { catalogue, brand } = await readShown(deps)
  const language = languageOfUrl(request, new URL(request.url))
  if (textIn(brand, name, language) === undefined) throw new Refusal('path_not_found')
  const text = writeTextPage(catalogue, brand, language, siteOf(deps, brand), name)
  return new Response(text, { headers: { ...plainHeaders, ...htmlHeaders(brand, language) } })
}

const writeRobots = (url: string): string => {
  const hidden = ['/account', '/operator', '/pay/', '/price', '/buy', '/api/']
  return ['User-agent: *', ...hidden.map((path) => `Disallow: ${path}`), `Sitemap: ${url}/sitemap.xml`, ''].join('\n')
}

async function answerSitemap(deps: FrontDeps): Promise<Response> {
  const { url, hasTerms, hasPrivacy } = siteOf(deps, await deps.brands.current())
  const paths = ['/', ...(hasTerms ? ['/terms'] : []), ...(hasPrivacy ? ['/privacy'] : []), '/docs']
  const locations = paths.flatMap((path) => ['en', 'ru'].map((language) => `${url}${path}?lang=${language}`))
  const entries = locations.map((each) => `<url><loc>${Bun.escapeHTML(each)}</loc></url>`)
  const space = 'http://www.sitemaps.org/schemas/sitemap/0.9'
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="${space}">${entries.join('')}</urlset>\n`
  return typed('application/xml; charset=utf-8', text, hourSeconds)
}

/** Drawn at the first request of an accent: it takes 20 ms. */
function createPicture({ brands, drawPicture }: FrontDeps) {
  let drawn: { readonly accent: string; readonly picture: Uint8Array } | undefined
  return async (): Promise<Response> => {
    const { accent } = await brands.current()
    if (drawn?.accent !== accent) drawn = { accent, picture: drawPicture(accent) }
    return typed('image/png', drawn.picture as Uint8Array<ArrayBuffer>, hourSeconds)
  }
}
