import { type CSSVariablesResolver, colorsTuple, createTheme, type MantineThemeOverride } from '@mantine/core'
import { brand } from './brand.ts'

/** The accent colour. Shade 6 has enough contrast under white text, shade 4 on a dark ground. */
const pine = colorsTuple(
  brand.shades ?? '#e9f7f4 #d3ece6 #a5d9cd #74c5b3 #4db39d #2c9a83 #0f7563 #0b6354 #075044 #033c33'.split(' '),
)

const dark = colorsTuple('#e4eae8 #c3ccc9 #a3aeab #7d8986 #3d4946 #323d3a #242d2b #181f1d #121817 #0d1211'.split(' '))

/** For irreversible actions; readable on white. */
const red = colorsTuple('#fdeeee #f9d6d6 #f0abab #f39a9a #ff8787 #d64545 #c02b2b #a92323 #8f1b1b #751414'.split(' '))

const theme = createTheme({
  primaryColor: 'pine',
  primaryShade: { light: 6, dark: 6 },
  colors: { pine, red, dark },
  respectReducedMotion: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Ubuntu, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace',
  headings: {
    fontWeight: '650',
    sizes: { h1: { fontSize: '1.6rem', lineHeight: '1.25' }, h2: { fontSize: '1.05rem' } },
  },
})

/** The library heads dialogs with a `header`, which is a second banner of the page for a screen reader. */
const plainHeader = { defaultProps: { component: 'div' } }

/**
 * Parts of the library in a language. The library keeps the button that shows a password out of the Tab order and names
 * it in English, and writes a point in numbers.
 */
export const themeOf = (showPassword: string, language: 'en' | 'ru'): MantineThemeOverride => ({
  ...theme,
  components: {
    ModalHeader: plainHeader,
    DrawerHeader: plainHeader,
    NumberInput: {
      defaultProps: { decimalSeparator: language === 'ru' ? ',' : '.', allowedDecimalSeparators: ['.', ','] },
    },
    PasswordInput: {
      defaultProps: {
        visibilityToggleFocusable: true,
        visibilityToggleButtonProps: { 'aria-label': showPassword },
      },
    },
  },
})

/** Colours in light and dark. The library's own dimmed text has too little contrast. */
const colours: Readonly<Record<`--${string}`, readonly [light: string, dark: string]>> = {
  '--mantine-color-dimmed': ['#5b6570', '#a3aeab'],
  '--mantine-color-placeholder': ['#6b7580', '#8d9895'],
  '--mantine-color-body': ['#f7f8f8', '#111615'],
  '--mantine-color-text': ['#16201e', '#e4eae8'],
  '--mantine-color-error': ['#c02b2b', '#ff8787'],
  '--ground': ['#ffffff', '#181f1d'],
  '--line': ['#e3e7e6', '#2a3331'],
  '--good': ['#0f7563', '#4db39d'],
  '--warn': ['#b7791f', '#e0a33e'],
  '--bad': ['#c02b2b', '#ff8787'],
  // The series differ in lightness too, for readers who do not see the difference of hue.
  '--chart-first': ['#0b5a4c', '#3aa08a'],
  '--chart-first-fill': ['#0b5a4ccc', '#3aa08acc'],
  '--chart-second': ['#d4781f', '#f3c48a'],
  '--chart-second-fill': ['#d4781fcc', '#f3c48acc'],
}

const of = (index: 0 | 1) => Object.fromEntries(Object.entries(colours).map(([name, pair]) => [name, pair[index]]))

export const variables: CSSVariablesResolver = () => ({ variables: {}, light: of(0), dark: of(1) })
