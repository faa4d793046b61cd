/**
 * Flags of countries, drawn for this project in 24 by 16 and simplified for the size of a line of text: an emblem is a
 * shape in its colour. A flag is a list of layers, from the bottom to the top. Colours are letters of `inks`.
 *
 * - `h` and `v`: stripes, from the top or from the hoist; a digit after a colour is its share (`hr2wr2`).
 * - `n`: a Nordic cross: ground, cross, and its inner cross. `c`: a centred cross: ground, cross.
 * - `t`: a triangle at the hoist: colour and width. `q`: the upper hoist quarter.
 * - `o`, `s`, `m`: a disc, a star and a crescent: colour, then x, y and radius.
 * - `b`: a box: colour, then x, y, width and height. `/`, `\`: a diagonal band: colour and width.
 * - `j`: British crosses in the upper hoist quarter; `J`: over the whole flag.
 * - `p`: a shape of `single`.
 */
const drawn: Readonly<Record<string, string>> = {
  AD: 'vbyr or 12 8 2.6',
  AE: 'hgwk br 0 0 6 16',
  AF: 'vkrg ow 12 8 3',
  AL: 'hr ok 12 8 4',
  AM: 'hrbo',
  AO: 'hrk sy 12 8 3.4',
  AR: 'hlwl oy 12 8 2.2',
  AT: 'hrwr',
  AU: 'hn j sw 6 12.5 2.4 sw 18 4 1.4 sw 18 12.5 1.4 sw 15 8 1.4 sw 21 7 1.4',
  AZ: 'hlrg mw 11.4 8 2.4 sw 14 8 1.4',
  BA: 'hn py0',
  BD: 'hg or 11 8 4.6',
  BE: 'vkyr',
  BG: 'hwgr',
  BH: 'vwr2',
  BO: 'hryg',
  BR: 'hg py1 on 12 8 3.1',
  BS: 'hlyl tk9',
  BW: 'hl2wkwl2',
  BY: 'hr2g bw 0 0 2.6 16',
  CA: 'vrw2r sr 12 8 3.8',
  CH: 'hr bw 10.4 3 3.2 10 bw 7 6.4 10 3.2',
  CI: 'vowg',
  CL: 'hwr bb 0 0 8 8 sw 4 4 2.2',
  CM: 'vgry sy 12 8 2.2',
  CN: 'hr sy 5 5 3 sy 10 2 1 sy 12 4 1 sy 12 7 1 sy 10 9 1',
  CO: 'hy2br',
  CR: 'hbwr2wb',
  CU: 'hbwbwb tr10 sw 3.4 8 2',
  CY: 'hw oo 12 7 3.4 bg 9 12 6 1.2',
  CZ: 'hwr tn12',
  DE: 'hkry',
  DK: 'nrw',
  DO: 'hw bn 0 0 11 7 br 13 0 11 7 br 0 9 11 7 bn 13 9 11 7',
  DZ: 'vgw mr 12 8 3.4 sr 14.4 8 1.8',
  EC: 'hy2br oo 12 8 2.4',
  EE: 'hlkw',
  EG: 'hrwk oy 12 8 2',
  ES: 'hry2r or 8 8 2',
  ET: 'hgyr ob 12 8 3.6 sy 12 8 2.4',
  FI: 'nwb',
  FJ: 'hl j bw 16 6 5 6 br 16 6 5 2',
  FR: 'vbwr',
  GB: 'hn J',
  GE: 'cwr sr 6 4 1.6 sr 18 4 1.6 sr 6 12 1.6 sr 18 12 1.6',
  GH: 'hryg sk 12 8 2.6',
  GR: 'hbwbwbwbwb bb 0 0 9 8.9 bw 3.6 0 1.8 8.9 bw 0 3.6 9 1.8',
  GT: 'vlwl og 12 8 2',
  HK: 'hr sw 12 8 4.4',
  HN: 'hbwb sb 12 8 1.4 sb 8 7 1 sb 16 7 1 sb 8 9.4 1 sb 16 9.4 1',
  HR: 'hrwb br 9.4 4 5.2 6.4 bw 11 4 1.8 2 bw 9.4 6 1.8 2 bw 12.8 6 1.8 2 bw 11 8 1.8 2',
  HU: 'hrwg',
  ID: 'hrw',
  IE: 'vgwo',
  IL: 'hw bb 0 1.6 24 2.2 bb 0 12.2 24 2.2 sb 12 8 2.6',
  IN: 'howg ob 12 8 2 ow 12 8 1.2',
  IQ: 'hrwk bg 8 7 8 2',
  IR: 'hgwr or 12 8 2',
  IS: 'nbwr',
  IT: 'vgwr',
  JM: 'hgk /y4 \\y4',
  JO: 'hkwg tr12 sw 4 8 1.4',
  JP: 'hw or 12 8 4.6',
  KE: 'hk3wr3wg3 or 12 8 2.6',
  KG: 'hr oy 12 8 4 or 12 8 1.8',
  KH: 'hbr2b bw 8 6 8 4',
  KP: 'hb2wr6wb2 ow 8 8 3 sr 8 8 2.6',
  KR: 'hw or 12 8 3.6 pb2 bk 3.6 2.6 3 2 bk 17.4 2.6 3 2 bk 3.6 11.4 3 2 bk 17.4 11.4 3 2',
  KW: 'hgwr tk6',
  KZ: 'hl oy 12 7.4 3.2 by 9 12 6 1',
  LA: 'hrb2r ow 12 8 3',
  LB: 'hrw2r sg 12 8 3.2',
  LI: 'hbr oy 6 4 1.8',
  LK: 'hy bg 1.4 1.4 3 13.2 bo 4.8 1.4 3 13.2 br 9 1.4 13.6 13.2 oy 15.8 8 3',
  LT: 'hygr',
  LU: 'hrwl',
  LV: 'hd2wd2',
  LY: 'hrk2g mw 11.4 8 2.2 sw 14 8 1.2',
  MA: 'hr sg 12 8 3.6',
  MC: 'hrw',
  MD: 'vbyr or 12 8 2.4',
  ME: 'hy br 1 1 22 14 oy 12 8 3.4',
  MK: 'hr /y3 \\y3 by 0 6.8 24 2.4 by 10.8 0 2.4 16 or 12 8 3.8 oy 12 8 3',
  ML: 'vgyr',
  MN: 'vrbr sy 4 7 2',
  MT: 'vwr sk 4 4 1.6',
  MX: 'vgwr od 12 8 2.4',
  MY: 'hrwrwrwrwrwrwrw bn 0 0 13 9 my 5 4.6 3 sy 9 4.6 2.2',
  NG: 'vgwg',
  NI: 'hbwb ol 12 8 1.8',
  NL: 'hrwb',
  NO: 'nrwn',
  NZ: 'hn j sr 18 3.6 1.3 sr 18 12.4 1.5 sr 15.2 7.6 1.3 sr 20.8 7 1.2',
  OM: 'hwrg br 0 0 6 16 ow 3 3 1.4',
  PA: 'vw bb 0 8 12 8 br 12 0 12 8 sb 6 4 2 sr 18 12 2',
  PE: 'vrwr',
  PH: 'hbr tw11 sy 3.8 8 2.2',
  PK: 'hg bw 0 0 6 16 mw 14.4 8 3.8 sw 17.4 6 1.6',
  PL: 'hwr',
  PS: 'hkwg tr9',
  PT: 'vg2r3 oy 9.6 8 3.4 or 9.6 8 2',
  PY: 'hrwb oy 12 8 1.6',
  QA: 'vwd2',
  RO: 'vbyr',
  RS: 'hrbw or 9 7 2.8 ow 9 7 1.4',
  RU: 'hwbr',
  SA: 'hg bw 5 5 14 3.4 bw 6 11 12 1',
  SE: 'nby',
  SG: 'hrw mw 5 4 2.6 sw 9 2.8 1 sw 9 5.4 1 sw 7.4 4.2 .9 sw 10.6 4.2 .9',
  SI: 'hwbr bb 4 3 4.4 5 sw 6.2 5 1.6',
  SK: 'hwbr br 4 4 6 7.4 bw 6.3 5 1.4 5.6 bw 5 6.4 4 1.2',
  SM: 'hwl oy 12 8 2.4',
  SN: 'vgyr sg 12 8 2.2',
  SV: 'hbwb oy 12 8 1.8',
  SY: 'hgwk sr 6 8 1.6 sr 12 8 1.6 sr 18 8 1.6',
  TH: 'hrwn2wr',
  TJ: 'hrw2g oy 12 8 1.8',
  TM: 'hg bd 4 0 4 16 mw 13 4 2.2 sw 15.6 3 1',
  TN: 'hr ow 12 8 4.4 mr 12 8 2.8 sr 13.4 8 1.5',
  TR: 'hr mw 9.4 8 4 sw 14.4 8 2',
  TT: 'hr \\w7 \\k5',
  TW: 'hr bn 0 0 12 8 sw 6 4 3.2 ow 6 4 1.6',
  TZ: 'hgl /y6 /k4',
  UA: 'hby',
  UG: 'hkyrkyr ow 12 8 2.4',
  US: 'hrwrwrwrwrwrwr bn 0 0 10.6 8.6 sw 2.4 2.4 1 sw 5.3 2.4 1 sw 8.2 2.4 1 sw 2.4 6 1 sw 5.3 6 1 sw 8.2 6 1',
  UY: 'hwbwbwbwbw bw 0 0 8.6 8.9 oy 4.3 4.4 2.8',
  UZ: 'hlwg br 0 5 24 .8 br 0 10.2 24 .8 mw 4.4 2.6 1.8',
  VA: 'vyw oy 18 8 2.6',
  VE: 'hybr sw 8 8 1 sw 12 7 1 sw 16 8 1',
  VN: 'hr sy 12 8 4.2',
  YE: 'hrwk',
  ZA: 'hrb bw 0 5 24 6 bg 0 6.2 24 3.6 ty11 tk9 bg 0 6.2 9 3.6',
}

