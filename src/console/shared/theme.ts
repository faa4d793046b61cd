import { type CSSVariablesResolver, colorsTuple, createTheme, type MantineThemeOverride } from '@mantine/core'
import { colours, fonts, schemeVariables, sharedVariables, sizes } from '../styles/tokens.ts'
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
  fontFamily: fonts.text,
  fontFamilyMonospace: fonts.mono,
  fontSizes: { xs: sizes['text-xs'], sm: sizes['text-s'], md: sizes['text-m'], lg: sizes['text-l'] },
  radius: { sm: sizes['radius-s'], md: sizes['radius-m'], lg: sizes['radius-l'] },
  headings: {
    fontWeight: sizes['weight-strong'],
    sizes: { h1: { fontSize: sizes['text-2xl'], lineHeight: '1.25' }, h2: { fontSize: sizes['text-l'] } },
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

/** The names that the library gives to colours of the look. Its own dimmed text has too little contrast. */
const libraryNames = {
  '--mantine-color-dimmed': 'dim',
  '--mantine-color-placeholder': 'placeholder',
  '--mantine-color-body': 'ground',
  '--mantine-color-text': 'text',
  '--mantine-color-error': 'bad',
} as const

const of = (scheme: 'light' | 'dark') => ({
  ...schemeVariables(scheme),
  ...Object.fromEntries(
    Object.entries(libraryNames).map(([name, own]) => [name, colours[own][scheme === 'light' ? 0 : 1]]),
  ),
})

export const variables: CSSVariablesResolver = () => ({
  variables: sharedVariables,
  light: of('light'),
  dark: of('dark'),
})
