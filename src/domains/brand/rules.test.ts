import { expect, test } from 'bun:test'
import { contrast, mix } from '../../core/colour.ts'
import { accentOnDark, readAccent, readImage, shadesOf } from './rules.ts'
import { findUnsafe } from './rules-svg.ts'

const hues = ['#0f7563', '#1d4ed8', '#b91c1c', '#000000', '#6d28d9', '#0000ff', '#8a5a00']

test('every accepted accent is readable on light and dark pages', () => {
  for (const hue of hues) {
    const accent = readAccent(hue)
    expect([hue, contrast(accent, '#f7f8f8') >= 4.5]).toEqual([hue, true])
    expect([hue, contrast(accentOnDark(accent), '#181f1d') >= 4.5]).toEqual([hue, true])
    const shades = shadesOf(accent)
    expect([shades.length, shades[6]]).toEqual([10, accent])
    expect([hue, contrast(shades[4] ?? '', '#181f1d') >= 4.5]).toEqual([hue, true])
  }
})

test('a pale accent is refused with the nearest colour that is accepted', () => {
  expect(() => readAccent('#ffd400')).toThrow('must have a contrast of 4.8 with white and has 1.43')
  for (const pale of ['#ffd400', '#ffffff', '#6ee7b7']) {
    try {
      readAccent(pale)
      throw new Error('accepted')
    } catch (error) {
      const nearest = /#[0-9a-f]{6}/.exec(String(error))?.[0] ?? ''
      expect(readAccent(nearest)).toBe(nearest)
    }
  }
  expect(() => readAccent('red')).toThrow('must be a colour like #0f7563')
  expect(mix('#000000', '#ffffff', 0.5)).toBe('#808080')
})

const svg = (content: string, attributes = ''): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"${attributes}>${content}</svg>`
const asBase64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64')

test('an SVG with a script, a handler or a link is refused', () => {
  const unsafe = [
    svg('<script>alert(1)</script>'),
    svg('<SCRIPT href="#x"/>'),
    svg('<svg:script/>'),
    svg('<path d="M0 0" onclick="alert(1)"/>'),
    svg('', '\nonload="alert(1)"'),
    svg('<foreignObject><p>x</p></foreignObject>'),
    svg('<image href="https://elsewhere.example/x.png"/>'),
    svg('<use href="https://elsewhere.example/x.svg#a"/>'),
    svg('<use xlink:href = "data:image/svg+xml,x"/>'),
    svg('<use href=javascript:alert(1) />'),
    svg('<a href="#x"><path/></a>'),
    svg('<style>@import url(https://elsewhere.example/x.css)</style>'),
    svg('<rect fill="url(https://elsewhere.example/x)"/>'),
    svg('<rect style="fill:url(//elsewhere.example/x)"/>'),
    svg('<animate attributeName="href" to="javascript:alert(1)"/>'),
    svg('<text>&x;</text>'),
    svg('<use href="&#106;avascript:alert(1)"/>'),
    `<!DOCTYPE svg [<!ENTITY x "y">]>${svg('')}`,
    svg('<![CDATA[<script>]]>'),
    svg('<rect style="fill:image-set(\'https://elsewhere.example/x\' 1x)"/>'),
    svg('<rect fill="u\\72l(https://elsewhere.example/x)"/>'),
    svg('<rect fill=\'URL( "https://elsewhere.example/x")\'/>'),
    svg('<g a="<script>alert(1)</script>"/>'),
    svg('<g a="1" b=\'">\' <rect/>'),
    svg('<?xml-stylesheet href="https://elsewhere.example/x.css"?>'),
  ]
  for (const each of unsafe) expect([each, findUnsafe(each) === undefined]).toEqual([each, false])
  const safe = svg('<defs><linearGradient id="a"><stop/></linearGradient></defs><rect fill="url(#a)"/><use href="#b"/>')
  expect(readImage(asBase64(`<?xml version="1.0"?>\n<!-- Logo -->\n${safe}`)).type).toBe('image/svg+xml')
  expect(() => readImage(asBase64(unsafe[0] ?? ''))).toThrow('has <script>')
})

test('an SVG that copies its parts into more than 20,000 elements is refused, and one with a usual mask is not', () => {
  const uses = (id: string) => `<use href="#${id}"/>`.repeat(10)
  const level = (at: number) => `<g id="l${at}">${uses(`l${at - 1}`)}</g>`
  const nested = `<path id="l0"/>${[1, 2, 3, 4].map(level).join('')}`
  expect(findUnsafe(svg(nested))).toBe('<use>')
  expect(findUnsafe(svg(nested.replaceAll('l0', '&amp;')))).toBe('href')
  expect(findUnsafe(svg('<g id="a"><use href="#a"/></g>'))).toBe('<use>')
  const masks = nested.replaceAll('<g id', '<mask id').replaceAll('</g>', '</mask>')
  expect(findUnsafe(svg(masks.replaceAll(/<use href="#(\w+)"/g, '<rect mask="url(#$1)"')))).toBe('<use>')
  expect(findUnsafe(svg('<g>'.repeat(300)))).toBe('<use>')
  const usual = `<defs><path id="p"/></defs><mask id="m"><use xlink:href="#p"/></mask><g mask="url( '#m' )">${uses('p')}</g>`
  expect(findUnsafe(svg(usual, ' aria-label="Shop (logo)" style="fill:rgb(1,2,3)"'))).toBeUndefined()
})

test('an SVG in another encoding than UTF-8 is no image', () => {
  const declared = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?>${svg('')}`
  expect(readImage(asBase64(`\uFEFF${declared('UTF-8')}`)).type).toBe('image/svg+xml')
  const others = [declared('ISO-2022-JP'), declared('utf-7'), svg('\x1B(J'), Buffer.from(declared('x'), 'utf16le')]
  for (const each of [...others, Buffer.from(svg('\xFF'), 'latin1')]) {
    expect(() => readImage(asBase64(each))).toThrow('must be a PNG, JPEG, WebP or SVG image')
  }
})

test('32 KiB of any repeated part of an SVG are read in one pass', () => {
  const parts = [
    '<!---->',
    '<!--',
    '<!-- -->\n\n',
    '\n',
    '<g ',
    '<g a="',
    '<g a="1" ',
    '<use href= ',
    '<?xml ',
    'url( ',
    '&',
  ]
  for (const part of parts) {
    const long = part.repeat(Math.floor((32 * 1024 - 100) / part.length))
    // A search that begins again for each part takes minutes here; the runner then ends the test.
    for (const each of [long, svg(long), `<?xml version="1.0" ${long}?>`]) {
      try {
        readImage(asBase64(each))
      } catch (error) {
        expect(String(error)).toContain('content')
      }
    }
  }
})

test('an image is accepted by its first bytes, up to 32 KiB', () => {
  const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0)
  expect(readImage(asBase64(png)).type).toBe('image/png')
  expect(readImage(asBase64(Uint8Array.of(0xff, 0xd8, 0xff, 0xe0))).type).toBe('image/jpeg')
  expect(readImage(asBase64('RIFF0000WEBP')).type).toBe('image/webp')
  expect(() => readImage(asBase64('<html><script></script></html>'))).toThrow('must be a PNG, JPEG, WebP or SVG image')
  expect(() => readImage(asBase64(Buffer.concat([png, Buffer.alloc(32 * 1024)])))).toThrow('32 KiB')
  expect(() => readImage('not base64!')).toThrow('base64')
})