const inks: Readonly<Record<string, string>> = {
  r: '#d0202e',
  w: '#fff',
  b: '#1c4fa3',
  g: '#10803c',
  y: '#fccb18',
  k: '#151515',
  o: '#f57c1f',
  l: '#54a9dd',
  n: '#0d2a6b',
  d: '#8a1538',
}

const inkOf = (letter: string | undefined): string => inks[letter ?? ''] ?? '#fff'
const box = (ink: string, x: number, y: number, width: number, height: number): string =>
  `<path fill="${ink}" d="M${x} ${y}h${width}v${height}h-${width}z"/>`
const shape = (ink: string, path: string): string => `<path fill="${ink}" d="${path}"/>`
const round = (value: number): number => Math.round(value * 100) / 100

/** A star with five points. */
function star(x: number, y: number, radius: number): string {
  const points = Array.from({ length: 10 }, (_, index) => {
    const long = index % 2 === 0 ? radius : radius * 0.42
    const angle = (index * Math.PI) / 5 - Math.PI / 2
    return `${round(x + long * Math.cos(angle))} ${round(y + long * Math.sin(angle))}`
  })
  return `M${points.join('L')}z`
}

const disc = (x: number, y: number, radius: number): string =>
  `M${round(x - radius)} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`

/** A disc without a smaller one towards the fly. */
const crescent = (x: number, y: number, radius: number): string =>
  `M${round(x + radius * 0.5)} ${round(y - radius * 0.87)}a${radius} ${radius} 0 1 0 0 ${round(radius * 1.74)}` +
  `a${round(radius * 0.8)} ${round(radius * 0.8)} 0 1 1 0 ${round(radius * -1.74)}`

