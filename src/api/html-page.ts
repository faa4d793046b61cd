import { pageRules, variableRules } from '../console/styles/tokens.ts'
import { accentOnDark, announcedIn, type Brand } from '../domains/brand/rules.ts'

const baseStyle = ({ accent }: Pick<Brand, 'accent'>): string => `
${variableRules(accent, accentOnDark(accent))}${pageRules}
header, main { max-width: 32rem; margin: 0 auto }
header { display: flex; align-items: center; gap: .6rem; padding: var(--space-5); font-size: var(--text-l);
font-weight: var(--weight-strong); color: var(--accent) }
header img { height: 2rem; max-width: 10rem }
main { margin-bottom: var(--space-8) }
@media (max-width: 34rem) { main { border-width: 1px 0; border-radius: 0 } }
h1 { font-size: var(--text-xl); line-height: 1.25; margin: 0 0 .25rem }
p { margin: .5rem 0 }
small { color: var(--dim) }
`

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** Logo and name, as the head of a page shows them. */
export const brandMarkup = ({ name, logo }: Pick<Brand, 'name' | 'logo'>): string =>
  `${logo === undefined ? '' : `<img src="${logo}" alt="">`}<span>${escapeHtml(name)}</span>`

const foreignTo = { en: 'in Russian', ru: 'на английском' }

/** The announcement. One in the other language says so, to people and to screen readers. */
export function announcementMarkup(brand: Brand, language: 'en' | 'ru'): string {
  const found = announcedIn(brand, language)
  if (!found) return ''
  const isForeign = found.in !== language
  const note = isForeign ? ` <small>(${foreignTo[language]})</small>` : ''
  const text = `<span${isForeign ? ` lang="${found.in}"` : ''}>${escapeHtml(found.text)}</span>`
  return `<p class="announced" role="status">${text}${note}</p>\n`
}

export const iconOf = ({ icon }: Pick<Brand, 'icon'>): string =>
  icon === undefined ? '' : `<link rel="icon" href="${icon}">`

/**
 * Small pages for people with the shop's brand, without script. Their policy allows this style, the logo and, if given,
 * a form to this shop.
 */
export function createHtmlPages(extraStyle: string, form: 'self' | 'none') {
  const kept = new Map<string, { readonly style: string; readonly policy: string }>()
  const styleOf = ({ accent }: Brand) => {
    const known = kept.get(accent)
    if (known) return known
    const style = baseStyle({ accent }) + extraStyle
    const hash = new Bun.CryptoHasher('sha256').update(style).digest('base64')
    const policy =
      `default-src 'none'; style-src 'sha256-${hash}'; img-src 'self'; base-uri 'none'; ` +
      `form-action '${form}'; frame-ancestors 'none'`
    kept.clear()
    kept.set(accent, { style, policy })
    return { style, policy }
  }
  return {
    policyOf: (brand: Brand): string => styleOf(brand).policy,

    /** `title` and `heading` are texts, `content` is markup. */
    write: (
      brand: Brand,
      language: 'en' | 'ru',
      title: string,
      heading: string,
      content: string,
    ): string => `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · ${escapeHtml(brand.name)}</title>
${iconOf(brand)}
<style>${styleOf(brand).style}</style>
</head>
<body>
<header>${brandMarkup(brand)}</header>
${announcementMarkup(brand, language)}<main class="card">
<h1>${escapeHtml(heading)}</h1>
${content}
</main>
</body>
</html>
`,
  }
}
