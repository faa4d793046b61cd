/** As much of a language's ways of writing as texts of the shop need. */
export type Writing = { readonly moment: (iso: string) => string }

/** A text and its translation. `{}` in both is what varies, in order; `{2}` is the second one, wherever it stands. */
export type Said = readonly [english: string, russian: string]

type Known = { readonly pattern: RegExp; readonly russian: string }

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const toKnown = ([english, russian]: Said): Known => ({
  pattern: new RegExp(`^${english.split('{}').map(escaped).join('(.+?)')}$`, 's'),
  russian,
})

/** What varies, as the reader writes it: a moment by his clock, an amount with a comma. */
function write(value: string, format: Writing): string {
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return format.moment(value)
  return value.replace(/\b(\d+)\.(\d\d)\b(?![.\d])/g, '$1,$2')
}

/**
 * Texts of the shop in another language. A text is known by its own words, as translators have always done it; what is
 * not known comes back as undefined, and nothing is ever decided by it.
 */
export function createTranslator(said: readonly Said[]) {
  const plain = new Map(said)
  const known = said.filter(([english]) => english.includes('{}')).map(toKnown)
  return (text: string, format: Writing): string | undefined => {
    const whole = plain.get(text)
    if (whole !== undefined) return whole
    for (const { pattern, russian } of known) {
      const found = pattern.exec(text)
      if (found) return fill(russian, found.slice(1), format)
    }
    return undefined
  }
}

function fill(russian: string, values: readonly string[], format: Writing): string {
  let next = 0
  return russian.replace(/\{(\d?)\}/g, (_, place: string) => {
    const index = place === '' ? next++ : Number(place) - 1
    return write(values[index] ?? '', format)
  })
}
