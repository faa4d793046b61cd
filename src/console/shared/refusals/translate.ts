/** As much of a language's ways of writing as texts of the shop need. */
export type Writing = { readonly moment: (iso: string) => string }

/** A text and its translation. `{}` in both is a variable part, in order; `{2}` is the second one in any place. */
export type Said = readonly [english: string, russian: string]

type Known = { readonly pattern: RegExp; readonly russian: string }

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const toKnown = ([english, russian]: Said): Known => ({
  pattern: new RegExp(`^${english.split('{}').map(escaped).join('(.+?)')}$`, 's'),
  russian,
})

/** A variable part in the reader's format: an instant in local time, an amount with a comma. */
function write(value: string, format: Writing): string {
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return format.moment(value)
  return value.replace(/\b(\d+)\.(\d\d)\b(?![.\d])/g, '$1,$2')
}

/**
 * Translates texts of the shop by matching the English text. An unknown text is undefined. No decision depends on a
 * translation.
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
