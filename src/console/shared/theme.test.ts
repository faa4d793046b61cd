import { expect, test } from 'bun:test'
import { DEFAULT_THEME } from '@mantine/core'
import { variables } from './theme.ts'

/** Relative luminance of WCAG 2. */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

test.each(['light', 'dark'] as const)(
  'the two series of a chart differ in lightness, and from the %s ground',
  (scheme) => {
    const colours = new Map(Object.entries(variables(DEFAULT_THEME)[scheme]))
    const [first, second, ground] = ['--chart-first', '--chart-second', '--card'].map((name) => colours.get(name))
    expect(contrast(first ?? '', second ?? '')).toBeGreaterThan(1.9)
    expect(contrast(first ?? '', ground ?? '')).toBeGreaterThan(3)
    expect(contrast(second ?? '', ground ?? '')).toBeGreaterThan(3)
  },
)