function stripes(word: string): string {
  const isDown = word[0] === 'h'
  const parts = [...word.slice(1).matchAll(/([a-z])(\d?)/g)].map(([, ink, share]) => ({
    ink,
    share: share === '' ? 1 : Number(share),
  }))
  const all = parts.reduce((sum, each) => sum + each.share, 0)
  const [length, across] = isDown ? [16, 24] : [24, 16]
  let at = 0
  return parts
    .map(({ ink, share }) => {
      const from = round((at / all) * length)
      at += share
      const size = round((at / all) * length - from)
      return isDown ? box(inkOf(ink), 0, from, across, size) : box(inkOf(ink), from, 0, size, across)
    })
    .join('')
}

/** A cross of `wide`, with an inner one of a third. */
function cross([ground, outer, inner]: readonly string[], x: number): string {
  const arms = (ink: string, wide: number) => box(ink, x - wide / 2, 0, wide, 16) + box(ink, 0, 8 - wide / 2, 24, wide)
  const core = inner === undefined ? '' : arms(inkOf(inner), 1.8)
  return box(inkOf(ground), 0, 0, 24, 16) + arms(inkOf(outer), inner === undefined ? 3 : 4) + core
}

/** The British crosses in a box from the upper hoist corner. */
function crosses(width: number, height: number): string {
  const line = (ink: string, size: number, path: string) =>
    `<path fill="none" stroke="${ink}" stroke-width="${size}" d="${path}"/>`
  const diagonal = `M0 0L${width} ${height}M${width} 0L0 ${height}`
  const upright = `M${width / 2} 0v${height}M0 ${height / 2}h${width}`
  const unit = height / 16
  return (
    line('#fff', 3.4 * unit, diagonal) +
    line(inkOf('r'), 1.2 * unit, diagonal) +
    line('#fff', 5.4 * unit, upright) +
    line(inkOf('r'), 3.2 * unit, upright)
  )
}

