type Names = Readonly<Record<string, readonly [en: string, ru: string]>>

let names: Names = {}

/** Loads the names of fields. A page's first load leaves them out, because only refused forms need them. */
export async function loadFieldNames(): Promise<void> {
  try {
    names = (await import('./field-names.ts')).fieldNames
  } catch {
    // Without a connection a problem is shown with the field's name in the API.
  }
}

/** The name that a field has on pages. One without a name is said so that a Russian sentence begins in Russian. */
export function fieldName(field: string, language: 'en' | 'ru'): string {
  const found = names[field.split('.')[0] ?? '']
  if (found === undefined) return language === 'en' ? field : `Поле «${field}»`
  return found[language === 'en' ? 0 : 1]
}
