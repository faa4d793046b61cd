import type { Brand, TextName } from '../../domains/brand/rules.ts'
import type { PublicCatalogue } from '../customer/catalogue/public-catalogue.ts'
import { announcementMarkup, brandMarkup, escapeHtml, iconOf } from '../html-page.ts'
import type { AnswerLanguage } from '../language.ts'
import { type PriceQuestion, writeCalculator } from './calculator.ts'
import { toHtml } from './markdown.ts'
import { script } from './script.ts'
import { writePayment, writePremium, writeProxies, writeQuestions, writeVpn, writeWays } from './sections.ts'
import { writeOffers } from './structured.ts'
import { writeStyle } from './style.ts'
import { createWriter, type Writer } from './writer.ts'

/** One page's address and content. */
export type Content = {
  readonly path: string
  readonly title: string
  readonly description: string
  readonly main: string
  /** Further fields of the address, which the link to the other language keeps. */
  readonly query?: string | undefined
  /** Structured data for search engines; none on pages of text. */
  readonly data?: string
}

export type Site = {
  readonly url: string
  readonly hasTerms: boolean
  readonly hasPrivacy: boolean
  readonly sellsToVisitors: boolean
  readonly hasRegistration: boolean
  /** Whether the page's address names its language. Otherwise the address is the one for readers of any language. */
  readonly isNamed: boolean
}

const sha256 = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('base64')
const scriptHash = sha256(script)
const styles = new Map<string, { readonly style: string; readonly hash: string }>()

function styleOf({ accent }: Brand) {
  const known = styles.get(accent)
  if (known) return known
  const style = writeStyle(accent)
  const made = { style, hash: sha256(style) }
  styles.clear()
  styles.set(accent, made)
  return made
}

/** Only this page's own style and script, images and answers of this shop, and forms to it. */
export const policyOf = (brand: Brand): string =>
  `default-src 'none'; script-src 'sha256-${scriptHash}'; style-src 'sha256-${styleOf(brand).hash}'; ` +
  "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

export const textIn = ({ texts }: Brand, name: TextName, language: AnswerLanguage): string | undefined =>
  texts[name]?.[language] ?? texts[name]?.[language === 'en' ? 'ru' : 'en']

/** Texts and prices of a page of the front. */
export const frontWriter = ({ shown }: PublicCatalogue, brand: Brand, language: AnswerLanguage): Writer =>
  createWriter(language, brand, shown, true)

/** The page for visitors: products, prices, a calculator, and how to connect and to pay. */
export function writeFront(
  { shown, priceList }: PublicCatalogue,
  brand: Brand,
  language: AnswerLanguage,
  site: Site,
  asked: PriceQuestion | undefined,
): string {
  const writer = createWriter(language, brand, shown, site.sellsToVisitors)
  const { say } = writer
  const headline = escapeHtml(brand.texts.headline?.[language] ?? '') || say('headline')
  const own = brand.texts.introduction?.[language]
  const introduction = own === undefined ? `<p>${say('introduction')}</p>` : toHtml(own)
  const calculate = asked ? `<a class="button" href="#calculator">${say('calculate')}</a>` : ''
  const enter = `<a class="button plain" href="/account">${say(site.hasRegistration ? 'register' : 'signIn')}</a>`
  const main = `<main id="content"><div class="hero"><div class="wide"><h1>${headline}</h1>${introduction}
<div class="acts">${calculate}${enter}</div></div></div>
<div class="wide">${writeProxies(writer)}
${asked ? writeCalculator(writer, priceList, asked) : ''}
${writePremium(writer)}
${writeVpn(writer)}
${writeWays(writer)}
${writePayment(writer)}
${writeQuestions(writer)}</div></main>`
  const data = writeOffers(writer, site.url)
  return writePage(writer, site, { path: '/', title: brand.name, description: say('description'), main, data })
}

/** A page with a text of the operator. */
export function writeTextPage(
  { shown }: PublicCatalogue,
  brand: Brand,
  language: AnswerLanguage,
  site: Site,
  name: 'terms' | 'privacy',
): string {
  const writer = createWriter(language, brand, shown, site.sellsToVisitors)
  const { say } = writer
  const main = `<main id="content" class="wide text"><h1>${say(name)}</h1>
${toHtml(textIn(brand, name, language) ?? '')}<p><a href="/?lang=${language}">${say('back')}</a></p></main>`
  const title = `${say(name)} · ${brand.name}`
  return writePage(writer, site, { path: `/${name}`, title, description: say('description'), main })
}

export const writePage = (writer: Writer, site: Site, content: Content): string => `<!doctype html>
<html lang="${writer.language}">
<head>
${writeHead(writer, site, content)}
</head>
<body>
<a class="skip" href="#content">${writer.say('skip')}</a>
${writeHeader(writer, content)}
${announcementMarkup(writer.brand, writer.language)}${content.main}
${writeFooter(writer, site)}
<script>${script}</script>
</body>
</html>
`

function writeHead(
  { brand, language }: Writer,
  { url, isNamed }: Site,
  { path, title, description, data }: Content,
): string {
  const at = (of: AnswerLanguage) => `${url}${path}?lang=${of}`
  return `<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${brand.accent}">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${description}">
<link rel="canonical" href="${isNamed ? at(language) : url + path}">
<link rel="alternate" hreflang="en" href="${at('en')}">
<link rel="alternate" hreflang="ru" href="${at('ru')}">
<link rel="alternate" hreflang="x-default" href="${url}${path}">
<meta property="og:type" content="website">
<meta property="og:title" content="${escapeHtml(title)}">
<meta property="og:description" content="${description}">
<meta property="og:url" content="${at(language)}">
<meta property="og:image" content="${url}/front/picture.png?c=${brand.accent.slice(1)}">
<meta property="og:locale" content="${language === 'ru' ? 'ru_RU' : 'en_US'}">
<meta name="twitter:card" content="summary_large_image">
${iconOf(brand) || '<link rel="icon" href="/front/icon.svg" type="image/svg+xml">'}
<style>${styleOf(brand).style}</style>
${data === undefined ? '' : `<script type="application/ld+json">${data}</script>`}`
}

function writeHeader({ brand, language, say }: Writer, { path, query }: Content): string {
  const other = language === 'ru' ? 'en' : 'ru'
  const home = path === '/' ? '' : '/'
  const also = query === undefined ? '' : escapeHtml(`&${query}`)
  return `<header><div class="wide"><a class="brand" href="/?lang=${language}">${brandMarkup(brand)}</a>
<nav aria-label="${say('menu')}"><a href="${home}#proxies">${say('proxies')}</a>
<a href="${home}#premium">${say('premium')}</a>
<a href="${home}#vpn">${say('vpn')}</a><a href="${home}#questions">${say('questions')}</a>
<a href="${path}?lang=${other}${also}" hreflang="${other}" lang="${other}">${say('other')}</a></nav>
<a class="button plain" href="/account">${say('signIn')}</a></div></header>`
}

function writeFooter({ brand, language, say }: Writer, { hasTerms, hasPrivacy }: Site): string {
  const { contact } = brand
  const own = contact
    ? `<span>${say('contact')}: <a href="${escapeHtml(contact.url)}">${escapeHtml(contact.text)}</a></span>`
    : ''
  const link = (name: 'terms' | 'privacy') => `<a href="/${name}?lang=${language}">${say(name)}</a>`
  return `<footer><div class="wide"><span>${escapeHtml(brand.name)}</span>${own}${hasTerms ? link('terms') : ''}
${hasPrivacy ? link('privacy') : ''}<a href="/docs?lang=${language}">${say('api')}</a></div></footer>`
}
