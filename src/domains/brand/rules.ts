import { type Colour, contrast, isColour, mix, readableOn } from '../../core/colour.ts'
import type { Contact } from '../../core/contact.ts'
import { refuseField } from '../../core/refusal.ts'
import { findUnsafe, isSvg, readUtf8 } from './rules-svg.ts'

export const languages = ['en', 'ru'] as const
export type TextLanguage = (typeof languages)[number]

/** Texts that the operator writes in both languages. All but the first two are Markdown. */
export const textNames = ['headline', 'introduction', 'questions', 'terms', 'privacy'] as const
export type TextName = (typeof textNames)[number]

/** Texts of one line. */
export const lineNames = ['name', 'accent', 'contact'] as const
export type LineName = (typeof lineNames)[number]

export const imageNames = ['logo', 'icon'] as const
export type ImageName = (typeof imageNames)[number]

export const maxImageBytes = 32 * 1024
export const maxNameLength = 40
export const maxTextLength = 16_000
export const maxHeadlineLength = 160

export type Image = { readonly type: string; readonly content: Uint8Array; readonly changedAt: number }

/** What visitors and customers see of the shop. */
export type Brand = {
  readonly name: string
  readonly accent: Colour
  readonly contact: Contact | undefined
  readonly texts: Readonly<Partial<Record<TextName, Readonly<Partial<Record<TextLanguage, string>>>>>>
  /** The announcement that customers and visitors see now; undefined if there is none. */
  readonly announcement: Readonly<Partial<Record<TextLanguage, string>>> | undefined
  /** Paths of the images. The digest in them changes with the content. */
  readonly logo: string | undefined
  readonly icon: string | undefined
}

/** A text for all customers and visitors, from one instant until just before another. */
export type Announcement = {
  readonly texts: Readonly<Partial<Record<TextLanguage, string>>>
  readonly fromAt: number | undefined
  readonly untilAt: number | undefined
}

export const maxAnnouncementLength = 300

export const isAnnounced = ({ texts, fromAt, untilAt }: Announcement, nowMs: number): boolean =>
  (texts.en ?? texts.ru) !== undefined && (fromAt ?? 0) <= nowMs && (untilAt === undefined || nowMs < untilAt)

/** The announcement in this language, or else in the other one, which the page names. */
export function announcedIn(
  { announcement }: Pick<Brand, 'announcement'>,
  language: TextLanguage,
): { readonly text: string; readonly in: TextLanguage } | undefined {
  const other = language === 'en' ? 'ru' : 'en'
  const text = announcement?.[language]
  if (text !== undefined) return { text, in: language }
  const foreign = announcement?.[other]
  return foreign === undefined ? undefined : { text: foreign, in: other }
}

export const usualName = 'Turnpike'
export const usualAccent = '#0f7563'

const white = '#ffffff'
/** The lightest ground of a dark page: that of a card. */
const darkGround = '#181f1d'
/** WCAG 2 AA for small text. */
const neededContrast = 4.5
/** With white: then it is 4.5 with the grey ground of a light page too. */
const neededWithWhite = 4.8

/** A colour that is readable under white text, and as text on white. */
export function readAccent(text: string): Colour {
  const colour = text.toLowerCase()
  if (!isColour(colour)) throw refuseField('accent', 'colour')
  if (contrast(colour, white) < neededWithWhite) {
    const nearest = readableOn(colour, white, '#000000', neededWithWhite)
    const has = Math.floor(contrast(colour, white) * 100) / 100
    throw refuseField('accent', 'contrast', { has, needed: neededWithWhite, nearest })
  }
  return colour
}

/** The accent as text on a dark ground. */
export const accentOnDark = (accent: Colour): Colour => readableOn(accent, darkGround, white, neededContrast)

/** Ten shades of the accent, light to dark: the seventh is the accent, the fifth is readable on a dark ground. */
export const shadesOf = (accent: Colour): readonly Colour[] => [
  ...[0.92, 0.82, 0.62, 0.45].map((share) => mix(accent, white, share)),
  readableOn(mix(accent, white, 0.28), darkGround, white, neededContrast),
  mix(accent, white, 0.12),
  accent,
  ...[0.14, 0.3, 0.46].map((share) => mix(accent, '#000000', share)),
]

const startsWith = (content: Uint8Array, ...bytes: readonly number[]): boolean =>
  bytes.every((byte, at) => content[at] === byte)

/** The type of an image of pixels. */
function typeOf(content: Uint8Array): string | undefined {
  if (startsWith(content, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png'
  if (startsWith(content, 0xff, 0xd8, 0xff)) return 'image/jpeg'
  const text = Buffer.from(content)
  if (text.subarray(0, 4).toString('latin1') === 'RIFF' && text.subarray(8, 12).toString('latin1') === 'WEBP') {
    return 'image/webp'
  }
  return undefined
}

/** An image by its bytes: PNG, JPEG, WebP, or SVG without scripts, styles and links. */
export function readImage(text: string): Pick<Image, 'type' | 'content'> {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw refuseField('content', 'base64')
  const content = Buffer.from(text, 'base64')
  if (content.length > maxImageBytes) throw refuseField('content', 'image_size', { max_kib: maxImageBytes / 1024 })
  const type = typeOf(content)
  if (type !== undefined) return { type, content }
  const svg = readUtf8(content)
  if (svg === undefined || !isSvg(svg)) throw refuseField('content', 'image_type')
  const unsafe = findUnsafe(svg)
  if (unsafe !== undefined) throw refuseField('content', 'svg_part', { part: unsafe })
  return { type: 'image/svg+xml', content }
}
