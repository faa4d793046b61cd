import { expect, test } from 'bun:test'
import { contrast, mix } from '../../core/colour.ts'
import { accentOnDark, findUnsafe, readAccent, readImage, shadesOf } from './rules.ts'

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
    svg('<?xml-stylesheet href="https://elsewhere.example/x.css"?>'),
  ]
  for (const each of unsafe) expect([each, findUnsafe(each) === undefined]).toEqual([each, false])
  const safe = svg('<defs><linearGradient id="a"><stop/></linearGradient></defs><rect fill="url(#a)"/><use href="#b"/>')
  expect(readImage(asBase64(`<?xml version="1.0"?>\n<!-- Logo -->\n${safe}`)).type).toBe('image/svg+xml')
  expect(() => readImage(asBase64(unsafe[0] ?? ''))).toThrow('has <script>')
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
