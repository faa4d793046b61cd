/** `#rrggbb` in small letters. */
export type Colour = string

export const isColour = (text: string): boolean => /^#[0-9a-f]{6}$/.test(text)

const partsOf = (colour: Colour): readonly [number, number, number] => {
  const value = Number.parseInt(colour.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

/** Relative luminance of WCAG 2. */
function luminance(colour: Colour): number {
  const [red = 0, green = 0, blue = 0] = partsOf(colour).map((part) => {
    const value = part / 255
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Contrast of WCAG 2, from 1 to 21. */
export function contrast(one: Colour, other: Colour): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

/** A colour with a share (0 to 1) of another one. */
export function mix(colour: Colour, other: Colour, share: number): Colour {
  const [one, two] = [partsOf(colour), partsOf(other)]
  const mixed = one.map((part, at) => Math.round(part + ((two[at] ?? 0) - part) * share))
  return `#${mixed.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

/** The colour, or the first mixture with `towards` that has the contrast with `ground`. */
export function readableOn(colour: Colour, ground: Colour, towards: Colour, needed: number): Colour {
  for (let share = 0; share < 1; share += 0.02) {
    const mixed = mix(colour, towards, share)
    if (contrast(mixed, ground) >= needed) return mixed
  }
  return towards
}