/** Shapes of a single flag. */
const single: Readonly<Record<string, string>> = {
  0: 'M8 0h12v16z',
  1: 'M12 1.6L22 8l-10 6.4L2 8z',
  2: 'M8.4 8a3.6 3.6 0 007.2 0a1.8 1.8 0 00-3.6 0a1.8 1.8 0 01-3.6 0',
}

function draw(word: string, numbers: readonly number[]): string {
  const [kind = '', first = '', ...rest] = word
  const ink = inkOf(first)
  const [x = 0, y = 0, third = 0, fourth = 0] = numbers
  const size = Number(rest.join('')) || 0
  switch (kind) {
    case 'h':
    case 'v':
      return stripes(word)
    case 'n':
      return cross(word.slice(1).split(''), 9)
    case 'c':
      return cross(word.slice(1).split(''), 12)
    case 't':
      return shape(ink, `M0 0L${size} 8L0 16z`)
    case 'o':
      return shape(ink, disc(x, y, third))
    case 's':
      return shape(ink, star(x, y, third))
    case 'm':
      return shape(ink, crescent(x, y, third))
    case 'b':
      return box(ink, x, y, third, fourth)
    case 'p':
      return shape(ink, single[size] ?? '')
    case '/':
      return shape(ink, `M-${size} 16L24 -${size / 2}h${size}L${size / 2} 16z`)
    case '\\':
      return shape(ink, `M-${size / 2} 0L24 ${16 + size / 2}h${size}L${size / 2} 0z`)
    case 'j':
      return crosses(12, 8)
    default:
      return crosses(24, 16)
  }
}

/** The countries that have a flag here; others are shown by their code. */
export const flagged: readonly string[] = Object.keys(drawn)

/** The flag of a country as SVG; undefined for a country without one. Its text is beside it, so it has no name. */
export function flagSvg(country: string): string | undefined {
  const layers = drawn[country]
  if (layers === undefined) return undefined
  const content = [...layers.matchAll(/([a-zJ/\\][a-z0-9]*)((?: [\d.]+)*)/g)]
    .map(([, word = '', numbers = '']) => draw(word, numbers.split(' ').filter(Boolean).map(Number)))
    .join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 16" aria-hidden="true">${content}</svg>`
}
