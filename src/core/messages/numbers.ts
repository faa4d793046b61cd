// Formats are made at their first use: each takes 5 to 30 ms of every command's start, and most commands need none.

/** Writes an amount in roubles with two decimals and separated thousands. */
export function createRub(language: 'en' | 'ru'): (roubles: number) => string {
  let format: Intl.NumberFormat | undefined
  return (roubles) => {
    format ??= new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 })
    return format.format(roubles)
  }
}

/** Writes a price as pages show it: with the sign of the rouble, and with kopecks only if there are any. */
export function createPrice(language: 'en' | 'ru'): (roubles: number) => string {
  const rub = createRub(language)
  return (roubles) => {
    const text = rub(roubles).replace(/[.,]00$/, '')
    return language === 'ru' ? `${text}\u00a0₽` : `₽${text}`
  }
}

/** Writes a moment in UTC: the server does not know the reader's time zone. */
export function createMoment(language: 'en' | 'ru'): (iso: string) => string {
  let format: Intl.DateTimeFormat | undefined
  return (iso) => {
    format ??= new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
    return `${format.format(new Date(iso))} UTC`
  }
}

/** Joins names with `or` (disjunction) or `and` (conjunction). */
export function createList(
  language: 'en-GB' | 'ru',
  type: 'conjunction' | 'disjunction',
): (names: readonly string[]) => string {
  let format: Intl.ListFormat | undefined
  return (names) => {
    format ??= new Intl.ListFormat(language, { type })
    return format.format(names)
  }
}

type Forms = { readonly [Category in Intl.LDMLPluralRule]?: string } & { readonly other: string }

/** Writes a number with the plural form that a language uses for it (CLDR categories): `1 item`, `2 items`. */
export function createPlural(language: 'en' | 'ru'): (count: number, forms: Forms) => string {
  let rules: Intl.PluralRules | undefined
  return (count, forms) => {
    rules ??= new Intl.PluralRules(language)
    return `${count} ${forms[rules.select(count)] ?? forms.other}`
  }
}
