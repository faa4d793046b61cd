/** Writes an amount in roubles with two decimals and separated thousands. */
export function createRub(language: 'en' | 'ru'): (roubles: number) => string {
  const format = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 })
  return (roubles) => format.format(roubles)
}

/** Writes a moment in UTC: the server does not know the reader's time zone. */
export function createMoment(language: 'en' | 'ru'): (iso: string) => string {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  return (iso) => `${format.format(new Date(iso))} UTC`
}

type Forms = { readonly [Category in Intl.LDMLPluralRule]?: string } & { readonly other: string }

/** Writes a number with the plural form that a language uses for it (CLDR categories): `1 item`, `2 items`. */
export function createPlural(language: 'en' | 'ru'): (count: number, forms: Forms) => string {
  const rules = new Intl.PluralRules(language)
  return (count, forms) => `${count} ${forms[rules.select(count)] ?? forms.other}`
}
