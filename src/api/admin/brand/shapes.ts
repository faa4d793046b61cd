import {
  type Announcement,
  accentOnDark,
  type Brand,
  imageNames,
  languages,
  maxAnnouncementLength,
  maxImageBytes,
  maxNameLength,
  textNames,
  usualAccent,
} from '../../../domains/brand/rules.ts'
import { choice, flag, given, isoOrNull, moment, named, rows, text } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { dryRun, instant } from '../fields.ts'

const reader = operationsOf({ tag: 'Brand', role: 'reader' })
const owner = operationsOf({ tag: 'Brand', role: 'owner' })

const shownBrand = named('Brand', {
  name: text('Name of the shop.', 'Example Proxies'),
  accent: text('Accent colour.', usualAccent),
  accent_on_dark: text('The accent on dark pages, mixed with white until it is readable.', '#3aa08a'),
  contact: text('How customers write to the seller; null if neither the brand nor a setting has it.').nullable(),
  logo: text('Path of the logo; null if there is none.').nullable(),
  icon: text('Path of the icon; null if there is none.').nullable(),
  texts: rows('Texts that were set.', {
    name: choice('Text.', textNames, 'headline'),
    language: choice('Language.', languages, 'en'),
    text: text('The text; Markdown, except for the headline.', 'Proxies that answer'),
  }),
})

export const toBrand = (brand: Brand): z.input<typeof shownBrand> => ({
  name: brand.name,
  accent: brand.accent,
  accent_on_dark: accentOnDark(brand.accent),
  contact: brand.contact?.text ?? null,
  logo: brand.logo ?? null,
  icon: brand.icon ?? null,
  texts: textNames.flatMap((name) =>
    languages.flatMap((language) => {
      const found = brand.texts[name]?.[language]
      return found === undefined ? [] : [{ name, language, text: found }]
    }),
  ),
})

export const getBrand = reader('getBrand', 'GET /brand', {
  summary: 'Read name, colours, images and texts of the shop',
  answer: shownBrand,
})

export const setBrand = owner('setBrand', 'POST /brand', {
  summary: 'Set name, accent colour and contact of the shop',
  description: 'A field that is not sent stays as it is. An empty one returns to the default.',
  body: z.object({
    name: z
      .string()
      .optional()
      .openapi({ description: `Name of the shop, at most ${maxNameLength} characters.`, example: 'Example Proxies' }),
    accent: z.string().optional().openapi({
      description:
        'Accent colour, readable with white: a contrast of 4.8 or more, which is 4.5 on every page (WCAG 2 AA).',
      example: usualAccent,
    }),
    contact: z.string().optional().openapi({
      description: 'E-mail address or https URL. It replaces `TURNPIKE_CONTACT`.',
      example: 'help@shop.example',
    }),
    dry_run: dryRun(),
  }),
  answer: shownBrand,
})

export const setBrandText = owner('setBrandText', 'POST /brand/texts/{text_name}', {
  summary: 'Set a text of the public page in one language',
  description: 'An empty text is removed. Texts are Markdown without HTML, the headline is one plain line.',
  params: z.object({ text_name: choice('Text.', textNames, 'terms') }),
  body: z.object({
    language: choice('Language.', languages, 'en'),
    text: z.string().openapi({ description: 'The text.', example: '# Terms' }),
  }),
  answer: shownBrand,
})

export const setBrandImage = owner('setBrandImage', 'POST /brand/images/{image_name}', {
  summary: 'Set the logo or the icon of the shop',
  description:
    `PNG, JPEG, WebP or SVG of at most ${maxImageBytes / 1024} KiB. An SVG must have shapes and texts only. ` +
    'An empty content removes the image.',
  params: z.object({ image_name: choice('Image.', imageNames, 'logo') }),
  body: z.object({
    content: z.string().openapi({ description: 'The file in base64.', example: '' }),
  }),
  answer: shownBrand,
})

const support = operationsOf({ tag: 'Brand', role: 'support' })

const shownAnnouncement = named('Announcement', {
  text_en: text('Text in English; null without one.', 'Gateways in Germany restart at 22:00 UTC.').nullable(),
  text_ru: text('Text in Russian; null without one.', 'Шлюзы в Германии перезапустятся в 22:00 UTC.').nullable(),
  from: moment('Since when it is shown; null for since it was set.').nullable(),
  until: moment('Until when it is shown; null for no end.').nullable(),
  is_shown: flag('Whether it is shown now.', true),
})

export const toAnnouncement = (
  { texts, fromAt, untilAt }: Announcement,
  isShown: boolean,
): z.input<typeof shownAnnouncement> => ({
  text_en: texts.en ?? null,
  text_ru: texts.ru ?? null,
  from: isoOrNull(fromAt ?? null),
  until: isoOrNull(untilAt ?? null),
  is_shown: isShown,
})

export const getAnnouncement = reader('getAnnouncement', 'GET /announcement', {
  summary: 'Read what is announced to all customers and visitors',
  answer: shownAnnouncement,
})

export const setAnnouncement = support('setAnnouncement', 'POST /announcement', {
  summary: 'Announce something to all customers and visitors: a line on their pages, and in apps that read it',
  description:
    'It replaces the announcement before. Without texts there is none. ' +
    'With one text, readers of both languages get it.',
  body: z.object({
    text_en: given(
      `Text in English, one line of at most ${maxAnnouncementLength} characters.`,
      2000,
      'Works on 1 March.',
    ).optional(),
    text_ru: given(
      `Text in Russian, one line of at most ${maxAnnouncementLength} characters.`,
      2000,
      'Работы 1 марта.',
    ).optional(),
    from: instant('Since when it is shown. Default: now.').optional(),
    until: instant('Until when it is shown. Default: until it is replaced.').optional(),
  }),
  answer: shownAnnouncement,
})
