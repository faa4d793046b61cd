import { type CSSVariablesResolver, colorsTuple, createTheme } from '@mantine/core'

/** The one accent. The seventh is dark enough for white letters, the fifth light enough on a dark ground. */
const pine = colorsTuple('#e9f7f4 #d3ece6 #a5d9cd #74c5b3 #4db39d #2c9a83 #0f7563 #0b6354 #075044 #033c33'.split(' '))

/** Greys of the dark ground, with a breath of the accent. */
const dark = colorsTuple('#e4eae8 #c3ccc9 #a3aeab #7d8986 #3d4946 #323d3a #242d2b #181f1d #121817 #0d1211'.split(' '))

/** For what cannot be undone; dark enough to be read on white. */
const red = colorsTuple('#fdeeee #f9d6d6 #f0abab #f39a9a #ff8787 #d64545 #c02b2b #a92323 #8f1b1b #751414'.split(' '))

export const theme = createTheme({
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

/** Quiet text that can still be read: the library's own is below the contrast that eyes need. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5b6570',
    '--mantine-color-placeholder': '#6b7580',
    '--mantine-color-body': '#f7f8f8',
    '--mantine-color-text': '#16201e',
    '--mantine-color-error': '#c02b2b',
    '--ground': '#ffffff',
    '--line': '#e3e7e6',
    '--good': '#0f7563',
    '--warn': '#b7791f',
    '--bad': '#c02b2b',
  },
  dark: {
    '--mantine-color-dimmed': '#a3aeab',
    '--mantine-color-placeholder': '#8d9895',
    '--mantine-color-body': '#111615',
    '--mantine-color-text': '#e4eae8',
    '--mantine-color-error': '#ff8787',
    '--ground': '#181f1d',
    '--line': '#2a3331',
    '--good': '#4db39d',
    '--warn': '#e0a33e',
    '--bad': '#ff8787',
  },
})
