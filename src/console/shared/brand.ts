/** The shop's name, the path of its logo, and ten shades of its accent colour; without them the program's own. */
type ShownBrand = {
  readonly name: string
  readonly logo?: string | undefined
  readonly shades?: string[] | undefined
  /** What the seller announces now, by language. */
  readonly announcement?: Readonly<Record<string, unknown>> | undefined
}

function read(): ShownBrand {
  // Tests of parts have no document.
  const text = globalThis.document?.querySelector('meta[name="brand"]')?.getAttribute('content')
  const told: unknown = text ? JSON.parse(text) : undefined
  if (typeof told !== 'object' || told === null || !('name' in told)) return { name: 'Turnpike' }
  const logo = 'logo' in told && typeof told.logo === 'string' ? told.logo : undefined
  const shades = 'shades' in told && Array.isArray(told.shades) ? told.shades.map(String) : undefined
  const announced = 'announcement' in told ? told.announcement : undefined
  const announcement =
    typeof announced === 'object' && announced !== null ? Object.fromEntries(Object.entries(announced)) : undefined
  return { name: String(told.name), logo, shades, announcement }
}

/** The shop writes it into the page (`src/api/console.ts`). */
export const brand = read()

/** What the seller announces, in this language or else in the other one. */
export function announcedIn(language: 'en' | 'ru') {
  const other = language === 'en' ? ('ru' as const) : ('en' as const)
  for (const each of [language, other]) {
    const text = brand.announcement?.[each]
    if (typeof text === 'string') return { text, in: each }
  }
  return undefined
}
