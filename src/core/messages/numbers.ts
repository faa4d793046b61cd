/** An amount in roubles with two decimals, as an English sentence writes it. */
export const rub = (roubles: number): string => roubles.toFixed(2)

type Forms = { readonly [Category in Intl.LDMLPluralRule]?: string } & { readonly other: string }

/** Writes a number with the plural form that a language uses for it (CLDR categories): `1 item`, `2 items`. */
export function createPlural(language: 'en' | 'ru'): (count: number, forms: Forms) => string {
  const rules = new Intl.PluralRules(language)
  return (count, forms) => `${count} ${forms[rules.select(count)] ?? forms.other}`
}
